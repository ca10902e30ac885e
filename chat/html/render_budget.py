"""How much work one text may cause before the rest of it is shown plainly."""

from dataclasses import dataclass, field

from chat.html.markdown_pieces import Piece

# Of one text. A long answer (64,000 characters with headings, lists, tables and links) has less.
MOST_WEIGHT = 200_000  # microseconds, see `chat.html.markdown_pieces`
MOST_HIGHLIGHTED = 60_000  # characters of code
MOST_FORMULAS = 5_000  # characters: 50 ms
MAX_HIGHLIGHT = 20_000  # characters of one code block: mostly 60 ms


@dataclass
class RenderBudget:
    """How much work may still be done for one text: what exceeds it is shown plainly. Counted, not
    timed, so that a text looks the same while it is written, when it is done, and after a reload.

    `outline` are the levels of the headings that the text stands below; what comes after the text
    is rendered with the same.
    """

    outline: list[int] = field(default_factory=list)
    weight: float = MOST_WEIGHT
    highlighted: int = MOST_HIGHLIGHTED
    formulas: int = MOST_FORMULAS

    def spend_on_piece(self, piece: Piece) -> bool:
        """Spend what rendering a piece takes; False from the first one that does not fit."""
        self.weight = self.weight - piece.weight if piece.weight <= self.weight else -1
        return self.weight >= 0

    def spend_on_highlighting(self, code: str) -> bool:
        """Spend what highlighting takes; False where the code does not fit."""
        fits = len(code) <= min(MAX_HIGHLIGHT, self.highlighted)
        self.highlighted -= fits * len(code)
        return fits

    def spend_on_formula(self, formula: str) -> bool:
        """Spend what converting a formula takes; False where it does not fit."""
        fits = len(formula) <= self.formulas
        self.formulas -= fits * len(formula)
        return fits
