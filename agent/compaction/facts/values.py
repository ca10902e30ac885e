"""The values of a text: numbers with their units, dates and times, in whatever form they are
written. Each may have several readings; two values agree where a reading of both does."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from agent.compaction.facts.numerals import FIGURES, find_spelled, read_figures
from agent.compaction.facts.tables import CURRENCIES, DUALS, MONTHS, SCALES, UNITS
from agent.compaction.facts.words import CJK, WORD, is_cjk

Reading = tuple[str, float]  # a unit, "" for none, and how many; a time is in minutes of the day
Day = tuple[int | None, int | None, int | None]  # year, month, day, as far as they are said

AROUND = 30  # characters before and after figures that say what they are
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_SHORT = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\.?\d)")
_CJK_DATE = re.compile(
    r"(?:(\d{4})[年년])?\s?(?:(\d{1,2})[月월])?\s?(?:(\d{1,2})[日号號일](?![間间]))?"
)
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?(?![:\d])")
_WORD_AFTER = re.compile(
    rf"(?:\.|st\b|nd\b|rd\b|th\b|er\b|º|ª|-?го\b|-?е\b)?[ -]?(?:de |of |d['’])?({WORD.pattern})\.?"
)
_YEAR_AFTER = re.compile(r"(?:st|nd|rd|th)?,?[ -](?:de |del )?(\d{4})(?!\d)")
_WORD_BEFORE = re.compile(rf"({WORD.pattern})\.?[ -](?:de |the )?$")
_HALF_DAY = re.compile(r" ?([ap])\.?m\b", re.I)
_HOUR = re.compile(r" ?(?:Uhr|uhr|बजे|[点點時时](?![間间]))(?: ?(\d{1,2})(?!\d)分?)?|h(\d{2})(?!\d)")
_UNIT = re.compile(
    rf"[ -]?(?:de |d['’])?([$€£¥₹₽₩₺%]|°[CF]\b|R\$|km/h|{WORD.pattern}|[{CJK}]{{1,4}})"
)
_TWO_WORDS = re.compile(r" ((?:per|pour|por|en) \w+|في المئة)")
_CURRENCY_BEFORE = re.compile(r"(US\$|R\$|[$€£¥₹₽₩₺]|Rs\.?|\b[A-Z]{3}|[a-zäé]+) ?$")
_CJK_UNITS = sorted(
    (w for w in [*UNITS, *CURRENCIES, *SCALES] if re.match(rf"[{CJK}]", w)), key=len, reverse=True
)


@dataclass(frozen=True, slots=True)
class Value:
    """One value. `amounts` are its numbers without the unit; `noun` is the word after a number
    that has none; `loose`: it may be an article or a part of another word."""

    text: str
    start: int
    end: int
    readings: frozenset[Reading] = frozenset()
    amounts: frozenset[float] = frozenset()
    days: tuple[Day, ...] = ()
    noun: str = ""
    loose: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it is a number without a unit."""
        return not self.days and all(unit == "" for unit, _ in self.readings)


def find_values(text: str) -> list[Value]:
    """The values of a text that `clean` has gone over, in order."""
    found: list[Value] = []
    end = 0
    for match in FIGURES.finditer(text):
        if match.start() >= end and (value := _read_at(text, match)):
            found.append(value)
            end = value.end
    starts = [value.start for value in found]
    spelled = [value for value in _find_in_words(text) if not _overlaps(value, found, starts)]
    return sorted([*found, *spelled], key=lambda value: value.start) if spelled else found


def _overlaps(value: Value, found: list[Value], starts: list[int]) -> bool:
    """Whether it shares characters with one of the others, which are in order and apart."""
    before = bisect_left(starts, value.end) - 1
    return before >= 0 and found[before].end > value.start


def _find_in_words(text: str) -> Iterator[Value]:
    for each in find_spelled(text):
        yield _with_unit(text, each.start, each.end, {each.amount}, loose=each.loose)
    for word in DUALS:
        for match in re.finditer(rf"(?<!\w){word}(?!\w)", text) if word in text else ():
            unit, factor = UNITS[DUALS[word]]
            readings = frozenset({(unit, 2 * factor)})
            yield Value(match[0], *match.span(), readings, frozenset({2.0}))


def _read_at(text: str, match: re.Match[str]) -> Value | None:
    """What begins at some figures."""
    start = match.start()
    for reader in (_read_date, _read_time):
        if value := reader(text, match):
            return value
    figures = match[0]
    amounts = read_figures(figures)
    if not amounts:
        # A version, an address, or too long to be a number: equal if it is written alike.
        return Value(figures, start, match.end(), frozenset({(figures, 0)}))
    return _with_unit(text, start, match.end(), amounts)


def _read_date(text: str, match: re.Match[str]) -> Value | None:
    start = match.start()
    if iso := _ISO.match(text, start):
        year, month, day = map(int, iso.groups())
        return _dated(text, start, iso.end(), [(year, month, day)])
    if short := _SHORT.match(text, start):
        first, second, year = int(short[1]), int(short[3]), int(short[4])
        year += 2000 if year < 100 else 0
        return _dated(text, start, short.end(), [(year, second, first), (year, first, second)])
    asian = _CJK_DATE.match(text, start)
    if asian and asian.end() > match.end() and (asian[1] or asian[2]):
        parts = [int(part) if part else None for part in asian.groups()]
        return _dated(text, start, asian.end(), [(parts[0], parts[1], parts[2])])
    return _read_worded_date(text, match) if match[0].isdigit() else None


def _read_worded_date(text: str, match: re.Match[str]) -> Value | None:
    """3 December 2026, December 3, December 2026."""
    number, (start, end) = int(match[0]) if len(match[0]) <= 4 else 0, match.span()
    after = _WORD_AFTER.match(text, end) if len(match[0]) <= 2 else None
    if after and (month := MONTHS.get(after[1].lower())):
        year = _YEAR_AFTER.match(text, after.end())
        day = (int(year[1]) if year else None, month, number)
        return _dated(text, start, year.end() if year else after.end(), [day])
    apart = text[start - 1 : start] in " -\n"  # most numbers are not, and that is seen at once
    before = _WORD_BEFORE.search(text, max(0, start - AROUND), start) if apart else None
    if before and (month := MONTHS.get(before[1].lower())):
        if len(match[0]) == 4:
            return _dated(text, before.start(), end, [(number, month, None)])
        if len(match[0]) <= 2:
            year = _YEAR_AFTER.match(text, end)
            day = (int(year[1]) if year else None, month, number)
            return _dated(text, before.start(), year.end() if year else end, [day])
    return None


def _dated(text: str, start: int, end: int, days: list[Day]) -> Value | None:
    real = tuple(day for day in dict.fromkeys(days) if _is_real(day))
    amounts = frozenset(float(part) for day in real for part in day if part)
    return Value(text[start:end], start, end, amounts=amounts, days=real) if real else None


def _is_real(day: Day) -> bool:
    year, month, of_month = day
    try:
        date(year or 2000, month or 1, of_month or 1)
    except ValueError:
        return False
    return True


def _read_time(text: str, match: re.Match[str]) -> Value | None:
    start = match.start()
    time = _TIME.match(text, start)
    end = time.end() if time else match.end()
    if not time and not (match[0].isdigit() and len(match[0]) <= 2):
        return None
    hours, minutes = (int(time[1]), int(time[2])) if time else (int(match[0]), 0)
    if half := _HALF_DAY.match(text, end):
        hours, end = hours % 12 + (12 if half[1] in "pP" else 0), half.end()
    elif hour := _HOUR.match(text, end):
        minutes, end = int(hour[1] or hour[2] or minutes), hour.end()
    elif not time:
        return None
    readings = {("time", float(60 * hours + minutes))}
    if not half and time:  # 8:30 may be said of the evening, and be minutes and seconds
        readings.add(("time", 60.0 * ((hours + 12) % 24) + minutes))
    return Value(text[start:end], start, end, frozenset(readings), frozenset({float(hours)}))


def _with_unit(
    text: str, start: int, end: int, amounts: set[float], *, loose: bool = False
) -> Value:
    """A number with the scale and the unit that stand beside it."""
    word, after = _look_up(text, end)
    if word in SCALES:
        amounts, end = {amount * SCALES[word] for amount in amounts}, after
        word, after = _look_up(text, end)
    begin, currencies = _read_currency_before(text, start)
    units = [(code, 1.0) for code in currencies]
    if not units and (units := _read_unit(word)):
        end = after
    readings = {
        (unit, round(amount * factor, 9))
        for amount in amounts
        for unit, factor in units or [("", 1.0)]
    }
    noun = "" if units else _read_noun(text, end)
    return Value(
        text[begin:end], begin, end, frozenset(readings), frozenset(amounts), (), noun, loose
    )


def _look_up(text: str, end: int) -> tuple[str, int]:
    """The longest word for a unit or a scale after some figures, and where it ends."""
    if (two := _TWO_WORDS.match(text, end)) and two[1].lower() in UNITS:
        return two[1].lower(), two.end()
    after = _UNIT.match(text, end)
    if not after:
        return "", end
    if is_cjk(after[1]):
        word = next((w for w in _CJK_UNITS if after[1].startswith(w)), "")
        return word, after.start(1) + len(word)
    return after[1].lower(), after.end()


def _read_unit(word: str) -> list[Reading]:
    if word in CURRENCIES:
        return [(CURRENCIES[word], 1.0)]
    return [UNITS[word]] if word in UNITS else []


def _read_currency_before(text: str, start: int) -> tuple[int, list[str]]:
    before = _CURRENCY_BEFORE.search(text, max(0, start - 8), start)
    if not before:
        return start, []
    word = before[1].lower().rstrip(".")
    if word == "¥":
        return before.start(), ["JPY", "CNY"]
    return (before.start(), [CURRENCIES[word]]) if word in CURRENCIES else (start, [])


def _read_noun(text: str, end: int) -> str:
    """The beginning of the word after a number: what it counts."""
    after = _UNIT.match(text, end)
    word = after[1].lower() if after else ""
    return word[:2] if is_cjk(word) else word[:5]
