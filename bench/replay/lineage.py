"""How often what a summary says was written, since a message said it.

The engine counts by chapters, and its merges rewrite nothing. Here each exact value is followed by
the messages that its line cites: stood it in one of the chapters that were merged, citing one of
the same messages, it was written once more than there.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.replay.values import find_exact_values

_CITED = re.compile(r"\[(#\d[^\]]*)\]")
_NUMBER = re.compile(r"#(\d+)")

Fact = tuple[str, int]  # an exact value, and a message that its line cites (0: it cites none)
Span = tuple[int, int]  # the first and the last message of a chapter


class Written(Protocol):
    """What is followed: a part of a summary, on the messages `first` to `through`."""

    @property
    def text(self) -> str: ...
    @property
    def first(self) -> int: ...
    @property
    def through(self) -> int: ...


@dataclass
class Lineage:
    """`deepest`: the most writings of any value, at any time."""

    deepest: int = 0
    _writes: dict[Span, Mapping[Fact, int]] = field(default_factory=dict)

    def follow(self, chapters: Sequence[Written]) -> None:
        """The next state of the summary."""
        self._writes = {(each.first, each.through): self._count(each) for each in chapters}
        self.deepest = max(self.deepest, *self.writes, 0)

    @property
    def writes(self) -> list[int]:
        """Of each value that the summary holds now, how often it was written."""
        most: dict[str, int] = {}
        for facts in self._writes.values():
            for (value, _), times in facts.items():
                most[value] = max(times, most.get(value, 0))
        return list(most.values())

    def _count(self, chapter: Written) -> dict[Fact, int]:
        """A chapter that stood there before was not written; else it came of those within it."""
        span = (chapter.first, chapter.through)
        if span in self._writes:
            before, again = self._writes[span], 0
        else:
            inner = [
                facts
                for (first, through), facts in self._writes.items()
                if span[0] <= first <= through <= span[1]
            ]
            before, again = _deepest_of(inner), 1
        counted: dict[Fact, int] = {}
        for line in chapter.text.splitlines():
            cited = [int(n) for part in _CITED.findall(line) for n in _NUMBER.findall(part)] or [0]
            for value in find_exact_values(line):
                times = max(before.get((value, number), 0) for number in cited) + again
                for number in cited:
                    counted[value, number] = max(times, 1, counted.get((value, number), 0))
        return counted


def _deepest_of(chapters: Sequence[Mapping[Fact, int]]) -> dict[Fact, int]:
    most: dict[Fact, int] = {}
    for facts in chapters:
        for fact, times in facts.items():
            most[fact] = max(times, most.get(fact, 0))
    return most
