"""When scheduled prompts are due, in zones whose clocks are moved."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.models import ScheduledPrompt
from chat.queries.recurrence import find_next

Repeat = ScheduledPrompt.Repeat
BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def list_times(
    repeat: Repeat, first: str, zone: str, after: str = "2020-01-01T00:00", number: int = 4
) -> list[str]:
    """The next ones after a moment in UTC, as `2026-03-29 03:00+02:00`."""
    begun = datetime.fromisoformat(first)
    prompt = ScheduledPrompt(
        repeat=repeat, first_date=begun.date(), time=begun.time(), time_zone=zone
    )
    found: list[str] = []
    at = datetime.fromisoformat(after).replace(tzinfo=UTC)
    while len(found) < number and (next_one := find_next(prompt, at)):
        at = next_one
        found.append(at.astimezone(ZoneInfo(zone)).isoformat(" ", "minutes"))
    return found


def test_a_time_that_the_zone_skips_is_the_next_that_it_has() -> None:
    assert list_times(Repeat.DAILY, "2026-03-28T02:30", BERLIN, number=3) == [
        "2026-03-28 02:30+01:00",
        "2026-03-29 03:00+02:00",
        "2026-03-30 02:30+02:00",
    ]
    assert list_times(Repeat.ONCE, "2026-03-08T02:10", NEW_YORK) == ["2026-03-08 03:00-04:00"]
    assert list_times(Repeat.ONCE, "2026-10-04T02:15", LORD_HOWE) == ["2026-10-04 02:30+11:00"]
    assert list_times(Repeat.ONCE, "2011-12-30T12:00", "Pacific/Apia", "2011-01-01T00:00") == [
        "2011-12-31 00:00+14:00"
    ]


def test_a_time_that_the_zone_has_twice_comes_once() -> None:
    assert list_times(Repeat.DAILY, "2026-10-24T02:30", BERLIN, number=3) == [
        "2026-10-24 02:30+02:00",
        "2026-10-25 02:30+02:00",
        "2026-10-26 02:30+01:00",
    ]
    assert list_times(Repeat.DAILY, "2026-10-31T01:30", NEW_YORK, number=3) == [
        "2026-10-31 01:30-04:00",
        "2026-11-01 01:30-04:00",
        "2026-11-02 01:30-05:00",
    ]
    assert list_times(Repeat.DAILY, "2026-04-04T01:45", LORD_HOWE, number=3) == [
        "2026-04-04 01:45+11:00",
        "2026-04-05 01:45+11:00",
        "2026-04-06 01:45+10:30",
    ]


def test_the_hour_stays_when_the_clocks_are_moved() -> None:
    found = list_times(Repeat.WEEKLY, "2026-03-23T09:00", BERLIN, number=3)
    assert [each[:16] for each in found] == [
        *("2026-03-23 09:00", "2026-03-30 09:00", "2026-04-06 09:00")
    ]


@pytest.mark.parametrize(
    ("first", "days"),
    [
        ("2026-01-31T08:00", ["01-31", "02-28", "03-31", "04-30", "05-31"]),
        ("2028-01-30T08:00", ["01-30", "02-29", "03-30", "04-30", "05-30"]),
        ("2026-01-28T08:00", ["01-28", "02-28", "03-28", "04-28", "05-28"]),
    ],
)
def test_a_month_that_is_too_short_has_its_last_day(first: str, days: list[str]) -> None:
    found = list_times(Repeat.MONTHLY, first, BERLIN, number=5)
    assert [each[5:10] for each in found] == days


def test_weekdays_are_those_of_the_zone() -> None:
    found = list_times(Repeat.WEEKDAYS, "2026-11-26T07:00", "Pacific/Auckland", number=4)
    assert [each[:10] for each in found] == [
        *("2026-11-26", "2026-11-27", "2026-11-30", "2026-12-01")
    ]


def test_one_that_is_over_has_no_next() -> None:
    assert not list_times(Repeat.ONCE, "2026-11-26T07:00", BERLIN, after="2026-11-26T06:00")


@given(
    st.sampled_from([*Repeat]),
    st.dates(date(2024, 1, 1), date(2028, 1, 1)),
    st.times().map(lambda each: each.replace(second=0, microsecond=0)),
    st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, "UTC", "Nowhere/At_All"]),
    st.timedeltas(timedelta(0), timedelta(days=900)),
)
def test_moments_only_ever_come_later(
    repeat: Repeat, first: date, at: time, zone: str, later: timedelta
) -> None:
    prompt = ScheduledPrompt(repeat=repeat, first_date=first, time=at, time_zone=zone)
    moments = [datetime.combine(first, at, UTC) - timedelta(days=2) + later]
    while len(moments) < 5 and (moment := find_next(prompt, moments[-1])):
        moments.append(moment)
    assert all(a < b for a, b in pairwise(moments))
    assert repeat == Repeat.ONCE or len(moments) == 5
