"""A reply that was cut at its limit: what it broke off in goes, and the rest is asked for.

The API stops there without a sign in the text, so the last statement may be half of one, and the
headings after it are missing. What is missing in the end is told.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.compaction.cutting import drop_unfinished, split_blocks
from agent.compaction.notation import Covered, is_none
from agent.compaction.reading import Record, Section, read_record
from agent.compaction.requests import Form
from agent.compaction.skills import INSTRUCTIONS

CUT = ("max_tokens", "model_context_window_exceeded")
# Tokens of a form for the rest: half of the record, but no less.
LEAST = 200
_MARKED = re.compile(r" {0,3}(?:#|[*_]{2})")
_COMPLETE = re.compile(r"\[#[^\[\]]*\][.。]?$")


def read_complete(text: str, headings: Sequence[str], covered: Covered) -> Record:
    """The record in a reply that was cut, without the statement and the heading that it broke off
    in."""
    *lines, last = text.rstrip().splitlines() or [""]
    begun = _MARKED.match(last) is not None  # so that what stands before it is complete
    record = read_record("\n".join(lines if begun else [*lines, last]), headings, covered)
    if begun or not record.sections or _COMPLETE.search(last):
        return record
    *sections, broken = record.sections
    *_, said = drop_unfinished(broken.text).split("\n", 1)
    whole = said.split("\n") if said != f"## {broken.heading}" else []
    return Record.of([*sections, Section(broken.heading, tuple(whole))], headings)


def list_left(record: Record, headings: Sequence[str]) -> list[str]:
    """The headings that a record which was cut still has to be given: the last that it has, and
    those after it."""
    last = record.sections[-1].heading
    after = headings[headings.index(last) :]
    return [heading for heading in after if heading in (last, *record.missing)]


def ask_for_rest(form: Form, record: Record) -> Form:
    """The form of a request for what is still to be written of a record."""
    left = list_left(record, form.skill.headings)
    return replace(form, tokens=max(LEAST, form.tokens // 2), written=record.text, left=left)


def join_rest(record: Record, rest: Record, headings: Sequence[str]) -> Record:
    """A record and its rest. Of what the rest says again, the first wording stays."""
    begun = record.sections[-1].heading
    done = {section.heading for section in record.sections[:-1]}
    sections = list(record.sections)
    for more in rest.sections:
        if more.heading == begun:
            sections[len(record.sections) - 1] = _add(record.sections[-1], more)
        elif more.heading not in done:
            sections.append(more)
    return Record.of(sections, headings)


def _add(section: Section, more: Section) -> Section:
    """A section with the statements of another that it lacks."""
    if is_none(section.body) or is_none(more.body):
        return more if is_none(section.body) else section
    said = [block.rstrip() for block in split_blocks(section.body.rstrip())]
    new = (block.rstrip() for block in split_blocks(more.body) if block.strip())
    return Section(section.heading, tuple("\n".join(dict.fromkeys([*said, *new])).split("\n")))


def list_unwritten(record: Record, asked: Sequence[str], *, cut: bool) -> list[str]:
    """Which of the headings that were asked for a record lacks in the end, or, where its rest was
    `cut` too, may have only in part."""
    last = record.sections[-1].heading
    return [
        heading
        for heading in asked
        if (heading in record.missing and heading != INSTRUCTIONS) or (cut and heading == last)
    ]
