"""Where a conversation stands, in lines for a person who comes back to it. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.audit.evidence import FENCE, remove_unverified, strip_citations
from agent.audit.grounding import BULLET
from agent.compaction.chapters.superseding import split_current_work
from agent.compaction.extraction.phrases import NOTES, QUOTED
from agent.context.shortening.text_previews import shorten_text
from agent.context.summary import Summary

LINE = 200  # characters: about two lines of a page
RAW_LINE = 4 * LINE  # with its Markdown
_DECISIONS = re.compile(r"^## Decisions[ \t]*$\n?(?P<said>.*?)(?=^## |\Z)", re.M | re.S)
_NOTHING = re.compile(r"none\.?", re.I)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKS = re.compile(r"\*\*|~~|`")
_EMPHASIS = re.compile(r"(?<!\w)([*_])([^\s*_][^*_]*)\1(?!\w)")
_HEADING_OR_TABLE = re.compile(r"\s*(?:#{1,6}\s|\|)")


@dataclass(frozen=True, slots=True)
class Outlook:
    """The last decision and the next step as plain text, each "" where the summary names none."""

    decision: str = ""
    next_step: str = ""

    def __bool__(self) -> bool:
        return bool(self.decision or self.next_step)


def read_outlook(summary: Summary) -> Outlook:
    """From the last chapter, if a model or a person wrote it: one by rule only quotes. What an
    audit marked counts for nothing."""
    if not summary or any(note in summary.chapters[-1] for note in NOTES):
        return Outlook()
    decisions = _DECISIONS.search(summary.chapters[-1])
    _, work = split_current_work(summary.appendix)
    return Outlook(_read_last(decisions["said"] if decisions else ""), _read_last(work))


def read_headline(chapter: str) -> str:
    """What a chapter is about: its first decision, else the first line of what it says, "" for
    none."""
    text = remove_unverified(chapter)
    decisions = _DECISIONS.search(text)
    decided = read_opening(decisions["said"]) if decisions else ""
    for note in NOTES:
        text = text.replace(note, "")
    return decided or read_opening(text)


def read_opening(text: str) -> str:
    """The first line of a text that is prose, as plain text; "" for none."""
    return next(_read_lines(text), "")


def _read_last(section: str) -> str:
    lines = list(_read_lines(remove_unverified(section)))
    return next((line for line in reversed(lines) if not line.startswith(QUOTED)), "")


def _read_lines(text: str) -> Iterator[str]:
    """Bullets and paragraphs, each as one plain line, without code, tables and headings."""
    for statement in _list_statements(text):
        line = _make_plain(statement)
        if any(map(str.isalnum, line)) and not _NOTHING.fullmatch(line):
            yield line


def _list_statements(text: str) -> Iterator[str]:
    lines: list[str] = []  # of the statement at hand
    in_code = False
    for line in [*text.splitlines(), ""]:
        fence, bullet = bool(FENCE.match(line)), BULLET.match(line)
        skipped = fence or bool(_HEADING_OR_TABLE.match(line))
        if lines and (skipped or bullet or not line.strip()):
            yield " ".join(lines)
            lines = []
        in_code ^= fence
        if not (skipped or in_code) and line.strip():
            lines.append(line[bullet.end() if bullet else 0 :].strip())


def _make_plain(statement: str) -> str:
    text = strip_citations(statement)[:RAW_LINE]
    text = _EMPHASIS.sub(r"\2", _MARKS.sub("", _LINK.sub(r"\1", text)))
    return shorten_text(" ".join(text.lstrip("> ").split()), LINE)
