"""Times of day in words: "half past seven", "halb acht", "下午三点半"; "at six" where nothing is
counted."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from agent.audit.facts.numerals import read_cjk
from agent.audit.facts.tables import CJK_DIGITS, NUMBERS
from agent.audit.facts.words import WORD

DAY, HALF_DAY = 1_440.0, 720.0  # minutes
_BEFORE = 12  # characters before a number
_AT = re.compile(
    r"(?<!\w)(?:at|by|until|till|from|um|bis|ab|gegen|à|dès|vers|a las?|às|в|к|до|الساعة) $", re.I
)
_LONGEST_DAY = 30  # characters before a number
_ON_A_DAY = re.compile(
    r"(?:(?<!\w)(?:today|tomorrow|yesterday|tonight|\w+day|heute|morgen|gestern|\w+tag|aujourd'hui|demain"
    r"|hier|hoy|mañana|ayer|hoje|amanhã|ontem|сегодня|завтра|вчера) (?:at|um|à|a las?|a la|às|в)"
    r"|الساعة) $",
    re.I,
)
# What is added to the hour that follows, in minutes.
_ADDED = {
    "half past": 30.0, "quarter past": 15.0, "quarter to": -15.0,
    "halb": -30.0, "viertel nach": 15.0, "viertel vor": -15.0,
}  # fmt: skip
_ONE = {"one": 1.0, "eins": 1.0}  # an article elsewhere
_PAST = re.compile(rf"\b({'|'.join(_ADDED)}) (\d{{1,2}}|{WORD.pattern})", re.I)
_NUMERAL = rf"\d{{1,2}}|[{''.join(CJK_DIGITS)}十]{{1,3}}"
_CJK = re.compile(
    rf"(上午|早上|下午|晚上|午前|午後)?(?<![\d.])({_NUMERAL})[点點時时](?![间間])(?:(半)|({_NUMERAL})分)?"
)
_EVENING = ("下午", "晚上", "午後")


class Time(NamedTuple):
    """A time where it stands, in minutes of the day; two where the half of the day is not said."""

    start: int
    end: int
    minutes: frozenset[float]


def find_times(text: str) -> Iterator[Time]:
    """Times in words, and those in Chinese and Japanese with the half of the day before them."""
    for match in _PAST.finditer(text):
        word = match[2].lower()
        past = float(word) if word.isdigit() else NUMBERS.get(word, _ONE.get(word, 0.0))
        if 1 <= past <= 12:
            minutes = past * 60 + _ADDED[match[1].lower()]
            yield Time(*match.span(), _in_both_halves([minutes]))
    for match in _CJK.finditer(text) if any(sign in text for sign in "点點時时") else ():
        hour, minute = _read(match[2]), 30.0 if match[3] else _read(match[4] or "0")
        if hour is None or minute is None or hour > 24:
            continue
        minutes = hour * 60 + minute
        if match[1]:
            minutes = minutes % HALF_DAY + (HALF_DAY if match[1] in _EVENING else 0)
        said = match[1] is not None or hour > 12
        yield Time(*match.span(), frozenset([minutes]) if said else _in_both_halves([minutes]))


def read_hours(text: str, start: int, hours: Iterable[float]) -> frozenset[float]:
    """The times that a number of hours at a place may be, as "at six"; none after other words."""
    whole = [hour * 60 for hour in hours if hour * 4 % 1 == 0 and hour <= 24]
    at = whole and _AT.search(text, max(0, start - _BEFORE), start)
    return _in_both_halves(whole) if at else frozenset()


def is_clock(text: str, start: int) -> bool:
    """Whether what stands before a number makes it an hour, whatever follows: "tomorrow at 10"."""
    return _ON_A_DAY.search(text, max(0, start - _LONGEST_DAY), start) is not None


def _read(numeral: str) -> float | None:
    return float(numeral) if numeral.isdigit() else read_cjk(numeral)


def _in_both_halves(minutes: Iterable[float]) -> frozenset[float]:
    return frozenset((n + half) % DAY for n in minutes for half in (0.0, HALF_DAY))
