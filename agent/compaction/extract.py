"""A summary without a model, from what code can find. Used only after a failure, or by choice."""

from collections.abc import Sequence

from agent.compaction.pins import read_own_words, read_typed_text
from agent.compaction.skills import CHAPTER_HEADINGS
from agent.context.pruning import shorten_text
from agent.messages import Message, RawTokens
from agent.tokens import TokenCounter

NOTE = "Written by rule, because no model could summarise this part. Search has the details."
QUOTE = 160  # characters of each quoted line


def extract(
    messages: Sequence[Message],
    tokens: RawTokens,
    counter: TokenCounter,
    headings: Sequence[str] = CHAPTER_HEADINGS,
) -> str:
    """A chapter with the usual headings within `tokens`: the openings of the user's messages,
    the newest first to stay, and the last answer's opening."""
    prompts = [message for message in messages if message.is_prompt]
    answers = [message for message in messages if message.role == "assistant"]
    budget = tokens - counter.count(_form([], [], headings))
    asked: list[str] = []
    current = [_bullet(message) for message in answers[-1:]]
    for message in reversed(prompts):
        line = _bullet(message)
        budget -= counter.count(line) + 1
        if budget < 0 and asked:
            break
        asked.insert(0, line)
    return _form(asked, current, headings)


def _form(asked: Sequence[str], current: Sequence[str], headings: Sequence[str]) -> str:
    lines: dict[str, list[str]] = {heading: [] for heading in headings}
    lines[headings[0]].append(NOTE)
    lines["Goal and constraints"] += asked
    lines["Current work and next step"] += current
    return "\n".join(
        f"## {heading}\n" + ("\n".join(said) or "None.") for heading, said in lines.items()
    )


def _bullet(message: Message) -> str:
    own = read_own_words(message) if message.role == "user" else ""
    text = " ".join((own or read_typed_text(message)).split())
    who = "The answer began"
    if message.role == "user":
        who = "The user wrote" if own else "The user sent what others wrote"
    return f"- {who}: “{shorten_text(text, QUOTE)}” [#{message.number}]"
