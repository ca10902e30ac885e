"""A reply that was cut at its limit: what it broke off in goes, and the rest is asked for.

The API stops there without a sign in the text, so the last statement may be half of one, and the
headings after it are missing. What is missing in the end is told.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.compaction.chapters.cutting import drop_unfinished, split_blocks
from agent.compaction.reading.notation import Covered, is_none
from agent.compaction.reading.record import Record, Section, read_record
from agent.compaction.skills import INSTRUCTIONS
from agent.compaction.writing.summary_requests import Form

CUT = ("max_tokens", "model_context_window_exceeded")
# Tokens of a form for the rest: half of the record, but no less.
LEAST = 200
_MARKED = re.compile(r" {0,3}(?:#|[*_]{2})")
_COMPLETE = re.compile(r"\[#[^\[\]]*\][.。]?$")


def read_complete(text: str, headings: Sequence[str], covered: Covered) -> tuple[Record, list[str]]:
    """The record in a reply that was cut, without the statement and the heading that it broke off
    in, and the headings under which something is still to be written."""
    *lines, last = text.rstrip().splitlines() or [""]
    begun = _MARKED.match(last) is not None  # so that what stands before it is complete
    record = read_record("\n".join(lines if begun else [*lines, last]), headings, covered)
    if not record.sections:
        return record, [*headings]
    broken = record.sections[-1]
    at = headings.index(broken.heading) + int(begun)
    if not begun and not _COMPLETE.search(last):
        _, *said = drop_unfinished(broken.text).split("\n")
        record = Record.of([*record.sections[:-1], Section(broken.heading, tuple(said))], headings)
    left = [each for each in headings[at:] if each == broken.heading or each in record.missing]
    return record, left or [broken.heading]


def ask_for_rest(form: Form, record: Record, left: Sequence[str]) -> Form:
    """The form of a request for what is still to be written of a record."""
    return replace(form, tokens=max(LEAST, form.tokens // 2), written=record.text, left=left)


def join_rest(record: Record, rest: Record, left: Sequence[str]) -> Record:
    """A record and its rest, of which only what is new and was `left` counts."""
    bodies: dict[str, str] = {}
    for section in record.sections:
        bodies[section.heading] = f"{bodies.get(section.heading, '')}\n{section.body}".strip("\n")
    said = {block.rstrip() for block in split_blocks(record.text)}
    for more in rest.sections:
        body = bodies.get(more.heading, "")
        blocks = [block.rstrip() for block in split_blocks(more.body)]
        new = [block for block in blocks if is_none(block) or block not in said]
        if not body or is_none(body):
            bodies[more.heading] = "\n".join(new)
        elif more.heading in left and not is_none(more.body):
            bodies[more.heading] = "\n".join([body.rstrip(), *new])
    sections = [Section(heading, tuple(body.split("\n"))) for heading, body in bodies.items()]
    return Record.of(sections, record.headings)


def list_unwritten(record: Record, left: Sequence[str], still_left: Sequence[str]) -> list[str]:
    """Which of the headings that were `left` a record lacks in the end, or may have only in part:
    the rest of it was cut where something is `still_left`."""
    return [
        heading
        for heading in left
        if (heading in record.missing and heading != INSTRUCTIONS) or heading in still_left
    ]
