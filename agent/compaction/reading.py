"""A model's reply read as a record: a summary is recognised by what it says, not by how it looks.

What is no part of the record goes: thinking in tags, a fence or a tag around all, what is said
before it and after it. The rest is written as the form asks for it: headings as "## Overview", and
bullets and citations as in `agent.compaction.notation`. Code is kept as it is. A record that is
written so already stays unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from agent.compaction.evidence import FENCE
from agent.compaction.headings import Place, find_headings
from agent.compaction.notation import (
    Covered,
    cites_in_round_brackets,
    is_none,
    is_rule,
    write_bullet,
    write_citations,
)

# Names of tags: those of thinking, and those that a model may write around its answer.
_THOUGHT = "think|thinking|thoughts?|analysis|reasoning|reflection|scratchpad|planning|monologue"
_AROUND = "summary|record|conversation_record|chapter|output|answer|final|result|response"
# A tag of thinking begins a line; it may be closed anywhere.
_THINKING = re.compile(rf"[ \t]*<({_THOUGHT})\b[^<>]{{0,80}}>", re.I)
_THOUGHT_ENDS = re.compile(rf"</({_THOUGHT})>", re.I)
_LONE_END = re.compile(rf"[ \t]*(?:[^\s•*+-].*)?</(?:{_THOUGHT})>[ \t]*$", re.I)
_CLOSING = re.compile(rf"(?:</(?:{_AROUND})>[ \t]*)+$", re.I)
_BARE_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*")
_BULLET = re.compile(r"[ \t]*- ")
_OWN_HEADING = re.compile(r"^##?[ \t]+")  # of the model's own: it stands under one of the form's
_CITED = re.compile(r"\d[\])）］】][*_.。]{0,3}[ \t]*$")
LONGEST_EPILOGUE = 1_000  # characters: what is longer is no leave-taking, and may not go unseen
# How a model takes leave of its reader, in the ten most written languages.
_EPILOGUE = re.compile(
    r"[\W_]*(?:let me know|feel free|i hope|hope (?:this|that)|is there anything|would you like"
    r"|please (?:let|tell)|(?:this is the )?end of (?:the )?(?:record|summary)"
    r"|this (?:record|summary)"
    r"|lass(?:en sie)? (?:es )?mich|sag(?:en sie)? mir|avísame|házmelo|dime si|me avise|avise-me"
    r"|diga-me|faites-moi|dites-moi|dis-moi|n['’]hésite|дайте знать|сообщите|если (?:вам|нужно|что)"
    r"|如有|如果您|如果你|如需|请告诉|ご不明|ご質問|何か|必要で|他に|यदि आप|अगर आप|मुझे बता|أخبرني"
    r"|إذا كن|هل تريد)",
    re.I,
)


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
    sections = _write_sections(list(_split_sections(lines, places)), covered)
    return Record(tuple(sections), tuple(headings))


def read_rest(text: str, headings: Sequence[str], covered: Covered, begun: str) -> Record:
    """The rest of a record of which the heading `begun` is the last that is there: bullets before
    the first heading of the reply belong to it."""
    lines, places = _find_record(text.splitlines(), headings)
    lead = lines[: places[0].mark.line if places else len(lines)]
    first = next((n for n, line in enumerate(lead) if _BULLET.match(write_bullet(line))), len(lead))
    sections = [Section(begun, tuple(lead[first:])), *_split_sections(lines, places)]
    return Record.of(_write_sections(sections, covered), headings)


# --- What stands around the record ----------------------------------------------------------------


def _drop_thoughts(lines: Sequence[str]) -> list[str]:
    """The lines without thinking in tags that is no code. Where only its end is marked, all before
    that goes; where only its beginning is, the record begins with its first heading."""
    ends = {
        end[1].lower(): n for n, line in enumerate(lines) for end in _THOUGHT_ENDS.finditer(line)
    }
    kept: list[str] = []
    thought, code = "", False
    for number, line in enumerate(lines):
        opening = None if thought or code else _THINKING.match(line)
        if opening and ends.get(opening[1].lower(), -1) >= number:
            thought = opening[1].lower()
        if thought:
            closing = [end for end in _THOUGHT_ENDS.finditer(line) if end[1].lower() == thought]
            if closing:
                thought = ""
                kept.append(line[closing[-1].end() :])
            continue
        code ^= FENCE.match(line) is not None
        kept.append(line)
    code_lines = mark_code(kept)
    ends_at = (n for n, line in enumerate(kept) if not code_lines[n] and _LONE_END.match(line))
    return kept[next(ends_at, -1) + 1 :]


def _find_record(
    lines: Sequence[str], headings: Sequence[str]
) -> tuple[Sequence[str], Sequence[Place]]:
    """The lines of the record, and the headings in them."""
    read = _find_headings(_drop_thoughts(lines), headings)
    if 2 * _count(read[1]) < len(headings):  # what looked like thinking was none
        return max(read, _find_headings(lines, headings), key=lambda each: _count(each[1]))
    return read


def _find_headings(
    lines: Sequence[str], headings: Sequence[str]
) -> tuple[Sequence[str], Sequence[Place]]:
    """The lines of the record, and the headings in them: of all ways to take the fences, the first
    that shows most of the headings. One may stand around all of it, or never be closed."""
    lines = dedent("\n".join(lines)).splitlines()
    fences = sum(FENCE.match(line) is not None for line in lines)
    ways = [lines, _unwrap(lines)] if fences else [lines]
    if fences % 2:
        ways += [_drop_open_fences(way, headings) for way in ways]
    best: tuple[Sequence[str], Sequence[Place]] = lines, []
    for number, way in enumerate(ways):
        places = find_headings(way, mark_code(way), headings, by_place=number < 2)
        if _count(places) > _count(best[1]):
            best = way, places
    return best


def _count(places: Sequence[Place]) -> int:
    return len({place.heading for place in places})


def mark_code(lines: Sequence[str]) -> list[bool]:
    """Which lines are code or its fence."""
    code, inside = [], False
    for line in lines:
        fence = FENCE.match(line) is not None
        code.append(inside or fence)
        inside ^= fence
    return code


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


def _drop_epilogue(lines: Sequence[str]) -> list[str]:
    """The last section without what a model says when it is done: paragraphs that cite nothing
    behind a bullet that is complete, "None." or a line across, or that speak to a reader; and what
    closes a tag around the record."""
    kept = _cut_at_closing_tag(lines)
    code = mark_code(kept)
    end = begin = len(kept)
    ruled = False
    while begin and not code[begin - 1] and not _is_statement(kept[begin - 1]):
        begin -= 1
        spoken = _EPILOGUE.match(kept[begin]) and (not begin or not kept[begin - 1].strip())
        if (ruled := ruled or is_rule(kept[begin])) or spoken:
            end = begin
    before = kept[begin - 1] if begin else ""
    listed = _BULLET.match(write_bullet(before)) and _CITED.search(before)
    end = begin if listed or is_none(before) else end
    return kept[:end] if sum(map(len, kept[end:])) <= LONGEST_EPILOGUE else kept


def _is_statement(line: str) -> bool:
    """Whether a line belongs to a list or a table, cites a message or says "None."."""
    if is_rule(line) or not line.strip():
        return False
    listed = line[0] in " \t|" or _BULLET.match(write_bullet(line))
    return bool(listed or _CITED.search(line) or is_none(line))


def _cut_at_closing_tag(lines: Sequence[str]) -> list[str]:
    code = mark_code(lines)
    for index, line in enumerate(lines):
        if not code[index] and _THINKING.match(line):
            return list(lines[:index])
        if not code[index] and (tag := _CLOSING.search(line)):
            before = line[: tag.start()].rstrip()
            return [*lines[:index], *([before] if before else [])]
    return list(lines)


# --- The record itself ----------------------------------------------------------------------------


def _split_sections(lines: Sequence[str], places: Sequence[Place]) -> Iterator[Section]:
    ends = [*(place.mark.line for place in places[1:]), len(lines)]
    for place, end in zip(places, ends, strict=False):
        mark = place.mark
        body = [*([mark.rest] if mark.rest else []), *_outdent(lines[mark.line + mark.lines : end])]
        while len(body) > 1 and (is_rule(body[-1]) or not (body[-1].strip() or body[-2].strip())):
            body.pop()
        yield Section(place.heading, tuple(body))


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
        lines = _drop_epilogue(last.lines)
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


def _without_code(lines: Sequence[str]) -> Iterator[str]:
    return (line for line, inside in zip(lines, mark_code(lines), strict=True) if not inside)
