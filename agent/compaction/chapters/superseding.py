"""Newer wins: what a later chapter makes of those before it.

Chapters stay as they were written. Where they are read together, only the last one has a current
work, and what a later one replaced says so where it stands.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from agent.audit.evidence import find_citations, strip_citations
from agent.audit.facts.terms import Terms
from agent.audit.facts.values import Value
from agent.audit.facts.words import LEAST_ALIKE, find_words, is_cjk, make_stem
from agent.context.summary import CURRENT_WORK

# A section that is there only because the form asks for it.
_EMPTY_SECTION = re.compile(r"^#+ [^\n]+\n+None\.?\s*(?=^#|\Z)", re.M)
_CURRENT = re.compile(rf"^{CURRENT_WORK}[ \t]*$\n?(?P<work>.*?)(?=^## |\Z)", re.M | re.S)
# The bullet that SKILL.md asks for where something no longer holds.
_REPLACED = re.compile(r"^[ \t]*[-*+] Replaced: (.+)", re.M)
_ARROW = re.compile("→|->|=>")
REPLACED_BY = ", replaced by "  # behind what no longer holds, before what holds instead
# The share of the words of what no longer holds that a statement about it has, and how many words
# name a thing: a subject and a property.
MOST_WORDS, SUBJECT_AND_PROPERTY = 0.6, 2


@dataclass(frozen=True)
class Replacement:
    """What holds instead of something, that with its terms, and the messages that say so."""

    new: str
    old: Terms
    numbers: Sequence[int]

    @cached_property
    def exchanged(self) -> Set[str]:
        """Words of what no longer holds that what holds instead has not: what it was and, where
        only one of them names it, its subject."""
        return self.old.words - Terms.read(self.new).words

    @cached_property
    def keys(self) -> Set[str]:
        """Those of a line of which one that says what no longer holds has one at least."""
        values = self.old.values[:1]
        return frozenset(_measure(values) if values else map(_begin, self.old.words))

    @cached_property
    def value(self) -> Set[str]:
        """The words of `exchanged` that are what it was: letters, or the word next to the arrow."""
        if letters := self.exchanged & self.old.letters:
            return letters
        last = self.exchanged & set(map(make_stem, find_words(self.old.text)[-1:]))
        pairs = {pair for pair in self.exchanged if is_cjk(pair)}
        return last or pairs


@dataclass(eq=False)
class ChapterLine:
    """A line of a chapter, the messages that it rests on, and what holds instead of it by now."""

    text: str
    numbers: Set[int]
    replaced_by: Replacement | None = None

    @classmethod
    def parse(cls, text: str) -> "ChapterLine":
        return cls(text, set(find_citations(text)))

    @cached_property
    def terms(self) -> Terms:
        return Terms.read(strip_citations(self.text))

    @cached_property
    def keys(self) -> Set[str]:
        """What it may be found by: its values, and the beginnings of its words."""
        return frozenset([*map(_begin, self.terms.words), *_measure(self.terms.values)])

    def concerns(self, replacement: Replacement) -> bool:
        """Whether it says what no longer holds: the replaced value of the same subject or, where
        none is named, the same subject and property. Another message may say it."""
        same = not self.numbers.isdisjoint(replacement.numbers)
        if not self.numbers or (not same and self.keys.isdisjoint(replacement.keys)):
            return False
        old, own = replacement.old, self.terms
        share = old.measure_share(own)
        if not old.values:
            if share < old.all:
                return same and share >= MOST_WORDS and own.has_any(replacement.value)
            return same or len(replacement.exchanged) >= SUBJECT_AND_PROPERTY
        found = sum(own.has_value(value, old) for value in old.values)
        if found < len(old.values):
            return same and found > 0 and share >= old.all
        if same:
            return share > 0 or not old.words
        return share >= old.all or (
            share >= MOST_WORDS and share * len(old.words) >= SUBJECT_AND_PROPERTY
        )

    def is_said_by(self, replacement: Replacement) -> bool:
        """Whether it says all of what no longer holds, so that nothing of it does."""
        if not self.concerns(replacement):
            return False
        old, own = replacement.old, self.terms
        named = len(old.words) >= SUBJECT_AND_PROPERTY
        return (
            (named or not self.numbers.isdisjoint(replacement.numbers))
            and (old.measure_share(own) >= old.all or not old.words)
            and all(own.has_value(value, old) for value in old.values)
        )

    def render(self) -> str:
        if by := self.replaced_by:
            return f"{self.text}{REPLACED_BY}{by.new} [#{max(by.numbers)}]"
        return self.text


def drop_empty_sections(text: str) -> str:
    """A chapter without the headings that have nothing but "None."."""
    return _EMPTY_SECTION.sub("", text).strip()


def split_current_work(text: str) -> tuple[str, str]:
    """A chapter without its current work, and the current work, "" for none."""
    found = _CURRENT.search(text)
    if found is None:
        return text, ""
    return f"{text[: found.start()]}{text[found.end() :]}".strip(), found["work"].strip()


def join_current_work(text: str, work: str) -> str:
    """The reverse of `split_current_work`."""
    return f"{text}\n\n{CURRENT_WORK}\n{work}".strip() if work else text


def combine(texts: Sequence[str]) -> tuple[list[str], str]:
    """Chapters, oldest first, as they read together: without their current work, what was replaced
    marked, and the current work of the last."""
    parts = [split_current_work(text) for text in texts]
    return _mark_replaced([body for body, _ in parts]), parts[-1][1] if parts else ""


def _mark_replaced(texts: Sequence[str]) -> list[str]:
    if not any(map(_REPLACED.search, texts)):
        return list(texts)
    chapters = [list(map(ChapterLine.parse, text.splitlines())) for text in texts]
    earlier = _Index()
    for chapter in chapters:
        for replacement in filter(None, map(find_replacement, chapter)):
            for line in earlier.find(replacement):
                if line.concerns(replacement):
                    line.replaced_by = replacement
        for line in chapter:
            earlier.add(line)
    return ["\n".join(line.render() for line in chapter) for chapter in chapters]


class _Index:
    """Lines by the messages that they rest on and by their keys."""

    def __init__(self) -> None:
        self._lines: dict[str, list[ChapterLine]] = {}

    def add(self, line: ChapterLine) -> None:
        if line.numbers:
            for key in [*map(_name, line.numbers), *line.keys]:
                self._lines.setdefault(key, []).append(line)

    def find(self, replacement: Replacement) -> Iterator[ChapterLine]:
        """Every line that may say what no longer holds."""
        # Where no value is named it has most of the words, so one of the rarest.
        keys = sorted(replacement.keys, key=lambda key: len(self._lines.get(key, ())))
        if not replacement.old.values:
            keys = keys[: int((1 - MOST_WORDS) * len(keys)) + 1]
        keys += map(_name, replacement.numbers)
        lines = (self._lines.get(key, ()) for key in keys)
        yield from {id(line): line for each in lines for line in each}.values()


def _name(number: int) -> str:
    return f"#{number}"


def _begin(word: str) -> str:
    return word[:LEAST_ALIKE]


def _measure(values: Sequence[Value]) -> Iterator[str]:
    """Keys of which equal values share one."""
    for value in values:
        parts = (part for day in value.days for part in day if part)
        numbers = [*value.amounts, *(each for _, each in value.readings), *parts]
        yield from (f"={number:g}" for number in numbers)


def find_replacement(line: ChapterLine) -> Replacement | None:
    """What a bullet says that holds instead of something; None where it does not."""
    match = _REPLACED.match(line.text)
    if not match or not line.numbers:
        return None
    old, *new = _ARROW.split(strip_citations(match[1]), maxsplit=1)
    if not new:
        return None
    return Replacement(new[0].strip(), Terms.read(old), sorted(line.numbers))
