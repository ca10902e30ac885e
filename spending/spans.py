"""Days and months by the site's clock, for which spending is added up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.utils import timezone

DAY = timedelta(days=1)
YEARS = range(2000, 9999)  # that somebody may type

LAST_DAYS = ("1", "7", "30")
_DAY = re.compile(r"([0-9]{4})-[0-9]{2}-[0-9]{2}")
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days: from `first` up to the day before `end`."""

    first: date
    end: date

    @property
    def last(self) -> date:
        return self.end - DAY

    @property
    def key(self) -> str:
        """The month that begins it, as `read_month` takes it."""
        return f"{self.first:%Y-%m}"

    @property
    def days(self) -> Sequence[date]:
        return [self.first + number * DAY for number in range((self.end - self.first).days)]


def begin_of(day: date) -> datetime:
    """The midnight with which a day begins."""
    return datetime.combine(day, time.min, timezone.get_default_timezone())


def last_days(count: int) -> Span:
    """So many days, today included."""
    today = timezone.localdate()
    return Span(today - (count - 1) * DAY, today + DAY)


def day_of(day: date) -> Span:
    return Span(day, day + DAY)


def month_of(day: date) -> Span:
    first = day.replace(day=1)
    return Span(first, (first + 31 * DAY).replace(day=1))


def last_months(count: int) -> list[Span]:
    """So many months, this one first."""
    months = [month_of(timezone.localdate())]
    while len(months) < count:
        months.append(month_of(months[-1].first - DAY))
    return months


def read_month(text: str) -> Span | None:
    """The month that is written as `2026-11`; None where the text is no such month."""
    found = _MONTH.fullmatch(text)
    if not found or int(found[1]) not in YEARS:
        return None
    return month_of(date(int(found[1]), int(found[2]), 1))


def read_span(text: str) -> Span | None:
    """The last days by their number, a month (`2026-11`) or a day (`2026-11-26`); None where the
    text is none of these."""
    if text in LAST_DAYS:
        return last_days(int(text))
    return read_month(text) or _read_day(text)


def _read_day(text: str) -> Span | None:
    found = _DAY.fullmatch(text)
    if not found or int(found[1]) not in YEARS:
        return None
    try:
        return day_of(date.fromisoformat(text))
    except ValueError:  # 31 November
        return None
