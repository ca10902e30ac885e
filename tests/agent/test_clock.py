"""When something was said, as models read it."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from agent.clock import (
    HOUR,
    Days,
    Told,
    choose_line,
    find_zone,
    format_local_moment,
    join_days,
    write_again,
    write_line,
)
from tests.agent.conversations import user

ZONES = ("Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata")


def seconds(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]


def told(zone: str, *moment: int) -> Told:
    return Told(seconds(*moment), zone)


@pytest.mark.parametrize(
    ("zone", "line"),
    [
        ("Europe/Berlin", "[Tuesday, 3 March 2026, 00:30, Europe/Berlin]"),
        ("America/Los_Angeles", "[Monday, 2 March 2026, 15:30, America/Los_Angeles]"),
        ("Asia/Kolkata", "[Tuesday, 3 March 2026, 05:00, Asia/Kolkata]"),
    ],
)
def test_the_line_tells_the_day_and_the_time_where_the_person_is(zone: str, line: str) -> None:
    assert choose_line(None, told(zone, 2026, 3, 2, 23, 30), None) == line


@pytest.mark.parametrize("zone", ZONES)
def test_within_an_hour_nothing_is_told_and_from_then_on_it_is(zone: str) -> None:
    before = told(zone, 2026, 3, 2, 8, 20)  # midnight in none of the zones
    assert not choose_line(before, Told(before.at + HOUR - 1, zone), before.at)
    assert choose_line(before, Told(before.at + HOUR, zone), before.at)


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        ("Europe/Berlin", (2026, 3, 2, 23, 0)),
        ("America/Los_Angeles", (2026, 3, 3, 8, 0)),
        ("Asia/Kolkata", (2026, 3, 2, 18, 30)),
    ],
)
def test_a_new_day_is_told_at_once(zone: str, midnight: tuple[int, ...]) -> None:
    at = seconds(*midnight)
    assert choose_line(Told(at - 60, zone), Told(at, zone), at - 60)
    assert not choose_line(Told(at, zone), Told(at + 60, zone), at)


def test_an_hour_is_an_hour_when_clocks_are_changed() -> None:
    """In Berlin, 02:00 is followed by 03:00 on 29 March, and by 02:00 again on 25 October."""
    spring, autumn = seconds(2026, 3, 29, 0, 50), seconds(2026, 10, 25, 0, 40)
    zone = "Europe/Berlin"
    assert not choose_line(Told(spring, zone), Told(spring + 1_200, zone), spring)
    line = choose_line(Told(autumn, zone), Told(autumn + HOUR, zone), autumn)
    assert line == "[Sunday, 25 October 2026, 02:40, Europe/Berlin]"
    assert write_line(Told(autumn, zone)) == line


def test_another_zone_is_told_at_once() -> None:
    before = told("Europe/Berlin", 2026, 3, 2, 9, 0)
    assert choose_line(before, Told(before.at + 60, "Asia/Tokyo"), before.at) == (
        "[Monday, 2 March 2026, 18:01, Asia/Tokyo]"
    )


def test_a_pause_that_no_line_shows_is_named() -> None:
    now = told("Europe/Berlin", 2026, 3, 2, 9, 0)
    assert choose_line(None, now, seconds(2025, 11, 20, 23, 33)) == (
        "[Monday, 2 March 2026, 10:00, Europe/Berlin; "
        "the message before is from Friday, 21 November 2025, 00:33]"
    )
    assert ";" not in choose_line(None, now, now.at - 60)
    assert ";" not in choose_line(Told(now.at - 9_000, now.zone), now, now.at - 8_000)


def test_what_is_asked_again_says_both_times() -> None:
    line = write_line(told("Europe/Berlin", 2026, 3, 2, 9, 0))
    again = write_again(line, told("Europe/Berlin", 2026, 3, 4, 7, 30))
    assert again == (
        "[Monday, 2 March 2026, 10:00, Europe/Berlin; "
        "asked again on Wednesday, 4 March 2026, 08:30]"
    )
    third = write_again(again, told("Asia/Tokyo", 2026, 3, 5, 1, 0))
    assert third == (
        "[Monday, 2 March 2026, 10:00, Europe/Berlin; "
        "asked again on Thursday, 5 March 2026, 10:00, Asia/Tokyo]"
    )


@pytest.mark.parametrize(
    "name",
    ["", "Mars/Olympus", "Europe", "../etc/passwd", "/etc/localtime", "+02:00", "a\0b", "x" * 70],
)
def test_what_is_no_zone_is_none(name: str) -> None:
    assert find_zone(name) is None
    assert format_local_moment(seconds(2026, 3, 2, 9, 0), name) == "Mon 2 Mar 2026 09:00"


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (date(2026, 5, 12), date(2026, 5, 12), "12 May 2026"),
        (date(2026, 5, 12), date(2026, 5, 14), "12–14 May 2026"),
        (date(2026, 4, 30), date(2026, 5, 2), "30 April – 2 May 2026"),
        (date(2025, 12, 31), date(2026, 1, 2), "31 December 2025 – 2 January 2026"),
        (date(2025, 5, 1), date(2026, 5, 1), "1 May 2025 – 1 May 2026"),
    ],
)
def test_days_in_words(first: date, last: date, words: str) -> None:
    assert str(Days(first, last)) == words


def test_days_of_messages_are_those_where_they_were_written() -> None:
    late = replace(user(1), at=seconds(2026, 3, 2, 23, 30), zone="Europe/Berlin")
    assert Days.of([user(2), late]) == Days(date(2026, 3, 3), date(2026, 3, 3))
    assert Days.of([replace(late, zone="")]) == Days(date(2026, 3, 2), date(2026, 3, 2))
    assert Days.of([user(2)]) is None


def test_days_of_parts_are_known_where_those_of_all_are() -> None:
    may, june = Days(date(2026, 5, 1), date(2026, 5, 9)), Days(date(2026, 6, 1), date(2026, 6, 2))
    assert join_days([june, may]) == Days(date(2026, 5, 1), date(2026, 6, 2))
    assert join_days([may, None]) is None
    assert join_days([]) is None
