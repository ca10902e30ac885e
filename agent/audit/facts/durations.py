"""Durations of several parts: "1 h 45 min", "two hours and a half", "une demi-heure"."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# What is added to a number before it, in parts of its unit.
FRACTIONS = {
    phrase: part
    for part, phrases in {
        0.5: "and a half|et demi|et demie|y media|y medio|e meia|e meio|с половиной|ونصف"
        "|半|个半|個半",
        0.25: "and a quarter|et quart|y cuarto|e um quarto|с четвертью|وربع",
    }.items()
    for phrase in phrases.split("|")
}
# Parts of an hour that are said without a number, in minutes.
PARTS_OF_HOURS = {
    phrase: minutes
    for minutes, phrases in {
        45: "three quarters of an hour|three-quarters of an hour|dreiviertelstunde"
        "|trois quarts d'heure|trois quarts d’heure|tres cuartos de hora|três quartos de hora"
        "|पौन घंटा|पौने घंटे",
        30: "half an hour|half hour|half-hour|halbe stunde|halben stunde|demi-heure|media hora"
        "|meia hora|полчаса|نصف ساعة|आधा घंटा|आधे घंटे|半小时|半个小时|半小時|半時間",
        15: "quarter of an hour|viertelstunde|quart d'heure|quart d’heure|cuarto de hora"
        "|quarto de hora|четверть часа|ربع ساعة|पाव घंटा|一刻钟",
        90: "ساعة ونصف|hour and a half",
        75: "ساعة وربع",
    }.items()
    for phrase in phrases.split("|")
}

_FRACTION = re.compile(
    rf"[ -]?({'|'.join(sorted(FRACTIONS, key=len, reverse=True))})(?![^\W\d_\u3040-\u9fff])", re.I
)
# Not the end of "two and a half hours".
_PART = re.compile(
    rf"(?<![^\W_\u3040-\u9fff])(?<!\d )(?<!and a )(?<![个個\d一二两三四五六七八九十])"
    rf"(?:{'|'.join(sorted(map(re.escape, PARTS_OF_HOURS), key=len, reverse=True))})"
    r"(?![^\W_\u3040-\u9fff])"
)
_HOURS = tuple(dict.fromkeys(phrase.rsplit(None, 1)[-1] for phrase in PARTS_OF_HOURS))
_BETWEEN = re.compile(r"\.?\s*(?:,|and|und|et|y|e|и|و|और)?\s*", re.I)
MINUTE, HOUR = 60.0, 3_600.0  # seconds


class HourPart(NamedTuple):
    """A part of an hour where it stands."""

    start: int
    end: int
    minutes: float


def find_parts_of_hours(text: str) -> Iterator[HourPart]:
    lowered = text.lower()
    if any(hour in lowered for hour in _HOURS):
        for match in _PART.finditer(lowered) if len(lowered) == len(text) else ():
            yield HourPart(*match.span(), PARTS_OF_HOURS[match[0]])


def read_fraction(text: str, end: int) -> tuple[float, int]:
    """The half or quarter that is added to what ends there, 0 for none, and where that ends."""
    match = _FRACTION.match(text, end)
    return (FRACTIONS[match[1].lower()], match.end()) if match else (0.0, end)


def are_one(text: str, end: int, start: int) -> bool:
    """Whether what ends and what starts there may be parts of one duration."""
    return start - end <= 6 and _BETWEEN.fullmatch(text, end, start) is not None


def add(one: Sequence[float], other: Sequence[float]) -> frozenset[float]:
    """What two neighbouring durations may make together, in seconds: a smaller unit follows."""
    return frozenset(round(a + b, 9) for a in one for b in other if a > b and b >= 1)
