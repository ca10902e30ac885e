"""What the user typed in the message that is being answered, and whether anything else could have
put words into the model's mouth since."""

from dataclasses import dataclass
from uuid import UUID

from agent.authorship.quoted import blank_out
from agent.authorship.typed import FOREIGN_WORDS
from agent.messages import is_file, is_server_tool
from agent.search.lexical import STOP_WORDS, compose, find_words, fold
from chat.engine.recent_messages import to_agent_message
from chat.models import Message

# Their results hold nothing but what the user or these tools themselves have said.
OUR_TOOLS = frozenset({"remember", "recall", "forget", "compact_context"})
# A fact says who it is about; “not” and “never” reverse one.
_UNSAID = (STOP_WORDS - {"no", "not", "nor"}) | {"user", "users"}


@dataclass(frozen=True, slots=True)
class UserWords:
    """`number`: of the message that is answered. `text`: what the user typed there; "" where the
    turn has read anything that they did not type."""

    number: int
    text: str

    def has_all_of(self, fact: str) -> bool:
        """Whether the user said everything that a fact says."""
        content = _content(fact)
        return bool(content) and content <= _content(self.text)

    def has_any_of(self, fact: str) -> bool:
        """Whether the user said any part of what a fact says."""
        return bool(_content(fact) & _content(self.text))


def load_user_words(conversation_id: UUID) -> UserWords:
    """What the user said in the message that the running turn answers."""
    branch = Message.objects.filter(conversation=conversation_id, active=True)
    called: dict[str, str] = {}  # names of tools by the ids of their calls
    results: list[str] = []  # ids of the calls
    only_ours = True
    for row in branch.order_by("-position").iterator(chunk_size=20):
        if to_agent_message(row).is_prompt:
            ours = only_ours and all(called.get(each) in OUR_TOOLS for each in results)
            return UserWords(row.number, _typed(row) if ours else "")
        for block in row.blocks:
            only_ours = only_ours and not is_server_tool(block)
            if block.get("type") == "tool_use":
                called[block["id"]] = block["name"]
            elif block.get("type") == "tool_result":
                results.append(block["tool_use_id"])
    return UserWords(0, "")


def _typed(row: Message) -> str:
    """The text of a message that its author typed; "" where they pasted more than a few words,
    attached a file, or it is unknown."""
    parts = row.pasted
    if parts is None or any(is_file(block) for block in row.blocks):
        return ""
    foreign = sum(len(row.text[start:end].split()) for start, end in parts)
    return blank_out(row.text, parts, " ") if foreign <= FOREIGN_WORDS else ""


def _content(text: str) -> frozenset[tuple[str, ...]]:
    """The words of a text that say something, without their endings."""
    found = (word.casefold() for word in find_words(compose(text)))
    return frozenset(fold(word) for word in found if word not in _UNSAID and word[0].isalnum())
