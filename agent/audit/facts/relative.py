"""Days that a text says by their distance from the day on which it was said: “tomorrow”, “on
Friday”, “in two weeks”, “on the 12th”. In the languages of `agent.audit.facts.tables`; spans
in any that `find_values` reads.

All readings are given: “Friday” is the last one, the next or the one after it. What is looked for
is a date, which is hardly ever one of them by accident.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from agent.audit.facts.dates import Day
from agent.audit.facts.tables import MONTHS
from agent.audit.facts.values import find_values

_DAY = 86_400  # seconds
_FURTHEST = 3_700  # days that a span may count
# An Arabic word may begin with "and", "in", "for"; Hindi vowels are no letters for Python.
_BEFORE, _AFTER = r"(?<!\w)[وفبل]?", r"(?![\w\u0900-\u0963])"

# In lower case. Where a phrase stands within another one, the longer one is read.
_DISTANCES = {
    "today|tonight|heute|aujourd'hui|ce soir|hoy|hoje|сегодня|اليوم|الليلة|आज": (0,),
    "今天|今日|今晚|今夜|今朝|本日|きょう": (0,),
    "tomorrow|morgen|demain|mañana|manana|amanhã|amanha|завтра|غدا|غدًا|غداً": (1,),
    "明天|明日|明晚|明早|明朝|あした|あす": (1,),
    "yesterday|last night|gestern|hier|ayer|anoche|ontem|вчера|أمس|امس|البارحة": (-1,),
    "昨天|昨日|昨晚|昨夜|きのう": (-1,),
    "कल": (1, -1),
    "day after tomorrow|übermorgen|après-demain|pasado mañana|pasado manana": (2,),
    "depois de amanhã|послезавтра": (2,),
    "بعد غد|بعد الغد|后天|後天|明后天|明後日|あさって": (2,),
    "day before yesterday|vorgestern|avant-hier|anteayer|antes de ayer|antier|anteontem": (-2,),
    "позавчера|أول أمس|أول من أمس|前天|一昨日|おととい": (-2,),
    "परसों": (2, -2),
    "大后天|大後天|しあさって": (3,),
    "大前天": (-3,),
}
# From Monday on: how the words for each begin. In Chinese 期 and 拜 end two words for "week".
_WEEKDAYS = (
    "monday|montag|lundi|lunes|segunda|понедельник|الاثنين|الإثنين|सोमवार|[周週]一|[期拜]一|月曜",
    "tuesday|dienstag|mardi|martes|terça|вторник|الثلاثاء|मंगलवार|[周週]二|[期拜]二|火曜",
    "wednesday|mittwoch|mercredi|miércoles|miercoles|quarta|сред[ауы]|الأربعاء|बुधवार|[周週]三|[期拜]三|水曜",
    "thursday|donnerstag|jeudi|jueves|quinta|четверг|الخميس|गुरुवार|बृहस्पतिवार|[周週]四|[期拜]四|木曜",
    "friday|freitag|vendredi|viernes|sexta|пятниц|الجمعة|शुक्रवार|[周週]五|[期拜]五|金曜",
    "saturday|samstag|sonnabend|samedi|sábado|sabado|суббот|السبت|शनिवार|[周週]六|[期拜]六|土曜"
    "|weekend|wochenende|week-end|fin de semana|fim de semana|выходны|सप्ताहांत|周末|週末",
    "sunday|sonntag|dimanche|domingo|воскресень|الأحد|रविवार|इतवार|[周週][日天]|[期拜][日天]|日曜"
    "|weekend|wochenende|week-end|fin de semana|fim de semana|выходны|सप्ताहांत|周末|週末",
)
_MONTHS = {
    0: "this month|diese[mnrs]? monat|ce mois|este mes|este mês|этом месяце|هذا الشهر|इस महीने"
    "|这个月|這個月|本月|今月",
    1: "next month|nächste[mnrs]? monat|kommende[mnrs]? monat|mois prochain|próximo mes"
    "|mes que viene|próximo mês|mês que vem|следующем месяце|الشهر القادم|الشهر المقبل|अगले महीने"
    "|下个月|下個月|来月",
    -1: "last month|letzte[mnrs]? monat|vergangene[mnrs]? monat|mois dernier|mes pasado|mês passado"
    "|прошлом месяце|الشهر الماضي|पिछले महीने|上个月|上個月|先月",
}
_YEARS = {
    1: "next year|nächste[mnrs]? jahr|kommende[mnrs]? jahr|année prochaine|an prochain|próximo año"
    "|año que viene|próximo ano|ano que vem|следующем году|العام القادم|العام المقبل"
    "|السنة القادمة|السنة المقبلة|अगले साल|明年|来年",
    -1: "last year|letzte[mnrs]? jahr|vergangene[mnrs]? jahr|année dernière|an dernier|año pasado"
    "|ano passado|прошлом году|العام الماضي|السنة الماضية|पिछले साल|去年|昨年",
}
_N = r"(\d{1,2})(?![\d.,:])"
_OF_MONTH = re.compile(
    r"(?<![\d.,/:-])(\d{1,2})(?:st|nd|rd|th|\. ?des monats|(?:-?го|-?е)? числа| तारीख)(?!\w)"
    rf"|(?<!\w)(?:am|zum) (\d{{1,2}})\.(?!\d)|(?<!\w)(?:le|el|dia|día|يوم) {_N}"
    r"|(?<![\d月年.,/-])(\d{1,2})[日号號](?![間间])"
)


def _compile(phrases: str, after: str = _AFTER) -> re.Pattern[str]:
    """Any of several phrases, the longest first; in scripts with spaces as words of their own."""
    each = sorted(phrases.split("|"), key=len, reverse=True)
    spaced = "|".join(phrase for phrase in each if not _CJK.match(phrase))
    others = [phrase for phrase in each if _CJK.match(phrase)]
    return re.compile("|".join([f"{_BEFORE}(?:{spaced}){after}", *others]))


_CJK = re.compile(r"[\[\u3040-\u9fff]")
_BY_PHRASE = {p: distances for row, distances in _DISTANCES.items() for p in row.split("|")}
_PHRASE = _compile("|".join(_BY_PHRASE))
_WEEKDAY = {number: _compile(names, after="") for number, names in enumerate(_WEEKDAYS)}
_IS_WEEKDAY = re.compile(f"(?:{'|'.join(_WEEKDAYS)})").match
_MONTH = {distance: _compile(phrases) for distance, phrases in _MONTHS.items()}
_YEAR = {distance: _compile(phrases) for distance, phrases in _YEARS.items()}


def find_meant_days(text: str, said_on: date) -> set[Day]:
    """The days that a text, which `clean` has gone over, says from the day on which it was said;
    where it says none, that day; where it names a month or a year, that without a day."""
    text = text.lower().replace("’", "'")
    days = {*_find_near(text, said_on), *_find_of_month(text, said_on)}
    days |= set(_find_spans(text, said_on))
    meant: set[Day] = {(day.year, day.month, day.day) for day in days or {said_on}}
    for distance in _list_named(text, _MONTH):
        first = _add_months(said_on.replace(day=1), distance)
        meant.add((first.year, first.month, None))
    return meant | {(said_on.year + n, None, None) for n in _list_named(text, _YEAR)}


def is_meant(day: Day, meant: Iterable[Day]) -> bool:
    """Whether one of the days is this one, of which only a part may be said."""
    return any(all(a is None or a == b for a, b in zip(day, each, strict=True)) for each in meant)


def _list_named(text: str, patterns: Mapping[int, re.Pattern[str]]) -> list[int]:
    return [number for number, pattern in patterns.items() if pattern.search(text)]


def _find_near(text: str, said_on: date) -> Iterator[date]:
    """Tomorrow and the like, and weekdays: the last one, today's, the next two."""
    for match in _PHRASE.finditer(text):
        phrase = match[0] if match[0] in _BY_PHRASE else match[0][1:]
        yield from (said_on + timedelta(days) for days in _BY_PHRASE[phrase])
    for weekday in _list_named(text, _WEEKDAY):
        ahead = (weekday - said_on.weekday()) % 7
        yield from (said_on + timedelta(ahead + 7 * weeks) for weeks in (-1, 0, 1))


def _find_of_month(text: str, said_on: date) -> Iterator[date]:
    """“The 12th”: of this month, of the one before or of the next."""
    for match in _OF_MONTH.finditer(text):
        number = int(next(filter(None, match.groups())))
        for distance in (-1, 0, 1):
            first = _add_months(said_on.replace(day=1), distance)
            if 0 < number <= monthrange(first.year, first.month)[1]:
                yield first.replace(day=number)


def _find_spans(text: str, said_on: date) -> Iterator[date]:
    """Three days, two weeks or a year from that day, before it and after it."""
    readings = {reading for value in find_values(text) for reading in value.readings}
    for unit, amount in readings:
        if unit == "s" and amount % _DAY == 0 and amount <= _FURTHEST * _DAY:
            yield from (said_on + timedelta(amount / _DAY * way) for way in (-1, 1))
        elif unit == "month" and amount % 1 == 0 and amount <= _FURTHEST / 30:
            yield from (_add_months(said_on, int(amount) * way) for way in (-1, 1))


def _add_months(day: date, months: int) -> date:
    """The same day of another month, or its last one."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def names_day(word: str) -> bool:
    """Whether a word in lower case names a day of the week or a month."""
    return word in MONTHS or _IS_WEEKDAY(word) is not None
