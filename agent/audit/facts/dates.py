"""Dates, in whatever form they are written."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from agent.audit.facts.numerals import read_cjk
from agent.audit.facts.tables import CJK_DIGITS, MONTHS
from agent.audit.facts.words import WORD

Day = tuple[int | None, int | None, int | None]  # year, month, day, as far as they are said

AROUND = 30  # characters before and after figures that say what they are
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_SHORT = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\.?\d)")
# 05.10. or 5.10. or 05.10 or 05/10: without a year it may as well be a number.
_NO_YEAR = re.compile(r"(\d{1,2})\.(\d{1,2})\.(?!\d)|(\d\d)([./])(\d\d)(?![.,/]?\d)")
_CJK_DATE = re.compile(
    r"(?:(\d{4})[年년])?\s?(?:(\d{1,2})[月월])?\s?(?:(\d{1,2})[日号號일](?![间間]))?"
)
_DIGIT = f"[{''.join(CJK_DIGITS)}十]"
_CJK_WORDED = re.compile(
    rf"(?:({_DIGIT}{{4}})年)?(?<!{_DIGIT})({_DIGIT}{{1,3}})月(?:({_DIGIT}{{1,3}})[日号號](?![间間]))?"
)
_WORD_AFTER = re.compile(
    rf"(?:\.|st\b|nd\b|rd\b|th\b|er\b|º|ª|-?го\b|-?е\b)?[ -]?(?:de |of |d['’])?({WORD.pattern})\.?"
)
_YEAR_AFTER = re.compile(r"(?:st|nd|rd|th)?,?[ -](?:de |del )?(\d{4})(?!\d)")
_WORD_BEFORE = re.compile(rf"({WORD.pattern})\.?[ -](?:de |the )?$")


class Dated(NamedTuple):
    """A date and where it stands; several days where the order of its parts is not known.
    `perhaps`: it may be a number."""

    start: int
    end: int
    days: tuple[Day, ...]
    perhaps: bool = False


def read_date(text: str, match: re.Match[str]) -> Dated | None:
    """The date that begins at some figures, or that they are a part of."""
    start = match.start()
    if iso := _ISO.match(text, start):
        year, month, day = map(int, iso.groups())
        return _make(start, iso.end(), [(year, month, day)])
    if short := _SHORT.match(text, start):
        first, second, year = int(short[1]), int(short[3]), int(short[4])
        year += 2000 if year < 100 else 0
        return _make(start, short.end(), [(year, second, first), (year, first, second)])
    asian = _CJK_DATE.match(text, start)
    if asian and asian.end() > match.end() and (asian[1] or asian[2]):
        parts = [int(part) if part else None for part in asian.groups()]
        return _make(start, asian.end(), [(parts[0], parts[1], parts[2])])
    if match[0].isdigit() and (worded := _read_worded(text, match)):
        return worded
    return _read_without_year(text, start)


def _read_without_year(text: str, start: int) -> Dated | None:
    short = _NO_YEAR.match(text, start)
    if not short:
        return None
    first, second = (int(short[1] or short[3]), int(short[2] or short[5]))
    found = _make(start, short.end(), [(None, second, first), (None, first, second)])
    return found._replace(perhaps=True) if found else None


def find_cjk_dates(text: str) -> Iterator[Dated]:
    """Dates whose numbers are written in characters."""
    for match in _CJK_WORDED.finditer(text) if "月" in text else ():
        year, month, day = (int(read_cjk(part) or 0) if part else None for part in match.groups())
        if found := _make(*match.span(), [(year, month, day)]):
            yield found


def _read_worded(text: str, match: re.Match[str]) -> Dated | None:
    """3 December 2026, December 3, December 2026."""
    number, (start, end) = int(match[0]) if len(match[0]) <= 4 else 0, match.span()
    if len(match[0]) <= 2 and (dated := read_date_of(text, start, end, number)):
        return dated
    apart = text[start - 1 : start] in " -\n"  # most numbers are not, and that is seen at once
    before = _WORD_BEFORE.search(text, max(0, start - AROUND), start) if apart else None
    if before and (month := MONTHS.get(before[1].lower())):
        if len(match[0]) == 4:
            return _make(before.start(), end, [(number, month, None)])
        if len(match[0]) <= 2:
            year = _YEAR_AFTER.match(text, end)
            day = (int(year[1]) if year else None, month, number)
            return _make(before.start(), year.end() if year else end, [day])
    return None


def agree(day: Day, other: Day) -> bool:
    """Whether two dates may be the same one: what both say is equal, and both say the month."""
    pairs = [(a, b) for a, b in zip(day, other, strict=True) if a and b]
    return bool(day[1] and other[1]) and all(a == b for a, b in pairs)


def read_date_of(text: str, start: int, end: int, number: float) -> Dated | None:
    """The date where a month follows a number, in figures or in words."""
    after = _WORD_AFTER.match(text, end) if number % 1 == 0 else None
    month = MONTHS.get(after[1].lower()) if after else None
    if not after or not month:
        return None
    year = _YEAR_AFTER.match(text, after.end())
    day = (int(year[1]) if year else None, month, int(number))
    return _make(start, year.end() if year else after.end(), [day])


def _make(start: int, end: int, days: list[Day]) -> Dated | None:
    real = tuple(day for day in dict.fromkeys(days) if _is_real(day))
    return Dated(start, end, real) if real else None


def _is_real(day: Day) -> bool:
    year, month, of_month = day
    try:
        date(year or 2000, 1 if month is None else month, 1 if of_month is None else of_month)
    except ValueError:
        return False
    return True
