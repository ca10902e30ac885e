"""When something was said, as models read it. Pure: moments are seconds of the clock, zones are
names of the IANA time zone database.

Days and months are English whatever the locale is: what was sent once is sent again byte for byte.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from agent.messages import AgentMessage

HOUR = 3_600.0  # seconds after which the time is told again
LONGEST_NAME = 64  # characters of a zone's name; the longest there is has 32
AGAIN = "; asked again on "
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Told(NamedTuple):
    """A moment that a model was told, and the zone it was told in."""

    at: float
    zone: str


class Days(NamedTuple):
    """The first and the last day of some messages, where each was said."""

    first: date
    last: date

    @classmethod
    def of(cls, messages: Iterable[AgentMessage]) -> "Days | None":
        """The days of those messages whose time is known."""
        days = {to_local(each.at, each.zone).date() for each in messages if each.at}
        return cls(min(days), max(days)) if days else None

    @classmethod
    def from_list(cls, data: Sequence[str] | None) -> "Days | None":
        """From two ISO dates."""
        return cls(*map(date.fromisoformat, data)) if data else None

    def __str__(self) -> str:
        """`12 May 2026`, `12–14 May 2026`, `30 April – 2 May 2026`."""
        (a, b), last = self, _day(self.last)
        if a == b:
            return last
        if (a.year, a.month) == (b.year, b.month):
            return f"{a.day}–{last}"
        return f"{_day(a) if a.year != b.year else _day(a)[:-5]} – {last}"


def join_days(parts: Iterable[Days | None]) -> Days | None:
    """The days of several parts together; None where those of one are unknown."""
    known = list(parts)
    days = [day for each in known if each for day in each]
    return Days(min(days), max(days)) if days and all(known) else None


@lru_cache(256)
def find_zone(name: str) -> tzinfo | None:
    """The zone of a name, which may be anybody's text; None: there is none."""
    if not name or len(name) > LONGEST_NAME:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # no name, an unknown one, a directory of them
        return None


def to_local(at: float, zone: str) -> datetime:
    """A moment where somebody was; in UTC where the zone is unknown."""
    return datetime.fromtimestamp(at, find_zone(zone) or UTC)


def is_worth_telling(before: Told | None, now: Told) -> bool:
    """Whether the time is to be told with a message: for the first time, after an hour, on another
    day or in another zone."""
    if before is None or now.zone != before.zone or now.at - before.at >= HOUR:
        return True
    return to_local(before.at, now.zone).date() != to_local(now.at, now.zone).date()


def choose_line(before: Told | None, now: Told, last: float | None) -> str:
    """What a request says before a new message, "" for nothing. `before`: the last time that it
    tells already; `last`: the moment of the message before, None for the first one."""
    if not is_worth_telling(before, now):
        return ""
    pause = ""
    if before is None and last is not None and now.at - last >= HOUR:
        pause = f"; the message before is from {_moment(Told(last, now.zone))}"
    return write_line(now, pause)


def write_line(now: Told, pause: str = "") -> str:
    """`[Tuesday, 24 November 2026, 14:05, Europe/Berlin]`"""
    return f"[{_moment(now)}, {now.zone}{pause}]"


def write_again(line: str, now: Told) -> str:
    """The line of a message that is asked once more, with the time of that."""
    said = line.removesuffix("]").partition(AGAIN)[0]
    where = "" if f", {now.zone}" in said else f", {now.zone}"
    return f"{said}{AGAIN}{_moment(now)}{where}]"


def _moment(told: Told) -> str:
    local = to_local(*told)
    return f"{WEEKDAYS[local.weekday()]}, {_day(local)}, {local:%H:%M}"


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def format_local_day(at: float, zone: str) -> str:
    """`Tue 24 Nov 2026`"""
    local = to_local(at, zone)
    return f"{WEEKDAYS[local.weekday()][:3]} {local.day} {MONTHS[local.month - 1][:3]} {local.year}"


def format_local_moment(at: float, zone: str) -> str:
    """`Tue 24 Nov 2026 14:05`"""
    return f"{format_local_day(at, zone)} {to_local(at, zone):%H:%M}"
