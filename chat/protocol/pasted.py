"""Which parts of a message its author pasted: as the page sends them, and as they are stored.

The page counts UTF-16 units of the text that it sends, the database characters of the text that it
stores. None: unknown.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from agent.authorship.quoted import Range
from chat.errors import RefusalCode, Refused

MOST_RANGES = 200


def parse_pasted(value: Any) -> tuple[Range, ...] | None:
    """A frame's `pasted`, a list of [start, end] or nothing; Refused (`bad_frame`)."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > MOST_RANGES or not all(map(_is_range, value)):
        words = f"pasted must be a list of at most {MOST_RANGES} pairs [start, end]."
        raise Refused(RefusalCode.BAD_FRAME, words)
    return tuple((start, end) for start, end in value)


def parse_pasted_field(value: str) -> tuple[Range, ...] | None:
    """`parse_pasted` for a form's field; "" is nothing."""
    try:
        return parse_pasted(json.loads(value)) if value else None
    except (ValueError, RecursionError) as error:
        raise Refused(RefusalCode.BAD_FRAME, "pasted is not valid JSON.") from error


def convert_to_stored(sent: str, ranges: Sequence[Range] | None) -> list[list[int]] | None:
    """The parts in the text as it is stored, without the white space around it."""
    if ranges is None:
        return None
    wide = [at + before for before, at in enumerate(_wide(sent))]
    before, length = len(sent) - len(sent.lstrip()), len(sent.strip())

    def place(unit: int) -> int:
        return max(0, min(length, unit - bisect_left(wide, unit) - before))

    placed = ([place(start), place(end)] for start, end in sorted(ranges))
    return [each for each in placed if each[0] < each[1]]


def convert_to_units(text: str, ranges: Sequence[Range]) -> list[Range]:
    """Stored parts of a text as the page counts them."""
    wide = _wide(text)
    return [
        (start + bisect_left(wide, start), end + bisect_left(wide, end)) for start, end in ranges
    ]


def _wide(text: str) -> list[int]:
    """The places of characters that are two units."""
    if text.isascii():
        return []
    return [at for at, character in enumerate(text) if character > "\uffff"]


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(each, int) and not isinstance(each, bool) for each in value)
        and 0 <= value[0] <= value[1]
    )
