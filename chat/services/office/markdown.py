"""What the readers write: blocks of Markdown, no more than may be sent."""

from collections.abc import Mapping, Sequence


class TooLong(Exception):
    """The text has more characters than may be sent."""


class Writer:
    """Blocks of a text of at most so many characters."""

    def __init__(self, most: int) -> None:
        self._blocks: list[str] = []
        self.room = most  # characters

    def write(self, block: str) -> None:
        """Add a block; one without words is left out. TooLong as soon as all is too long."""
        block = block.strip("\n").rstrip()
        if not block.strip():
            return
        self.room -= len(block) + 2
        if self.room < 0:
            raise TooLong
        self._blocks.append(block)

    def write_table(self, rows: Sequence[Mapping[int, str]]) -> None:
        """Add a table from rows of cells by their columns. Its first row is its head; columns that
        are empty throughout are left out."""
        columns = sorted({column for row in rows for column, cell in row.items() if cell.strip()})
        # Before it is made: few cells, far apart, make a large table.
        if 3 * len(rows) * len(columns) > self.room:
            raise TooLong
        lines = []
        for row in rows if columns else []:
            cells = (escape_cell(row.get(column, "")) for column in columns)
            lines.append(f"| {' | '.join(cells)} |")
        lines.insert(1, "|" + " --- |" * len(columns))
        self.write("\n".join(lines) if columns else "")

    @property
    def text(self) -> str:
        return "\n\n".join(self._blocks)


def escape_cell(text: str) -> str:
    """On one line, and without what would end the cell."""
    return " ".join(text.split()).replace("|", "\\|")
