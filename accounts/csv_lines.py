"""Lines of CSV files, which people open in a spreadsheet."""

import csv
from collections.abc import Iterable
from decimal import Decimal
from io import StringIO

# With these a cell begins that a spreadsheet may run as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_csv_line(values: Iterable[object]) -> str:
    """Amounts with all their digits, never as `1E-9`; text so that no spreadsheet runs it."""
    line = StringIO()
    csv.writer(line).writerow([_make_cell(value) for value in values])
    return line.getvalue()


def _make_cell(value: object) -> object:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value
