"""What a conversation still holds after compactions, judged by rules that are not the engine's."""

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from agent.compaction.evidence import UNVERIFIED
from agent.compaction.pins import find_pins
from agent.context.summary import INDEX_HEADING
from agent.messages import plain_text
from bench.replay.conductor import Conductor
from bench.replay.values import Lookup, Text, find_exact_values

# What code writes into a summary besides what it was given: ranges, numbers of messages.
_MARKS = re.compile(r"^\*\*Messages #\d+ to #\d+\*\*$|\[#\d[^\]]*\]", re.M)


@dataclass(frozen=True, slots=True)
class Kept:
    """Counts. `values`: exact values that the user typed in the messages under the summary;
    `instructions`: standing ones by the data's word, of which `found` are recognised and `pinned`
    are in the prompt, as a pin or because their message is."""

    values: int
    in_summary: int
    in_index: int
    by_lookup: int
    reachable: int
    invented: tuple[str, ...]
    instructions: int
    pinned: int
    found: int
    flagged: int
    user_messages: int


def examine(conductor: Conductor, planted: Sequence[str], instructions: frozenset[int]) -> Kept:
    """The end of a replay. `planted`: the values that the scripted model made up."""
    texts = [plain_text(message.blocks) for message in conductor.messages]
    covered = conductor.messages[: conductor.through]
    prompts = [m for m in covered if m.is_prompt]
    values = {v: t for m in prompts for v, t in find_exact_values(texts[m.number - 1]).items()}
    appendix = conductor.summary.appendix
    _, _, index_text = appendix.partition(INDEX_HEADING)
    in_index = _holding(values, index_text)
    chapters = "\n\n".join(conductor.summary.chapters)
    in_summary = _holding(values, chapters)
    with closing(Lookup(texts)) as lookup:
        by_lookup = {value for value, typed in values.items() if lookup.find(value, typed)}
    in_tail = _holding(values, "\n".join(texts[conductor.through :]))
    users = [m for m in conductor.messages if m.is_prompt]
    found = {m.number for m in users if find_pins(m.number, texts[m.number - 1])}
    pin_text = Text(conductor.summary.instructions)
    pinned = {
        number
        for number in instructions
        if number > conductor.through or pin_text.holds(f"[#{number}]")
    }
    return Kept(
        values=len(values),
        in_summary=len(in_summary),
        in_index=len(in_index),
        by_lookup=len(by_lookup),
        reachable=len(in_summary | in_index | by_lookup | in_tail),
        invented=tuple(
            _invented(
                f"{chapters}\n{appendix}\n{conductor.summary.instructions}",
                "\n".join(texts),
                planted,
            )
        ),
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
