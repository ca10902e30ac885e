"""The state of a summary: chapters written once from originals, oldest first, with what code found.

A compaction appends a chapter, so the bytes before it stay the same and the prompt cache holds.
Where all of them are too large, a merge selects what stays (`agent.compaction.chapters.merging`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace
from typing import Any, NamedTuple

from agent.audit.grounding import REPLACED
from agent.audit.quotes import Quote
from agent.clock import Days, join_days
from agent.compaction.chapters.index import list_index_lines
from agent.compaction.chapters.superseding import combine
from agent.compaction.instructions.pins import Pin, PinState
from agent.context.summary import CURRENT_WORK, INDEX_HEADING, LEFT_OUT, SEPARATOR, Summary
from agent.messages import RawTokens
from agent.search.values import IndexEntry
from agent.tokens import TokenCounter


class Part(NamedTuple):
    """What was written at once: the messages that it covers, and its whole text, of which the
    record may hold a selection by now."""

    first: int
    through: int
    text: str


class Withheld(NamedTuple):
    """What a person wrote of messages that are left out by now, and their numbers."""

    said: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the conversation in the model's words, and the user's pins and values in it.

    `depth` counts how often its oldest fact was written, `level` how often chapters were merged
    to come to it. A `gap` has lost its text, and is to be written again from the messages that
    count now. `left_out`: numbers of messages whose pins and values do not count, and which take
    no pin back, for as long as their user leaves them out of the context. `own`: the statements
    that a person wrote or corrected; `withheld`: those of them that may tell of messages which are
    left out. `parts`: the whole of what was written, where its text is a selection of that by now;
    none where its text is all of it. `quotes`: what bears statements of its text or of its parts
    out; no request holds them. `days` on which its messages were said; None: unknown.
    """

    text: str
    first: int
    through: int
    depth: int = 1
    level: int = 1
    pins: tuple[Pin, ...] = ()
    index: tuple[IndexEntry, ...] = ()
    gap: bool = False
    left_out: tuple[int, ...] = ()
    own: tuple[str, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    parts: tuple[Part, ...] = ()
    quotes: tuple[Quote, ...] = ()
    days: Days | None = None

    @property
    def written(self) -> tuple[Part, ...]:
        """The chapters as they were written, which it stands for."""
        return self.parts or (Part(self.first, self.through, self.text),)

    @classmethod
    def join(cls, chapters: Sequence["Chapter"], text: str, *, depth: int, level: int) -> "Chapter":
        """One chapter with a selection of their text in place of several neighbours. It keeps their
        pins and values, and what was written."""
        return cls(
            text,
            chapters[0].first,
            chapters[-1].through,
            depth,
            level,
            pins=tuple(pin for chapter in chapters for pin in chapter.pins),
            index=tuple(entry for chapter in chapters for entry in chapter.index),
            left_out=tuple(sorted(list_left_out(chapters))),
            own=tuple(each for chapter in chapters for each in chapter.own),
            withheld=tuple(each for chapter in chapters for each in chapter.withheld),
            parts=tuple(part for chapter in chapters for part in chapter.written),
            quotes=tuple(quote for chapter in chapters for quote in chapter.quotes),
            days=join_days(chapter.days for chapter in chapters),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Chapter":
        """From its stored form."""
        return cls(
            data["text"],
            data["first"],
            data["through"],
            data.get("depth", 1),
            data.get("level", 1),
            tuple(map(Pin.from_list, data.get("pins", ()))),
            tuple(map(IndexEntry.from_list, data.get("index", ()))),
            data.get("gap", False),
            tuple(data.get("left_out", ())),
            tuple(data.get("own", ())),
            tuple(Withheld(said, tuple(numbers)) for said, numbers in data.get("withheld", ())),
            tuple(Part(*part) for part in data.get("parts", ())),
            tuple(Quote(*quote) for quote in data.get("quotes", ())),
            Days.from_list(data.get("days")),
        )

    def as_dict(self) -> dict[str, Any]:
        """For storage; `from_dict` reads it back."""
        return {
            "text": self.text,
            "first": self.first,
            "through": self.through,
            "depth": self.depth,
            "level": self.level,
            "pins": [pin.as_list() for pin in self.pins],
            "index": [entry.as_list() for entry in self.index],
            "gap": self.gap,
            "left_out": list(self.left_out),
            "own": list(self.own),
            "withheld": [[each.said, list(each.numbers)] for each in self.withheld],
            "parts": [list(part) for part in self.parts],
            "quotes": [list(quote) for quote in self.quotes],
            "days": [day.isoformat() for day in self.days] if self.days else None,
        }


def render_summary(
    chapters: Sequence[Chapter],
    *,
    pin_tokens: RawTokens,
    index_tokens: RawTokens,
    counter: TokenCounter,
) -> Summary:
    """The text of a state of the summary; pins and index within their budgets."""
    bodies, work = combine([chapter.text.replace(SEPARATOR, "\n\n") for chapter in chapters])
    texts = [
        f"**Messages #{chapter.first} to #{chapter.through}{_dated(chapter)}**\n\n{body}"
        for chapter, body in zip(chapters, bodies, strict=True)
    ]
    parts = [f"{CURRENT_WORK}\n{work}"] if work else []
    left_out = list_left_out(chapters)
    listed = (entry for chapter in chapters for entry in chapter.index)
    lines = list_index_lines(
        [entry for entry in listed if entry.number not in left_out],
        _list_changes(chapters),
        "\n".join([*bodies, work]),
        index_tokens,
        counter,
    )
    if lines:
        parts.append(INDEX_HEADING + "\n" + "\n".join(lines))
    instructions = _newest_within(list_standing(chapters), pin_tokens, counter)
    return Summary(tuple(texts), "\n\n".join(parts), "\n".join(instructions))


def _dated(chapter: Chapter) -> str:
    return f" ({chapter.days})" if chapter.days else ""


def _list_changes(chapters: Iterable[Chapter]) -> list[str]:
    """The bullets that say what was replaced, whether the record still has them or not."""
    parts = (part for chapter in chapters for part in chapter.written)
    return [line for part in parts for line in part.text.splitlines() if REPLACED.match(line)]


def cut_to_tokens(text: str, tokens: RawTokens, counter: TokenCounter) -> str:
    """At most so many tokens, cut between lines: a summary that is too long is never summarised
    again. The longest sections give way first, with their last lines."""
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("## "):
            sections.append([])
        sections[-1].append(line)
    excess = sum(counter.count(line) + 1 for section in sections for line in section) - tokens
    longest = [(-len(section), index) for index, section in enumerate(sections) if section]
    heapify(longest)
    while excess > 0 and longest:
        size, index = longest[0]
        excess -= counter.count(sections[index].pop()) + 1
        if sections[index]:
            heapreplace(longest, (size + 1, index))
        else:
            heappop(longest)
    return "\n".join(line for section in sections for line in section)


# --- The user's standing instructions -------------------------------------------------------------


def list_left_out(chapters: Iterable[Chapter]) -> set[int]:
    """Numbers of the messages that do not count."""
    return {number for chapter in chapters for number in chapter.left_out}


def list_pins(chapters: Sequence[Chapter]) -> list[Pin]:
    """All of them, the latest last; of those that say the same the latest, though an offer takes no
    other's place."""
    found: dict[str, Pin] = {}
    left_out = list_left_out(chapters)
    for pin in (pin for chapter in chapters for pin in chapter.pins):
        if pin.number in left_out:
            continue
        pin = unretire(pin, pin.by) if pin.by in left_out else pin
        if not pin.is_offer or pin.key not in found:
            found.pop(pin.key, None)
            found[pin.key] = pin
    return list(found.values())


def unretire(pin: Pin, number: int) -> Pin:
    """A pin without what a message did to it, which may have taken it back."""
    return replace(pin, state=PinState.STANDING, by=0) if pin.by == number else pin


def list_standing(chapters: Sequence[Chapter]) -> list[Pin]:
    """Those that hold, the latest last."""
    return [pin for pin in list_pins(chapters) if pin.state == PinState.STANDING]


def keep_edits(chapters: Sequence[Chapter], edited: Sequence[Pin]) -> list[Chapter]:
    """The chapters with what the user did to pins on the page before they were written again."""
    done = {(pin.number, pin.key): pin for pin in edited}
    there = {(pin.number, pin.key) for chapter in chapters for pin in chapter.pins}
    changed = change_pins(chapters, lambda pin: done.get((pin.number, pin.key), pin))
    missing = [pin for place, pin in done.items() if place not in there]
    return add_pins(changed, missing)


def change_pins(chapters: Sequence[Chapter], change: Callable[[Pin], Pin]) -> list[Chapter]:
    return [replace(chapter, pins=tuple(map(change, chapter.pins))) for chapter in chapters]


def add_pins(chapters: Sequence[Chapter], pins: Sequence[Pin]) -> list[Chapter]:
    """The chapters with more pins, which come after the others."""
    *before, last = chapters
    return [*before, replace(last, pins=(*last.pins, *pins))]


def _newest_within(pins: Sequence[Pin], budget: int, counter: TokenCounter) -> list[str]:
    """The latest as lines, and a line that tells how many are left out, "" for none."""
    budget -= counter.count(LEFT_OUT.format(count=len(pins)))
    lines: list[str] = []
    for pin in reversed(pins):
        line = pin.render()
        budget -= counter.count(line) + 1
        if budget < 0:
            break
        lines.insert(0, line)
    if missing := len(pins) - len(lines):
        lines.insert(0, LEFT_OUT.format(count=missing))
    return lines
