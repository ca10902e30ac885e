"""Markdown that is rendered piece by piece while it arrives."""

import re
from dataclasses import dataclass

from chat.markdown import render

# Containers (quotes, list markers, indentation) may stand before a fence.
_FENCE = re.compile(r"^((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}|~{3,})(.*)$")
_LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """A finished piece. `through`: UTF-16 code units of the whole text that are now HTML."""

    through: int
    html: str


class MarkdownStream:
    """Cuts a growing text where a top-level block surely ends, and renders each piece once.

    It looks only at whole lines, so the cuts do not depend on how the text was split into deltas.
    A blank line ends what stands before it, except in a fence, a list or indented code; those end
    at the first later line that begins at the margin. Link definitions work only within a piece:
    the final HTML of the whole text, which replaces the pieces, has them right.
    """

    def __init__(self) -> None:
        self._line: list[str] = []  # the parts of the unfinished last line
        self._lines: list[str] = []  # the unfinished piece
        self._outline: list[int] = []  # of the headings so far
        self._through = 0
        self._fence: tuple[str, bool] | None = None  # the marker; whether it stands in a quote
        self._held = False  # a list or indented code: a blank line does not end it
        self._blank = False  # the last line was blank

    def feed(self, text: str) -> list[Block]:
        """Take the next delta; give the pieces that are now finished, mostly none."""
        if "\n" not in text:
            self._line.append(text)
            return []
        *lines, rest = text.split("\n")
        lines[0] = "".join(self._line) + lines[0]
        self._line = [rest]
        return [block for line in lines for block in self._take(line)]

    def _take(self, line: str) -> list[Block]:
        """Take one whole line without its newline."""
        done = []
        blank = not line or line.isspace()
        if self._fence and self._fence[1] and ">" not in line[:4]:
            self._fence = None  # the quote ended, and the fence with it
        if self._fence:
            marker = self._fence[0]
            bare = line.lstrip(" \t>").rstrip()
            if len(bare) >= len(marker) and bare == marker[0] * len(bare):
                self._fence = None
                self._lines.append(line)
                self._blank = False
                return [] if self._held else [self._finish()]
        elif blank:
            self._lines.append(line)
            self._blank = True
            return [] if self._held or len(self._lines) == 1 else [self._finish()]
        else:
            if self._held and self._blank and line[0] not in " \t" and not _LIST_ITEM.match(line):
                done.append(self._finish())
            self._open(line)
        self._lines.append(line)
        self._blank = blank
        return done

    def _open(self, line: str) -> None:
        """Note what the line opens, if anything."""
        fence = _FENCE.match(line)
        if fence and not (fence[2][0] == "`" and "`" in fence[3]):
            self._fence = (fence[2], ">" in fence[1])
        if _LIST_ITEM.match(line) or line.startswith(("    ", "\t")):
            self._held = True

    def _finish(self) -> Block:
        source = "\n".join(self._lines) + "\n"
        self._lines = []
        self._held = self._blank = False
        self._through += utf16_length(source)
        return Block(self._through, render(source, self._outline))


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts."""
    if text.isascii():
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)
