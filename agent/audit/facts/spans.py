"""The time between two dates or two times of day."""

from collections.abc import Collection, Sequence
from datetime import date
from itertools import combinations

from agent.audit.facts.dates import Day

MOST = 60  # dates or times between which spans are looked for
DAY, MONTH, YEAR = 86_400.0, 30.44, 365.25  # seconds; days
YEARS = 1900, 2100  # whole numbers between them may be years


def is_between(times: Sequence[float], seconds: float) -> bool:
    """Whether so much lies between two times in minutes of the day, or over midnight."""
    minutes = seconds / 60
    gaps = (abs(a - b) for a, b in combinations(times[:MOST], 2))
    return any(minutes in (gap, DAY / 60 - gap) for gap in gaps)


def find_gaps(days: Collection[Day], numbers: Collection[float]) -> set[int]:
    """Days between any two dates, or any two numbers that may be years."""
    listed = sorted(days, key=str)[:MOST]
    years = {year for year, _, _ in listed if year} or {2000}
    known = [
        date(y, m, d)
        for year, m, d in listed
        for y in ([year] if year else years)
        if m and d and _exists(y, m, d)
    ]
    gaps = {abs((a - b).days) for a, b in combinations(known, 2)}
    written = sorted({int(n) for n in numbers if is_year(n)})
    return gaps | {round(abs(a - b) * YEAR) for a, b in combinations(written[:MOST], 2)}


def is_year(number: float) -> bool:
    """Whether a number may be one."""
    return YEARS[0] <= number <= YEARS[1] and number == int(number)


def spans(unit: str, amount: float, days: int) -> bool:
    """Whether so many seconds or months are about so many days; both ends may have been counted."""
    if not days:
        return False
    if unit == "month":
        return abs(days / MONTH - amount) <= (6 if amount % 12 == 0 else 0.6)
    return abs(amount / DAY - days) <= (3 if amount % (7 * DAY) == 0 and days >= 28 else 1)


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
