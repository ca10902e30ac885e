"""Markdown that is rendered piece by piece while it arrives."""

from collections.abc import Iterator
from dataclasses import dataclass

from chat.html.markdown import render_markdown
from chat.html.markdown_pieces import Cutter, Piece
from chat.html.render_budget import RenderBudget

# Microseconds (`Piece.weight`); what takes longer must not be rendered on an event loop.
LIGHT = 3_000


@dataclass(frozen=True, slots=True)
class RenderedPiece:
    """A finished piece. `through`: UTF-16 code units of the whole text that are now HTML."""

    through: int
    html: str


class MarkdownStream:
    """Cuts a growing text where a top-level block surely ends, and renders each piece once, in
    order. Its HTML is that of the whole text, except for link definitions and notes of other
    pieces: the final HTML, which replaces the pieces, has them right."""

    def __init__(self) -> None:
        self._cutter = Cutter()
        self._work = RenderBudget()
        self._through = 0

    def cut(self, text: str) -> Iterator[Piece]:
        """Take the next delta; give the pieces that are now finished, mostly none. Each wants to be
        rendered before the next is taken."""
        return self._cutter.feed(text)

    def render(self, piece: Piece) -> RenderedPiece:
        """The next piece as HTML."""
        self._through += utf16_length(piece.text)
        return RenderedPiece(self._through, render_markdown(piece.text, self._work))

    def feed(self, text: str) -> list[RenderedPiece]:
        """`cut` and `render` in one."""
        return [self.render(piece) for piece in self.cut(text)]


def is_light(piece: Piece) -> bool:
    """Whether rendering a piece takes no longer than handing it to a thread would."""
    return piece.weight <= LIGHT and len(piece.text) <= LIGHT


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as JavaScript counts."""
    if text.isascii():
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)
