"""A model's reply read as a record: a summary is recognised by what it says, not by how it looks.

What is no part of the record goes: thinking in tags, a fence or a tag around all, what is said
before it and after it. The rest is written as the form asks for it: headings as "## Overview", and
bullets and citations as in `agent.compaction.reading.notation`. Code is kept as it is. A record
that is written so already stays unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from agent.audit.evidence import FENCE
from agent.compaction.reading.headings import HeadingPlace, find_headings, split_words
from agent.compaction.reading.layouts import find_structure, list_layouts
from agent.compaction.reading.notation import (
    Covered,
    cites_in_round_brackets,
    is_none,
    is_rule,
    unwrap_citations,
    write_bullet,
    write_citations,
)
from agent.compaction.reading.wrapping import drop_epilogue, drop_thoughts, mark_code

_BARE_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*")
_BULLET = re.compile(r"[ \t]*- ")
_EDGE = re.compile(r"[ \t]*(?:</?(?:section|details|div|article|p|ul|ol)>|={3,}|~{4,})[ \t]*")
_OWN_HEADING = re.compile(r"^##?[ \t]+")  # of the model's own: it stands under one of the form's
SAID_AGAIN = 0.7  # of a draft's words, in what was made of it


@dataclass(frozen=True, slots=True)
class Section:
    """One of the form's headings, and the lines under it."""

    heading: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join([f"## {self.heading}", *self.lines])

    @property
    def body(self) -> str:
        return "\n".join(self.lines).strip("\n")


@dataclass(frozen=True, slots=True)
class Record:
    """What was read of a form with these headings: the sections in the order of the text."""

    sections: tuple[Section, ...]
    headings: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(section.text for section in self.sections).strip()

    @classmethod
    def of(cls, sections: Sequence[Section], headings: Sequence[str]) -> "Record":
        """Of the sections that say something at all."""
        return cls(tuple(each for each in sections if each.body.strip()), tuple(headings))

    @property
    def missing(self) -> list[str]:
        """The form's headings that it lacks."""
        found = {section.heading for section in self.sections}
        return [heading for heading in self.headings if heading not in found]


def read_record(text: str, headings: Sequence[str], covered: Covered) -> Record:
    """The record in a reply, with the sections that could be told; none at all where it has none.

    `headings` are those of the form, `covered` the messages that it may cite.
    """
    lines, places = _find_record(text.splitlines(), headings)
    sections = _write_sections(_drop_draft(list(_split_sections(lines, places))), covered)
    return Record(tuple(sections), tuple(headings))


def read_rest(text: str, headings: Sequence[str], covered: Covered, begun: str) -> Record:
    """The rest of a record of which the heading `begun` is the last that is there: bullets before
    the first heading of the reply belong to it."""
    lines, places = _find_record(text.splitlines(), headings)
    lead = lines[: places[0].mark.line if places else len(lines)]
    first = next((n for n, line in enumerate(lead) if _BULLET.match(write_bullet(line))), len(lead))
    sections = [Section(begun, tuple(lead[first:])), *_split_sections(lines, places)]
    return Record.of(_write_sections(sections, covered), headings)


# --- Where it is ----------------------------------------------------------------------------------


def _find_record(
    lines: Sequence[str], headings: Sequence[str]
) -> tuple[Sequence[str], Sequence[HeadingPlace]]:
    """The lines of the record, and the headings in them."""
    read = _find_headings(drop_thoughts(lines), headings)
    if 2 * _count(read[1]) < len(headings):  # what looked like thinking was none
        return max(read, _find_headings(lines, headings), key=lambda each: _count(each[1]))
    return read


def _find_headings(
    lines: Sequence[str], headings: Sequence[str]
) -> tuple[Sequence[str], Sequence[HeadingPlace]]:
    """The lines of the record, and the headings in them: of all ways to take the fences, the first
    that shows most of the headings. One may stand around all of it, or never be closed."""
    text = dedent("\n".join(lines))
    structure = find_structure(text)
    lines = text.splitlines() if structure is None else structure
    fences = sum(FENCE.match(line) is not None for line in lines)
    ways = [lines, _unwrap(lines)] if fences else [lines]
    if fences % 2:
        ways += [_drop_open_fences(way, headings) for way in ways]
    best: tuple[Sequence[str], Sequence[HeadingPlace]] = lines, []
    for number, way in enumerate(ways):
        places = find_headings(way, mark_code(way), headings, by_place=number < 2)
        if _count(places) > _count(best[1]):
            best = way, places
    if _count(best[1]) + 1 < len(headings):  # not all that it needs
        for way in list_layouts(text):
            places = find_headings(way, mark_code(way), headings, by_place=False)
            if _count(places) > _count(best[1]):
                best = way, places
    return best


def _count(places: Sequence[HeadingPlace]) -> int:
    return len({place.heading for place in places})


def _unwrap(lines: Sequence[str]) -> list[str]:
    """The lines within the first fence, where its end is told by that no other fence is open."""
    fences = [index for index, line in enumerate(lines) if FENCE.match(line)]
    if not fences:
        return list(lines)
    opening = fences[0]
    mark = lines[opening].strip()
    long = len(mark) - len(mark.lstrip(mark[0]))
    ends = [
        index
        for index in fences[1:]
        if (bare := _BARE_FENCE.fullmatch(lines[index])) and len(bare[1]) >= long
    ]
    even = len(fences) % 2 == 0  # itself, pairs within, and its end
    return list(lines[opening + 1 : ends[-1] if ends and (even or long > 3) else len(lines)])


def _drop_open_fences(lines: Sequence[str], headings: Sequence[str]) -> list[str]:
    """The lines without fences that are open where the form's next heading stands."""
    stands = {
        place.mark.line
        for place in find_headings(lines, [False] * len(lines), headings, by_place=False)
    }
    kept: list[str] = []
    opened: int | None = None  # where in `kept`
    for index, line in enumerate(lines):
        if index in stands and opened is not None:
            del kept[opened]
            opened = None
        if FENCE.match(line):
            opened = len(kept) if opened is None else None
        kept.append(line)
    return kept


# --- The record itself ----------------------------------------------------------------------------


def _split_sections(lines: Sequence[str], places: Sequence[HeadingPlace]) -> Iterator[Section]:
    ends = [*(place.mark.line for place in places[1:]), len(lines)]
    for place, end in zip(places, ends, strict=False):
        mark = place.mark
        body = [*([mark.rest] if mark.rest else []), *_outdent(lines[mark.line + mark.lines : end])]
        yield Section(place.heading, tuple(_strip_edges(body)))


def _strip_edges(body: list[str]) -> list[str]:
    """The lines of a section without what only divides it from others: lines across, tags that hold
    a section, fences with nothing in them, blank lines but one."""
    fences = [n for n, line in enumerate(body) if FENCE.match(line)]
    end = _find_end(body, len(body))
    while len(fences) > 1 and fences[-1] == end - 1 and not "".join(body[fences[-2] + 1 : end - 1]):
        *fences, opening, _ = fences
        end = _find_end(body, opening)
    tail = body[end:]
    begin = next((n for n, line in enumerate(body[:end]) if not _is_edge(line)), 0)
    return [*body[begin:end], *([""] if tail and not tail[-1].strip() else [])]


def _find_end(body: Sequence[str], end: int) -> int:
    """Where lines before `end` end but for blank ones and edges."""
    while end and (not body[end - 1].strip() or _is_edge(body[end - 1])):
        end -= 1
    return end


def _drop_draft(sections: list[Section]) -> list[Section]:
    """The sections without a draft of them all that stands before them. Of a record in two parts,
    which say different things, both stay."""
    begin = [n for n, section in enumerate(sections) if section.heading == sections[0].heading]
    if len(begin) < 2:
        return sections
    draft, last = sections[: begin[-1]], sections[begin[-1] :]
    said, said_again = (
        {word for section in part for word in split_words(section.body)} for part in (draft, last)
    )
    whole = {section.heading for section in draft} <= {section.heading for section in last}
    return last if whole and len(said & said_again) >= SAID_AGAIN * len(said) else sections


def _is_edge(line: str) -> bool:
    return is_rule(line) or _EDGE.fullmatch(line) is not None


def _outdent(lines: Sequence[str]) -> list[str]:
    """The lines of a section without the indentation of its first."""
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip())
    return [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines]


def _write_sections(sections: Sequence[Section], covered: Covered) -> list[Section]:
    """The sections with bullets, citations and "None." in the one form, and nothing behind the
    last."""
    if sections:
        *before, last = sections
        lines = drop_epilogue(last.lines)
        if sum(FENCE.match(line) is not None for line in lines) % 2:
            lines.append("```")
        sections = [*before, Section(last.heading, tuple(lines))]
    texts = []
    for section in sections:
        code = mark_code(section.lines)
        texts.append(
            [
                line if inside else _OWN_HEADING.sub("### ", write_bullet(line), count=1)
                for line, inside in zip(section.lines, code, strict=True)
            ]
        )
    texts = _unwrap_all(texts, covered)
    said = [line for lines in texts for line in _without_code(lines)]
    in_round = cites_in_round_brackets(said, covered)
    written = []
    for section, lines in zip(sections, texts, strict=True):
        cited = [
            line if inside else write_citations(line, covered, round_brackets=in_round)
            for line, inside in zip(lines, mark_code(lines), strict=True)
        ]
        if is_none("\n".join(cited).strip()):
            end = len(cited)
            while end and not cited[end - 1].strip():
                end -= 1
            cited = ["None.", *cited[end:]]
        written.append(Section(section.heading, tuple(cited)))
    return written


def _unwrap_all(texts: Sequence[Sequence[str]], covered: Covered) -> list[list[str]]:
    """The lines of all sections with plain citations."""
    said = iter(
        unwrap_citations([line for lines in texts for line in _without_code(lines)], covered)
    )
    return [
        [
            line if inside else next(said)
            for line, inside in zip(lines, mark_code(lines), strict=True)
        ]
        for lines in texts
    ]


def _without_code(lines: Sequence[str]) -> Iterator[str]:
    return (line for line, inside in zip(lines, mark_code(lines), strict=True) if not inside)
