"""What the user typed in the message that is being answered, and whether anything else could have
put words into the model's mouth since."""

from dataclasses import dataclass
from uuid import UUID

from agent.compaction.pins import FOREIGN_WORDS
from agent.compaction.quoted import without
from agent.messages import is_file, is_served
from agent.search.lexical import STOP_WORDS, composed, fold, words
from chat.models import Message
from chat.queries.conversation import agent_message

# Their results hold nothing but what the user or these tools themselves have said.
OUR_TOOLS = frozenset({"remember", "recall", "forget", "compact_context"})
# A fact says who it is about; “not” and “never” turn one round.
_UNSAID = (STOP_WORDS - {"no", "not", "nor"}) | {"user", "users"}


@dataclass(frozen=True, slots=True)
class Said:
    """`number`: of the message that is answered. `text`: what the user typed there; "" where the
    turn has read anything that they did not type."""

    number: int
    text: str

    def tells(self, fact: str) -> bool:
        """Whether all that a fact says was said by the user."""
        content = _content(fact)
        return bool(content) and content <= _content(self.text)

    def names(self, fact: str) -> bool:
        """Whether the user said anything of what a fact says."""
        return bool(_content(fact) & _content(self.text))


def said_by_user(conversation_id: UUID) -> Said:
    """What the user said in the message that the running turn answers."""
    branch = Message.objects.filter(conversation=conversation_id, active=True)
    called: dict[str, str] = {}  # names of tools by the ids of their calls
    results: list[str] = []  # ids of the calls
    only_ours = True
    for row in branch.order_by("-position").iterator(chunk_size=20):
        if agent_message(row).is_prompt:
            ours = only_ours and all(called.get(each) in OUR_TOOLS for each in results)
            return Said(row.number, _typed(row) if ours else "")
        for block in row.blocks:
            only_ours = only_ours and not is_served(block)
            if block.get("type") == "tool_use":
                called[block["id"]] = block["name"]
            elif block.get("type") == "tool_result":
                results.append(block["tool_use_id"])
    return Said(0, "")


def _typed(row: Message) -> str:
    """The text of a message that its author typed; "" where they pasted more than a few words,
    attached a file, or nobody saw."""
    parts = row.pasted
    if parts is None or any(is_file(block) for block in row.blocks):
        return ""
    foreign = sum(len(row.text[start:end].split()) for start, end in parts)
    return without(row.text, parts, " ") if foreign <= FOREIGN_WORDS else ""


def _content(text: str) -> frozenset[tuple[str, ...]]:
    """The words of a text that say something, without their endings."""
    found = (word.casefold() for word in words(composed(text)))
    return frozenset(fold(word) for word in found if word not in _UNSAID and word[0].isalnum())
