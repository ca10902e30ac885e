"""The values of a text: numbers with their units, dates and times, in whatever form they are
written. Each may have several readings; two values agree where a reading of both does."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent.audit.facts.dates import Dated, Day, find_cjk_dates, read_date, read_date_of
from agent.audit.facts.durations import (
    HOUR,
    MINUTE,
    add,
    are_one,
    find_parts_of_hours,
    read_fraction,
)
from agent.audit.facts.function_words import FUNCTION_WORDS
from agent.audit.facts.numerals import FIGURES, find_spelled, read_figures
from agent.audit.facts.tables import CURRENCIES, DUALS, MEASURES, PREFIXES, SCALES, UNITS
from agent.audit.facts.times_of_day import find_times, is_clock, read_hours
from agent.audit.facts.words import CJK, WORD, is_cjk

Reading = tuple[str, float]  # a unit, "" for none, and how many; a time is in minutes of the day

_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?(?![:\d])")
_HALF_DAY = re.compile(r" ?([ap])\.?m\b", re.I)
_HOUR = re.compile(r" ?(?:Uhr|uhr|बजे|[点點時时](?![間间]))(?: ?(\d{1,2})(?!\d)分?)?|h(\d{2})(?!\d)")
_UNIT = re.compile(
    rf"[ -]?(?:de |d['’])?([$€£¥₹₽₩₺%]|°[CF]\b|R\$|km/h|k?m[23]\b|{WORD.pattern}|[{CJK}]{{1,8}})"
)
_TWO_WORDS = re.compile(rf"[ -]({WORD.pattern}[.]? {WORD.pattern})")
_UNITS_OF_TWO = frozenset(word for word in [*UNITS, *CURRENCIES] if " " in word)
_WORD_AT = re.compile(rf"[ -]({WORD.pattern}|[{CJK}])")
_REST = re.compile(r"\d{1,4}(?![\d.,])")  # after 万
_HALF_YEAR = re.compile(
    r"(?<!\w)(?:полгода|halbe[sn] jahr|halbjahr|half a year|medio año|meio ano|نصف سنة)(?!\w)"
    r"|(?<![个個一二三四五六七八九\d])半年",
    re.I,
)
_ORDINAL = "第周週期拜月"  # after which one character is no number of days
_CJK_NOUN = re.compile("[^\u3040-\u309f]{1,2}")
_CURRENCY_BEFORE = re.compile(r"(US\$|R\$|[$€£¥₹₽₩₺]|Rs\.?|\b[A-Z]{3}|[a-zäé]+) ?$")
_CJK_UNITS = sorted(
    (w for w in [*UNITS, *CURRENCIES, *SCALES] if re.match(rf"[{CJK}]", w)), key=len, reverse=True
)


NOUN = 5  # letters of the word that a number counts
NO_NOUNS = {word[:NOUN] for word in FUNCTION_WORDS}
LONGEST_LABEL = 24  # characters
_LABEL = re.compile(rf"(?<!\w)({WORD.pattern})\.? ?[#№]?$")


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
        return (not self.days or bool(self.readings)) and all(not unit for unit, _ in self.readings)


def find_values(text: str) -> list[Value]:
    """The values of a text that `clean` has gone over, in order."""
    found: list[Value] = []
    end = 0
    for match in FIGURES.finditer(text):
        if match.start() >= end and (value := _read_at(text, match)):
            found.append(value)
            end = value.end
    phrases = sorted(_find_in_phrases(text), key=lambda value: value.start)
    for others in (found, _find_in_words(text)):
        starts = [value.start for value in phrases]
        if new := [value for value in others if not _overlaps(value, phrases, starts)]:
            phrases = sorted([*phrases, *new], key=lambda value: value.start)
    return _join_durations(text, phrases)


def _join_durations(text: str, values: list[Value]) -> list[Value]:
    """Hours and minutes that follow each other as one duration."""
    joined: list[Value] = []
    for value in values:
        last = joined[-1] if joined else None
        if last and are_one(text, last.end, value.start) and (sums := _add(last, value)):
            span = last.start, value.end
            readings = {("s", each) for each in sums}
            if any(unit == "time" for unit, _ in last.readings):  # à 6 h 15
                readings |= {("time", each / MINUTE) for each in sums}
            joined[-1] = Value(text[slice(*span)], *span, frozenset(readings), last.amounts)
        else:
            joined.append(value)
    return joined


def _add(last: Value, value: Value) -> frozenset[float]:
    """What two durations make in seconds, "2 h 30" too; nothing for other values."""
    if {unit for unit, _ in last.readings} - {"time"} != {"s"}:
        return frozenset()
    units = {unit for unit, _ in value.readings}
    own = [amount for unit, amount in last.readings if unit == "s"]
    hours = all(amount % HOUR == 0 for amount in own)
    minutes = hours and units == {""} and len(value.text) == 2 and value.text.isdigit()
    if not minutes and units != {"s"}:
        return frozenset()
    amounts = [amount * (MINUTE if minutes else 1) for _, amount in value.readings]
    return add(own, amounts)


def _find_in_phrases(text: str) -> Iterator[Value]:
    """Dates in characters, parts of an hour, and times in words."""
    for start, end, times in find_times(text):
        readings = frozenset(("time", n) for n in times)
        yield Value(text[start:end], start, end, readings, frozenset(n // 60 for n in times))
    for dated in find_cjk_dates(text):
        yield _make_date(text, dated)
    for start, end, minutes in find_parts_of_hours(text):
        yield Value(text[start:end], start, end, frozenset({("s", minutes * MINUTE)}))


def _overlaps(value: Value, found: list[Value], starts: list[int]) -> bool:
    """Whether it shares characters with one of the others, which are in order and apart."""
    before = bisect_left(starts, value.end) - 1
    return before >= 0 and found[before].end > value.start


def _find_in_words(text: str) -> Iterator[Value]:
    for each in find_spelled(text):
        if dated := read_date_of(text, each.start, each.end, each.amount):
            yield _make_date(text, dated)
        else:
            value = _with_unit(text, each.start, each.end, {each.amount}, loose=each.loose)
            counts = each.amount >= 2 and (not value.is_bare or value.noun[:1] in MEASURES)
            ordinal = text[max(0, each.start - 1) : each.start] in (*_ORDINAL, "")
            if each.loose and counts and not ordinal:  # 二日, but not 第二天
                value = replace(value, loose=False)
            yield value
    for match in _HALF_YEAR.finditer(text):
        span, six = match.span(), frozenset({6.0})
        yield Value(match[0], *span, frozenset({("month", 6.0)}), six)
    for word in DUALS:
        for match in re.finditer(rf"(?<!\w)(?:ال)?{word}(?!\w)", text) if word in text else ():
            unit, factor = UNITS[DUALS[word]]
            part, end = read_fraction(text, match.end())
            readings = frozenset({(unit, (2 + part) * factor)})
            yield Value(text[match.start() : end], match.start(), end, readings, frozenset({2.0}))


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
    dated = read_date(text, match)
    if dated is None:
        return None
    if not dated.perhaps:
        return _make_date(text, dated)
    number = _with_unit(text, match.start(), match.end(), read_figures(match[0]))
    if not number.is_bare:
        return None
    return replace(_make_date(text, dated), readings=number.readings, amounts=number.amounts)


def _make_date(text: str, dated: Dated) -> Value:
    amounts = frozenset(float(part) for day in dated.days for part in day if part)
    span = dated.start, dated.end
    return Value(text[slice(*span)], *span, amounts=amounts, days=dated.days)


def _read_time(text: str, match: re.Match[str]) -> Value | None:
    start = match.start()
    time = _TIME.match(text, start)
    end = time.end() if time else match.end()
    if not time and not (match[0].isdigit() and len(match[0]) <= 2):
        return None
    hours, minutes = (int(time[1]), int(time[2])) if time else (int(match[0]), 0)
    hour = None
    if half := _HALF_DAY.match(text, end):
        hours, end = hours % 12 + (12 if half[1] in "pP" else 0), half.end()
    elif hour := _HOUR.match(text, end):
        minutes, end = int(hour[1] or hour[2] or minutes), hour.end()
    elif not time:
        return None
    readings = {("time", float(60 * hours + minutes))}
    if hour and hour[2] or time:  # 1h45 and 1:45 may be a duration
        readings.add(("s", MINUTE * (60 * hours + minutes)))
    if not half and time:  # 8:30 may be said of the evening, and be minutes and seconds
        readings.add(("time", 60.0 * ((hours + 12) % 24) + minutes))
    return Value(text[start:end], start, end, frozenset(readings), frozenset({float(hours)}))


def _with_unit(
    text: str, start: int, end: int, amounts: set[float], *, loose: bool = False
) -> Value:
    """A number with the scale and the unit that stand beside it."""
    part, end = read_fraction(text, end)
    word, after = _look_up(text, end)
    if word in SCALES:
        amounts, end = {amount * SCALES[word] for amount in amounts}, after
        if is_cjk(word) and (rest := _REST.match(text, end)):  # 20万5000
            amounts, end = {amount + float(rest[0]) for amount in amounts}, rest.end()
        word, after = _look_up(text, end)
    begin, currencies = _read_currency_before(text, start)
    units = [(code, 1.0) for code in currencies]
    if not units and (units := _read_unit(word)):
        end = after
        behind, end = read_fraction(text, end)
        part += behind
    readings = {
        (unit, round((amount + part) * factor, 9))
        for amount in amounts
        for unit, factor in units or [("", 1.0)]
    }
    noun = "" if units else _read_noun(text, end)
    hour = not units and (_is_hour(text, end) or is_clock(text, start))
    if units == [("s", HOUR)] or hour:
        readings |= {("time", n) for n in read_hours(text, start, (n + part for n in amounts))}
    return Value(
        text[begin:end], begin, end, frozenset(readings), frozenset(amounts), (), noun, loose
    )


def _is_hour(text: str, end: int) -> bool:
    """Whether a number counts nothing that comes after it."""
    after = _WORD_AT.match(text, end)
    return after is None or re.split("['’]", after[1].lower())[0] in FUNCTION_WORDS


def _look_up(text: str, end: int) -> tuple[str, int]:
    """The longest word for a unit or a scale after some figures, and where it ends; of "US dollars"
    the second."""
    two = _TWO_WORDS.match(text, end)
    words = two[1].lower().replace(".", "") if two else ""
    if two and words in _UNITS_OF_TWO:
        return words, two.end()
    if two and (money := words.rsplit(None, 1)[-1]) in CURRENCIES and not _has_unit(words):
        return money, two.end()
    after = _UNIT.match(text, end)
    if not after:
        return "", end
    if is_cjk(after[1]):
        word = next((w for w in _CJK_UNITS if after[1].startswith(w)), "")
        return word, after.start(1) + len(word)
    return after[1].lower(), after.end()


def _has_unit(words: str) -> bool:
    first = words.split()[0]
    return first in UNITS or first in CURRENCIES or first in SCALES or first in FUNCTION_WORDS


def _read_unit(word: str) -> list[Reading]:
    """Those of a word: pounds are money, and a weight."""
    money = [(CURRENCIES[word], 1.0)] if word in CURRENCIES else []
    if word in UNITS:
        return [*money, UNITS[word]]
    for prefix, factor in PREFIXES.items():
        rest = word.removeprefix(prefix)
        if rest != word and rest in UNITS and len(rest) > 2:  # hectolitres, миллиграммов
            unit, amount = UNITS[rest]
            return [(unit, factor * amount)]
    return money


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
    if is_cjk(word):  # without the grammar after it
        return (_CJK_NOUN.match(word) or [word[:2]])[0]
    return word[:NOUN]


def read_label(text: str, value: Value) -> str:
    """The word before a number that counts nothing, whose number it may be: "article 7". "" for
    none."""
    if not value.is_bare or (value.noun and value.noun not in NO_NOUNS):
        return ""
    before = _LABEL.search(text, max(0, value.start - LONGEST_LABEL), value.start)
    word = before[1].lower() if before else ""
    return "" if word in FUNCTION_WORDS else word
