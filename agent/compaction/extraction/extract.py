"""A summary without a model, from what code can find. Used only after a failure, or by choice."""

from collections.abc import Sequence

from agent.authorship.typed import read_typed_words, read_written_text
from agent.compaction.extraction.phrases import Phrases, choose_phrases
from agent.compaction.skills import CHAPTER_HEADINGS
from agent.context.shortening.text_previews import shorten_text
from agent.messages import AgentMessage, RawTokens
from agent.tokens import TokenCounter

QUOTE = 160  # characters of each quoted line


def extract(
    messages: Sequence[AgentMessage],
    tokens: RawTokens,
    counter: TokenCounter,
    headings: Sequence[str] = CHAPTER_HEADINGS,
) -> str:
    """A chapter with the usual headings within `tokens`: the openings of the user's messages,
    the newest first to stay, and the last answer's opening. What stands around them is in the
    user's language."""
    phrases = choose_phrases(messages)
    prompts = [message for message in messages if message.is_prompt]
    answers = [message for message in messages if message.role == "assistant"]
    budget = tokens - counter.count(_form(phrases, [], [], headings))
    asked: list[str] = []
    current = [_bullet(phrases, message) for message in answers[-1:]]
    for message in reversed(prompts):
        line = _bullet(phrases, message)
        budget -= counter.count(line) + 1
        if budget < 0 and asked:
            break
        asked.insert(0, line)
    return _form(phrases, asked, current, headings)


def _form(
    phrases: Phrases, asked: Sequence[str], current: Sequence[str], headings: Sequence[str]
) -> str:
    lines: dict[str, list[str]] = {heading: [] for heading in headings}
    lines[headings[0]].append(phrases.note)
    lines["Goal and constraints"] += asked
    lines["Current work and next step"] += current
    return "\n".join(
        f"## {heading}\n" + ("\n".join(said) or "None.") for heading, said in lines.items()
    )


def _bullet(phrases: Phrases, message: AgentMessage) -> str:
    own = read_typed_words(message) if message.role == "user" else ""
    text = " ".join((own or read_written_text(message)).split())
    who = phrases.answered
    if message.role == "user":
        who = phrases.wrote if own else phrases.sent
    return f"- {who}: “{shorten_text(text, QUOTE)}” [#{message.number}]"
