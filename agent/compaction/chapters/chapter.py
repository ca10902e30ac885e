"""The state of a summary: chapters written once from originals, oldest first, with what code found.

A compaction appends a chapter, so the bytes before it stay the same and the prompt cache holds.
Where all of them are too large, a merge selects what stays (`agent.compaction.chapters.merging`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agent.audit.quotes import Quote
from agent.clock import Days, join_days
from agent.compaction.instructions.pins import Pin
from agent.search.exact_values import IndexEntry


class WrittenPart(NamedTuple):
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
    out; no request holds them. `days` on which its messages were said; None: unknown. `by_rule`: no
    model has read its messages, because their owner has not agreed to the price.
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
    parts: tuple[WrittenPart, ...] = ()
    quotes: tuple[Quote, ...] = ()
    days: Days | None = None
    by_rule: bool = False

    @property
    def written(self) -> tuple[WrittenPart, ...]:
        """The chapters as they were written, which it stands for."""
        return self.parts or (WrittenPart(self.first, self.through, self.text),)

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
            by_rule=any(chapter.by_rule for chapter in chapters),
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
            tuple(WrittenPart(*part) for part in data.get("parts", ())),
            tuple(Quote(*quote) for quote in data.get("quotes", ())),
            Days.from_list(data.get("days")),
            data.get("by_rule", False),
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
            **({"by_rule": True} if self.by_rule else {}),
        }


def list_left_out(chapters: Iterable[Chapter]) -> set[int]:
    """Numbers of the messages that do not count."""
    return {number for chapter in chapters for number in chapter.left_out}
