"""Where a growing Markdown text can be cut, and what each piece costs to render.

Both depend on whole lines alone: a text that arrives in deltas is cut, and weighed, like one that
is there at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from chat.html.markdown_fences import MarkdownFence, is_markdown

# Containers (quotes, list markers, indentation) may stand before a fence.
_FENCE = re.compile(r"^((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}|~{3,})(.*)$")
_LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
# What inline and block rules stop at.
_MARKUP = re.compile(r"[$&*<>|\[\]\\_`~]|[-+.)][ \t]")
_TABLE_DELIMITER = re.compile(r"[ \t>]*[|:-][|: \t-]*")

# Microseconds of an idle core, measured for the worst kind of each.
_LINE, _MARK, _CHARACTER = 40, 14, 0.3
_FENCE_LINE, _CODE_LINE, _CODE_CHARACTER = 60, 2, 3
_LONG_CODE = 20_000  # characters of a block; longer code is not highlighted
_BLANK_LINE = 2
_CELL = 20
_ADDRESS, _FOREIGN_ADDRESS = 30, 300  # a name beyond ASCII is converted


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that ends where a top-level block surely does. `weight` is what rendering it
    costs at most, in microseconds, without highlighting and formulas."""

    text: str
    weight: float


class Cutter:
    """Cuts a growing text into pieces.

    A blank line ends what stands before it, except in a fence, a list or indented code; those end
    at the first later line that begins at the margin. Link definitions work only within a piece:
    the final HTML of the whole text has them right.
    """

    def __init__(self) -> None:
        self._line: list[str] = []  # the parts of the unfinished last line
        self._lines: list[str] = []  # the unfinished piece
        self._weight = 0.0
        self._fence: tuple[str, bool] | None = None  # the marker; whether it stands in a quote
        self._markdown: MarkdownFence | None = None  # the fence holds Markdown
        self._contained = False  # the fence stands in a quote or a list, which may end it
        self._highlighted = 0  # characters that may still be, in the open fence
        self._columns = 0  # of the table that may stand here
        self._held = False  # a list or indented code: a blank line does not end it
        self._blank = False  # the last line was blank

    def feed(self, text: str) -> Iterator[Piece]:
        """Take the next delta; give the pieces that are now finished, mostly none."""
        if "\n" not in text:
            self._line.append(text)
            return
        *lines, rest = text.split("\n")
        lines[0] = "".join(self._line) + lines[0]
        self._line = [rest]
        for line in lines:
            yield from self._take(line)

    def rest(self) -> Piece:
        """What has not been given yet."""
        line = "".join(self._line)
        weight = self._weight + self._weighed(line)
        return Piece("\n".join([*self._lines, line]), weight)

    def _take(self, line: str) -> Iterator[Piece]:
        """Take one whole line without its newline."""
        blank = not line or line.isspace()
        if self._fence and self._fence[1] and ">" not in line[:4]:
            self._fence = None  # the quote ended, and the fence with it
        if self._fence:
            self._weight += self._weighed(line)
            if self._ends_fence(line, self._fence[0]):
                quoted = self._fence[1]  # the quote may go on
                self._fence = None
                self._lines.append(line)
                self._blank = False
                if not (self._held or quoted):
                    yield self._finish()
                return
        elif blank:
            self._lines.append(line)
            self._weight += _BLANK_LINE + len(line) * _CHARACTER
            self._columns = 0
            first, self._blank = not self._blank, True
            if not self._held and first and len(self._lines) > 1:
                yield self._finish()
            return
        else:
            if self._held and self._blank and line[0] not in " \t" and not _LIST_ITEM.match(line):
                yield self._finish()
            self._weight += self._weighed(line)
            self._open(line)
        self._lines.append(line)
        self._blank = blank

    def _ends_fence(self, line: str, marker: str) -> bool:
        if not self._contained and line.startswith(("    ", "\t")):
            return False
        bare = line.lstrip(" \t>" if self._contained else " ").rstrip()
        if self._markdown:
            return self._markdown.read_line(bare)
        return len(bare) >= len(marker) and bare == marker[0] * len(bare)

    def _open(self, line: str) -> None:
        """Note what the line opens, if anything."""
        fence = _FENCE.match(line)
        if fence and not (fence[2][0] == "`" and "`" in fence[3]):
            self._fence = (fence[2], ">" in fence[1])
            self._contained = bool(fence[1].strip())
            self._markdown = MarkdownFence(fence[2]) if is_markdown(fence[3]) else None
            self._weight += _FENCE_LINE
            self._highlighted = _LONG_CODE
        elif "-" in line and _TABLE_DELIMITER.fullmatch(line):
            self._columns = max(self._columns, line.count("|") + 1)
        if _LIST_ITEM.match(line) or line.startswith(("    ", "\t")):
            self._held = True

    def _weighed(self, line: str) -> float:
        # What stands in a fence of Markdown that nothing ends may be Markdown itself.
        if self._fence and not self._contained and not (self._markdown and self._markdown.nested):
            counted = min(len(line), self._highlighted)
            self._highlighted -= counted
            return _CODE_LINE + counted * _CODE_CHARACTER + len(line) * _CHARACTER
        # A row of a table gets the cells that it lacks.
        marks = max(len(_MARKUP.findall(line)) * _MARK, self._columns * _CELL)
        address = _ADDRESS if line.isascii() else _FOREIGN_ADDRESS
        return _LINE + len(line) * _CHARACTER + marks + line.count("://") * address

    def _finish(self) -> Piece:
        piece = Piece("\n".join(self._lines) + "\n", self._weight)
        self._lines = []
        self._weight = 0.0
        self._columns = 0
        self._held = self._blank = False
        return piece


def split_pieces(text: str) -> Iterator[Piece]:
    """The pieces of a whole text: together they are the text."""
    cutter = Cutter()
    yield from cutter.feed(text)
    yield cutter.rest()
