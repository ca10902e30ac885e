"""Values that follow from what the messages say: sums, differences, multiples and shares of two or
three numbers of one unit. Where many numbers stand, any other would follow from some of them:
there nothing is computed."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, permutations

from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.spans import YEARS
from agent.audit.facts.tables import CURRENCIES
from agent.audit.facts.values import NO_NOUNS, Value, find_values
from agent.audit.facts.words import find_words, is_cjk

MOST_OPERANDS = 5  # numbers of one unit
# Of them, where two are taken; of times fewer, as most are multiples of five minutes.
MOST_OF_TWO, MOST_TIMES = 3, 2
MOST_FACTORS = 5  # small numbers that a value may be multiplied by
LARGEST_FACTOR = 100
LEAST_NOUN = 4  # letters that two forms of a noun share
COUNTED = 12  # up to which a number may be a numerator, as in "three quarters"
PERCENT = "%"
_DECIMALS = re.compile(r"\d[.,](\d{1,2})(?!\d)")
_SENTENCE_END = re.compile(r"[.!?…](?=\s|$)|[。！？।؟\n]")
_MONTHLY = re.compile(r"(?<![\d一二三四五六七八九十])月(?=\d)")  # 月9万円, not 5月
PRICES = frozenset(CURRENCIES.values())
_NOT_SHARED = ("time", PERCENT)  # units of which there are no shares
# Words for a period, by how many of it a year has.
_PERIODS = {
    1: """
year years yearly annual* annum jahr jahres* jährlich* an ans annuel* année année* año años anual*
ano anos anualmente год года году годовой ежегодн* سنة السنة سنوي سنويا السنوي السنوية العام साल
वर्ष सालाना वार्षिक
年间 年間 每年 毎年 一年 全年 年額 年费 年費
""",
    4: """
quarter quarters quarterly quartal quartals vierteljähr* trimest* квартал* ربع_سنوي तिमाही
季度 每季 四半期
""",
    12: """
month months monthly monat monate monats* monatlich* mois mensuel* mes meses mensual* mês mensal*
mensais месяц* ежемесячн* شهر الشهر شهري شهريا الشهري الشهرية महीना महीने महीनों मासिक माह
每月 毎月 月额 月額 一个月 个月 か月 ヶ月
""",
    52: """
week weeks weekly woche wochen* wöchentlich* semaine semaines hebdomadaire* semana semanas semanal*
недел* еженедельн* أسبوع الأسبوع أسبوعيا हफ़्ता हफ़्ते सप्ताह साप्ताहिक 每周 毎週 每星期 一周 週間
""",
}
# Words for a part, and what a number is divided by for it.
_PARTS = {
    (2.0,): "half hälfte halb* moitié mitad metade половин* نصف आधा आधे आधी 一半 半分 半数",
    (3.0, 1.5): "third thirds drittel tiers tercio* terço* трет* ثلث ثلثي तिहाई 三分之",
    (4.0, 4 / 3): "quarter quarters viertel quart quarts cuarto* quarto* четверт* ربع चौथाई 四分之",
}
EACH = Lexicon.parse("""
each apiece per person je jeder jede jeweils pro chacun chacune par cada por каждый каждому каждая
по لكل प्रति हर 每 各 ずつ あたり 当たり
""")
PARTS = tuple((divisors, Lexicon.parse(table)) for divisors, table in _PARTS.items())
PERIODS = tuple((times, Lexicon.parse(table)) for times, table in _PERIODS.items())


class Operands:
    """The numbers of a text by their units, its small counts, and the periods that it names."""

    def __init__(self, text: str, values: Sequence[Value]) -> None:
        self._numbers: dict[str, set[float]] = {}
        for value in values:
            # One of a unit: 1,150 may be read as 1.15 too. A time is not added to durations.
            timed = any(unit == "time" for unit, _ in value.readings)
            largest = {} if value.loose or timed else dict(sorted(value.readings))
            for unit, amount in largest.items():
                if unit or not (value.days or YEARS[0] <= amount <= YEARS[1]):
                    self._numbers.setdefault(unit, set()).add(amount)
        # Of two numbers only one may have its unit beside it: "40 hours before, 30 now".
        self._plain = {n for value in values if not value.loose for n in _read_plain(value)}
        plain_units = [v.is_bare for v in values if not v.loose and _read_plain(v)]
        self._is_one_bare = sorted(plain_units) == [False, True]
        own = [each for unit, each in self._numbers.items() if unit not in _NOT_SHARED]
        self._shares = [n for each in (*own, self._plain) for n in _list_shares(each)]
        self._nouns = {value.noun for value in values if value.noun} - NO_NOUNS
        bare = (value.amounts for value in values if value.is_bare)
        counted = ((v.amounts, v.noun) for v in values if v.is_bare and v.noun not in NO_NOUNS)
        self._counted = {n: noun for amounts, noun in counted for n in amounts if noun}
        self._small = {n for amounts in bare for n in amounts if n <= LARGEST_FACTOR}
        self._periods = _find_periods(text)
        words = find_words(text)
        self._pairs = list(_find_pairs(text, values))
        self._shares += [n for pair in self._pairs for n in _list_shares(pair)]
        measured = (v.amounts for v in values if not (v.is_bare or v.loose or v.days))
        self._measures = {n for amounts in measured for n in amounts}
        self._parts = [n for divisors, each in PARTS if each.find(words, text) for n in divisors]

    def has_unit(self, value: Value) -> bool:
        """Whether a number of its unit is among them, from which it may follow."""
        return any(unit and unit in self._numbers for unit, _ in value.readings)

    def gives_value(self, value: Value, statement: str, counted: Collection[float]) -> bool:
        """Whether a value follows, beside the other numbers and the periods of its statement;
        `counted` are the numbers of the same thing where it has no unit."""
        # Of two numbers in all it is clear which are meant, if they are not of two things.
        clear = len(self._plain) <= 2 and len(self._nouns) < 2
        bare = {*counted, *self._plain} if clear else counted
        numbers = {"": bare} if value.is_bare else self._numbers
        exact = _read_precision(value.text)
        pairs = [n for pair in self._pairs for n in _list_sums(sorted(pair), 2)]
        if value.is_bare and not value.amounts.isdisjoint(pairs):
            return True
        if value.is_bare and not value.amounts.isdisjoint(self._list_parts_of_counts()):
            return True
        for unit, amount in value.readings:
            shares = (*self._shares, *(100 / n for n in self._parts))
            if unit == PERCENT and any(abs(amount - n) <= exact for n in shares):
                return True
            if unit == "time" or not (own := sorted(numbers.get(unit, ()))):
                continue
            factors = self._list_factors(value, statement)
            if unit in PRICES and len(own) == 1 and len(self._measures) <= MOST_FACTORS:
                factors = [*factors, *(n for n in self._measures if n > 1 and n % 1 == 0)]
            most = MOST_TIMES if unit == "s" else MOST_OF_TWO
            found = (
                *_list_sums(own, most),
                *_list_multiples(own, factors),
                *(n / factor for n in own for factor in self._list_divisors(factors, statement)),
                *_list_parts(own, numbers),
            )
            scale = min([1.0, *(amount / n for n in value.amounts if n)])
            if any(abs(amount - each) <= exact * scale for each in found):
                return True
            # Of two numbers the other one may be without the unit: "82 kg now, 91 before".
            if self._is_one_bare and len(self._plain) == 2 and not self._nouns:
                sums = tuple(_list_sums(sorted(self._plain), most))
                if any(abs(n - each) <= exact for n in value.amounts for each in sums):
                    return True
        return False

    def _list_divisors(self, factors: Sequence[float], statement: str) -> Sequence[float]:
        """Those of some factors by which a number may be divided: counts of what the statement is
        about, as the sessions of "a session costs £26"."""
        lowered = statement.lower()
        if EACH.find(find_words(statement), statement):
            return factors
        others = {n for n, noun in self._counted.items() if noun[:LEAST_NOUN] not in lowered}
        return [n for n in factors if n not in others]

    def _list_parts_of_counts(self) -> Sequence[float]:
        """So large a part of a count as the text names, as in "1,200 of which a third"."""
        counts = [n for n in self._numbers.get("", ()) if n > COUNTED]
        return [n / part for n in counts[:MOST_OF_TWO] for part in self._parts]

    def _list_factors(self, value: Value, statement: str) -> Sequence[float]:
        """What a number may be multiplied by: counts that are said, if they are few, and how many
        of one period there are in another one."""
        others = [each for each in find_values(statement) if each.text != value.text]
        counts = self._small.union(*(each.amounts for each in others if not each.days))
        few = [n for n in counts if 1 < n <= LARGEST_FACTOR and n % 1 == 0]
        named = _find_periods(statement)
        ratios = {max(a, b) / min(a, b) for a in self._periods | named for b in named if a != b}
        return [*(few if len(few) <= MOST_FACTORS else []), *ratios, *self._parts]


def _find_pairs(text: str, values: Sequence[Value]) -> Iterator[frozenset[float]]:
    """The numbers of sentences that have two, and not of two things: it is clear which are meant,
    as in "80 orders last year, 120 now"."""
    sentences: dict[int, list[Value]] = {}
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    for value in values:
        if not value.loose and _read_plain(value):
            sentences.setdefault(bisect_left(ends, value.end), []).append(value)
    for each in sentences.values():
        units = {unit for value in each for unit, _ in value.readings if unit}
        # The word after a Chinese or Japanese number is a measure word first.
        nouns = {v.noun[:1] if is_cjk(v.noun) else v.noun for v in each if v.noun} - NO_NOUNS
        if len(each) == 2 and len(nouns) + len(units) < 2:
            yield frozenset(n for value in each for n in _read_plain(value))


def _find_periods(text: str) -> set[int]:
    """How many of each period that a text names a year has."""
    words = find_words(_MONTHLY.sub(" monthly ", text))
    return {times for times, lexicon in PERIODS if lexicon.find(words, text)}


def _read_precision(text: str) -> float:
    """Half of the last place that is written."""
    decimals = _DECIMALS.search(text)
    return 0.5 * 10.0 ** -(len(decimals[1]) if decimals else 0) + 1e-9


def _list_sums(own: Sequence[float], most: int) -> Iterator[float]:
    """The sum of all, and where at most so many are given, those of two and their differences."""
    if len(own) <= MOST_OPERANDS:
        yield sum(own)
    for one, other in combinations(own, 2) if len(own) <= most else ():
        yield from (one + other, other - one)


def _list_multiples(own: Sequence[float], factors: Sequence[float]) -> Iterator[float]:
    """So many times."""
    for amount in own[:MOST_OPERANDS]:
        for factor in factors:
            if factor != amount:  # it is the number itself
                yield amount * factor


def _read_plain(value: Value) -> Collection[float]:
    """The numbers of a value that may be a share of another: no date, time, year or share."""
    if value.days or any(unit in _NOT_SHARED for unit, _ in value.readings):
        return ()
    largest = max(value.amounts, default=0)
    return () if YEARS[0] <= largest <= YEARS[1] else (largest,)


def follows_from(value: Value, numbers: Sequence[Value]) -> bool:
    """Whether a value is the sum of a few numbers that have no other unit, or a sum, a difference
    or a share of two."""
    written = max(value.amounts, default=0)
    for unit, amount in value.readings:
        scale = amount / written if written else 1
        own = {n for each in numbers for n in _read_as(each, unit, scale)}
        if not 1 < len(own) <= MOST_OPERANDS:
            continue
        few = sorted(own)
        shares = (n for pair in combinations(few, 2) for n in _list_shares(pair))
        found = shares if unit == PERCENT else _list_sums(few, MOST_OPERANDS)
        if any(abs(amount - each) <= scale * _read_precision(value.text) for each in found):
            return True
    return False


def _read_as(value: Value, unit: str, scale: float) -> Collection[float]:
    """The amounts of a value in a unit, where it has it or none; all for a share. `scale`: of what
    unit a number without one is, as in "310 hectolitres, now 265"."""
    if unit == PERCENT or value.is_bare:
        return {scale * n for n in _read_plain(value)}
    return {amount for each, amount in value.readings if each == unit}


def _list_shares(own: Collection[float]) -> Iterator[float]:
    """Percentages that one of two numbers is of the other one, or is more or less than it."""
    for one, other in permutations(own) if len(own) == 2 else ():
        if other:
            yield from (100 * one / other, 100 * abs(one - other) / other)


def _list_parts(own: Sequence[float], numbers: Mapping[str, Collection[float]]) -> Iterator[float]:
    """So many percent of a number, and that more or less than it."""
    percent = numbers.get(PERCENT, ())
    for share in percent if len(percent) <= MOST_OF_TWO else ():
        for amount in own[:MOST_OF_TWO]:
            part = amount * share / 100
            yield from (part, amount + part, amount - part)
