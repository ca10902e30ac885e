"""Newer wins: what a later chapter makes of those before it.

Chapters stay as they were written. Where they are read together, only the last one has a current
work, and what a later one replaced says so where it stands.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from agent.compaction.evidence import find_citations, strip_citations
from agent.compaction.facts.words import find_content_words
from agent.context.summary import CURRENT_WORK

# A section that is there only because the form asks for it.
_EMPTY_SECTION = re.compile(r"^#+ [^\n]+\n+None\.?\s*(?=^#|\Z)", re.M)
_CURRENT = re.compile(rf"^{CURRENT_WORK}[ \t]*$\n?(?P<work>.*?)(?=^## |\Z)", re.M | re.S)
# The bullet that SKILL.md asks for where something no longer holds.
_REPLACED = re.compile(r"^[ \t]*[-*+] Replaced: (.+)", re.M)
# A part of a statement that has to stand in another one as it is.
_VALUE = re.compile(r"\w*\d\w*")
_ARROW = re.compile("→|->|=>")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What holds instead of something, what that was with its words, and the messages that say
    so."""

    new: str
    old: str
    old_words: Set[str]
    numbers: Sequence[int]


@dataclass(slots=True)
class Line:
    """A line of a chapter, the messages that it rests on, and what holds instead of it by now."""

    text: str
    numbers: Set[int]
    words: Set[str]
    replaced_by: Replacement | None = None

    @classmethod
    def parse(cls, text: str) -> "Line":
        numbers = set(find_citations(text))
        return cls(text, numbers, find_content_words(strip_citations(text)) if numbers else set())

    def concerns(self, replacement: Replacement) -> bool:
        """Whether it rests on one of the messages and shares a content word with what no longer
        holds."""
        return not (
            self.numbers.isdisjoint(replacement.numbers)
            or self.words.isdisjoint(replacement.old_words)
        )

    def is_said_by(self, replacement: Replacement) -> bool:
        """Whether it says what no longer holds, with all words and values of that. Another
        statement about the same message may still hold."""
        values = _VALUE.findall(replacement.old)
        return (
            self.concerns(replacement)
            and replacement.old_words <= self.words
            and all(value in self.text for value in values)
        )

    def render(self) -> str:
        if by := self.replaced_by:
            return f"{self.text}, replaced by {by.new} [#{max(by.numbers)}]"
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
    chapters = [list(map(Line.parse, text.splitlines())) for text in texts]
    for index, chapter in enumerate(chapters):
        earlier = [line for lines in chapters[:index] for line in lines]
        for replacement in filter(None, map(find_replacement, chapter)):
            for line in earlier:
                if line.concerns(replacement):
                    line.replaced_by = replacement
    return ["\n".join(line.render() for line in chapter) for chapter in chapters]


def find_replacement(line: Line) -> Replacement | None:
    """What a bullet says that holds instead of something; None where it does not."""
    match = _REPLACED.match(line.text)
    if not match or not line.numbers:
        return None
    old, *new = _ARROW.split(strip_citations(match[1]), maxsplit=1)
    if not new:
        return None
    return Replacement(new[0].strip(), old, find_content_words(old), sorted(line.numbers))
