"""Two versions of a summary, compared statement by statement. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum

from agent.audit.evidence import FENCE
from agent.audit.grounding import BULLET

SIMILAR = 0.5  # share of the words from which on a statement is the other one, changed
# Pairs of words that are looked at, so that no text takes long. Statements beyond are added and
# dropped.
MOST_WORK = 2_000_000
_CHAPTER = re.compile(r"\*\*(Messages #\d+ to #\d+)(?: \([^()]+\))?\*\*\s*$")
_ACROSS = re.compile(r"\* \* \*\s*$")  # between chapters
_WORD = re.compile(r"\S+\s*")


class Change(StrEnum):
    """What became of a statement."""

    KEPT = "kept"
    CHANGED = "changed"
    ADDED = "added"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class StatementPiece:
    """A part of a statement: kept, or added to it or dropped from it."""

    text: str
    change: Change


@dataclass(frozen=True, slots=True)
class Line:
    change: Change
    pieces: Sequence[StatementPiece]


@dataclass(frozen=True, slots=True)
class Section:
    """The statements under a heading of a chapter, as in the new version; after them those that it
    lacks. `chapter` is the line with its messages, "" for what follows the chapters."""

    chapter: str
    heading: str
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Statement:
    chapter: str
    heading: str
    text: str

    @property
    def place(self) -> tuple[str, str]:
        return self.chapter, self.heading


def compare_summaries(old: str, new: str) -> list[Section]:
    """What a new text of a summary says otherwise. A statement that stands elsewhere now is kept;
    one that has half of its words in common with another is that one, changed."""
    before, after = list(_list_statements(old)), list(_list_statements(new))
    pairs = _match_equal(before, after)
    pairs |= _match_similar(before, after, pairs)
    sections: dict[tuple[str, str], Section] = {}
    for index, statement in enumerate(after):
        found = before[pairs[index]].text if index in pairs else None
        _section_of(statement, sections).lines.append(_compare(found, statement.text))
    taken = set(pairs.values())
    for index, statement in enumerate(before):
        if index not in taken:
            dropped = Line(Change.DROPPED, [StatementPiece(statement.text, Change.DROPPED)])
            _section_of(statement, sections).lines.append(dropped)
    return list(sections.values())


def count_changes(sections: Sequence[Section]) -> dict[Change, int]:
    """How many statements each became of."""
    lines = [line.change for section in sections for line in section.lines]
    return {change: lines.count(change) for change in Change}


def _section_of(statement: _Statement, sections: dict[tuple[str, str], Section]) -> Section:
    return sections.setdefault(statement.place, Section(*statement.place))


def _list_statements(summary: str) -> Iterator[_Statement]:
    """Bullets, paragraphs and blocks of code, without "None."."""
    chapter = heading = ""
    lines: list[str] = []
    in_code = False
    for line in [*summary.splitlines(), ""]:
        title, across = _CHAPTER.match(line), _ACROSS.match(line)
        begins = line.startswith(("# ", "## ")) or BULLET.match(line) or title or across
        if lines and not in_code and (begins or not line.strip()):
            text = "\n".join(lines)
            if text.casefold().strip(".") != "none":
                yield _Statement(chapter, heading, text)
            lines = []
        if FENCE.match(line):
            in_code = not in_code
        if in_code or not (title or across or line.startswith(("# ", "## "))):
            bullet = None if in_code or lines else BULLET.match(line)
            lines += [line[bullet.end() :] if bullet else line] if line.strip() else []
        elif title or across:
            chapter, heading = title[1] if title else "", ""
        else:
            heading = line.lstrip("# ").strip()
    if lines:  # code that no line closes
        yield _Statement(chapter, heading, "\n".join(lines))


def _match_equal(before: Sequence[_Statement], after: Sequence[_Statement]) -> dict[int, int]:
    """Indices of the new statements by those of old ones with the same text, first of those in the
    same place."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for same_place in (True, False):
        free: dict[tuple[object, str], list[int]] = {}
        for index, each in reversed(list(enumerate(before))):
            if index not in taken:
                free.setdefault((each.place if same_place else None, each.text), []).append(index)
        for index, each in enumerate(after):
            candidates = free.get((each.place if same_place else None, each.text))
            if index not in pairs and candidates:
                pairs[index] = candidates.pop()
                taken.add(pairs[index])
    return pairs


def _match_similar(
    before: Sequence[_Statement], after: Sequence[_Statement], equal: dict[int, int]
) -> dict[int, int]:
    """The same for those whose words are alike, the most alike first, of equals those in the same
    place."""
    taken = set(equal.values())
    old = [(i, each.text.split()) for i, each in enumerate(before) if i not in taken]
    new = [(i, each.text.split()) for i, each in enumerate(after) if i not in equal]
    found: list[tuple[float, bool, int, int]] = []
    left = MOST_WORK
    for there, said in old:
        # The second text is looked into once, whatever it is compared with.
        matcher = SequenceMatcher(None, "", said, autojunk=False)
        for here, words in new:
            matcher.set_seq1(words)
            left -= len(said) + len(words)
            if left < 0 or matcher.real_quick_ratio() < SIMILAR or matcher.quick_ratio() < SIMILAR:
                continue
            left -= len(said) * len(words)
            if left >= 0 and (ratio := matcher.ratio()) >= SIMILAR:
                same_place = before[there].place == after[here].place
                found.append((ratio, same_place, -here, -there))
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for _, _, here, there in sorted(found, reverse=True):
        if -here not in pairs and -there not in used:
            pairs[-here] = -there
            used.add(-there)
    return pairs


def _compare(old: str | None, new: str) -> Line:
    if old is None:
        return Line(Change.ADDED, [StatementPiece(new, Change.ADDED)])
    if old == new:
        return Line(Change.KEPT, [StatementPiece(new, Change.KEPT)])
    words = _WORD.findall(old), _WORD.findall(new)
    pieces: list[StatementPiece] = []
    for kind, *ends in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        gone, come = "".join(words[0][ends[0] : ends[1]]), "".join(words[1][ends[2] : ends[3]])
        if kind == "equal":
            pieces.append(StatementPiece(come, Change.KEPT))
            continue
        both = (StatementPiece(gone, Change.DROPPED), StatementPiece(come, Change.ADDED))
        pieces += [piece for piece in both if piece.text]
    return Line(Change.CHANGED, pieces)
