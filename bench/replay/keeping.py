"""What a conversation still holds after compactions, judged by rules that are not the engine's."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent.audit.evidence import UNVERIFIED
from agent.compaction.instructions.pins import find_pins_in
from agent.context.summary import INDEX_HEADING, Summary
from agent.messages import AgentMessage, RawTokens, plain_text
from bench.replay.replay import Replay
from bench.replay.values import Text, find_exact_values, find_questions

# What code writes into a summary besides what it was given: ranges, numbers of messages.
_MARKS = re.compile(r"^\*\*Messages #\d+ to #\d+(?: \([^()]+\))?\*\*$|\[#\d[^\]]*\]", re.M)


@dataclass(frozen=True, slots=True)
class Record:
    """A conversation and the summary of its first `through` messages: what the model wrote, what
    code added to it, and where standing instructions are."""

    messages: Sequence[AgentMessage]
    through: int
    chapters: str
    appendix: str = ""
    pins: str = ""

    @classmethod
    def of(cls, replay: Replay) -> "Record":
        from chat.models import Conversation
        from chat.models import Message as Row

        conversation = Conversation.objects.get(pk=replay.id)
        rows = Row.objects.filter(conversation=conversation).order_by("number")
        through = conversation.compressed_through
        summary = Summary.from_text(conversation.compressed_context or "")
        return cls(
            [
                AgentMessage(
                    number, "user" if role == "user" else "assistant", blocks, RawTokens(0)
                )
                for number, role, blocks in rows.values_list("number", "role", "blocks")
            ],
            through.number if through else 0,
            "\n\n".join(summary.chapters),
            summary.appendix,
            summary.instructions,
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """Counts. `values`: exact values that the user typed in the messages under the summary.
    `reachable` are in the request, or are found as they were typed; `by_sentence` are found by the
    sentence around them, which `with_sentence` have. `instructions`: standing ones by the data's
    word, of which `found` are recognised and `pinned` are in the request, as a pin or because their
    message is."""

    values: int
    in_summary: int
    in_index: int
    in_request: int
    reachable: int
    by_sentence: int
    with_sentence: int
    invented: tuple[str, ...]
    instructions: int
    pinned: int
    found: int
    flagged: int
    user_messages: int


def examine(
    record: Record,
    planted: Sequence[str],
    instructions: frozenset[int],
    search: Callable[[str], str] = lambda _: "",
) -> Kept:
    """The end of a replay. `planted`: the values that the scripted model made up. `search`: what
    the model is given to read for a query."""
    texts = [plain_text(message.blocks) for message in record.messages]
    prompts = [m for m in record.messages[: record.through] if m.is_prompt]
    values = {v: t for m in prompts for v, t in find_exact_values(texts[m.number - 1]).items()}
    questions = {v: q for m in prompts for v, q in find_questions(texts[m.number - 1]).items() if q}
    _, _, index_text = record.appendix.partition(INDEX_HEADING)
    in_index = _holding(values, index_text)
    in_summary = _holding(values, record.chapters)
    in_request = in_summary | in_index | _holding(values, "\n".join(texts[record.through :]))
    found_as_typed = {
        value
        for value, typed in values.items()
        if value not in in_request and Text(search(f'"{typed}"')).holds(value)
    }
    by_sentence = {v for v, asked in questions.items() if Text(search(asked)).holds(v)}
    users = [m for m in record.messages if m.is_prompt]
    found = {m.number for m in users if find_pins_in(m)}
    pin_text = Text(record.pins)
    pinned = {n for n in instructions if n > record.through or pin_text.holds(f"[#{n}]")}
    written = f"{record.chapters}\n{record.appendix}\n{record.pins}"
    return Kept(
        values=len(values),
        in_summary=len(in_summary),
        in_index=len(in_index),
        in_request=len(in_request),
        reachable=len(in_request | found_as_typed),
        by_sentence=len(by_sentence),
        with_sentence=len(questions),
        invented=tuple(_invented(written, "\n".join(texts), planted)),
        instructions=len(instructions),
        pinned=len(pinned),
        found=len(found & instructions),
        flagged=len(found),
        user_messages=len(users),
    )


def _holding(values: Iterable[str], text: str) -> set[str]:
    place = Text(text)
    return {value for value in values if place.holds(value)}


def _invented(summary: str, source: str, planted: Sequence[str]) -> list[str]:
    """Values of the summary that no message holds and that stand there as if they were true: those
    that were planted, and any others."""
    summary = "\n".join(line for line in summary.splitlines() if not line.endswith(UNVERIFIED))
    written, said = Text(_MARKS.sub(" ", summary)), Text(source)
    slipped = {value for value in planted if written.holds(value) and not said.holds(value)}
    others = {
        value for value in find_exact_values(_MARKS.sub(" ", summary)) if not said.holds(value)
    }
    return sorted(slipped | others)
