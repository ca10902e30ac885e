"""What a part of a conversation was about, without a model: how messages of its user begin, spread
over all of it."""

from collections.abc import Sequence

from agent.authorship.typed import read_typed_words, read_written_text
from agent.clock import Days
from agent.compaction.extraction.phrases import RECORD_NOTE, Phrases
from agent.context.shortening.text_previews import shorten_text
from agent.context.summary import CURRENT_WORK
from agent.messages import AgentMessage, RawTokens
from agent.tokens import TokenCounter

QUOTE = 100  # characters of a message that is quoted
LAST_QUOTE = 300  # characters of the last request
LINE = 40  # raw tokens that a line takes, about


def write_outline(
    messages: Sequence[AgentMessage], tokens: RawTokens, counter: TokenCounter, heading: str
) -> str:
    """Lines within `tokens`, one at least, under a heading of a chapter: a day, the opening of a
    message, and its number. Each stands for a stretch of messages: where the longest pause in it
    ended, something began."""
    places = [place for place, message in enumerate(messages) if message.is_prompt] or [0]
    number = max(1, min(len(places), int(tokens) // LINE))
    bounds = [at * len(places) // number for at in range(number + 1)]
    lines: list[str] = []
    room = tokens - counter.count(heading)
    for start, end in zip(bounds, bounds[1:], strict=False):
        place = max(places[start:end], key=lambda each: measure_pause(messages, each))
        line = _quote(messages[place])
        room -= counter.count(line) + 1
        if room < 0 and lines:
            break
        lines.append(line)
    return "\n".join([f"## {heading}", *lines])


def write_current_work(messages: Sequence[AgentMessage], phrases: Phrases) -> str:
    """The section that ends the last part: how its last answer began, what its user asked last, and
    that no model has read any of it."""
    lines = [f"- {RECORD_NOTE}"]
    if answer := next((each for each in reversed(messages) if each.role == "assistant"), None):
        lines.append(f"- {phrases.answered}: {_cite(answer, QUOTE)}")
    if prompt := next((each for each in reversed(messages) if each.is_prompt), None):
        name = phrases.last_request if read_typed_words(prompt) else phrases.last_sent
        lines.append(f"- {name}: {_cite(prompt, LAST_QUOTE)}")
    return "\n".join([CURRENT_WORK, *lines])


def measure_pause(messages: Sequence[AgentMessage], place: int) -> float:
    """Seconds before the message at a place; 0 where a time is not known."""
    before, after = messages[max(0, place - 1)].at, messages[place].at
    return after - before if before and after else 0.0


def _quote(message: AgentMessage) -> str:
    day = Days.of([message])
    return f"- {day}: {_cite(message, QUOTE)}" if day else f"- {_cite(message, QUOTE)}"


def _cite(message: AgentMessage, characters: int) -> str:
    own = read_typed_words(message) if message.role == "user" else ""
    text = " ".join((own or read_written_text(message)).split())
    return f"“{shorten_text(text, characters)}” [#{message.number}]"
