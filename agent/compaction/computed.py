"""Values that follow from what the messages say: sums, differences, multiples and shares of two or
three numbers of one unit. Where many numbers stand, any other would follow from some of them:
there nothing is computed."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, permutations

from agent.compaction.facts.values import Value

MOST_OPERANDS = 5  # numbers of one unit
MOST_SHARED = 3  # of them, where one is a share of another
MOST_FACTORS = 5  # small numbers that a value may be multiplied by, beside those of the calendar
LARGEST_FACTOR = 100
CALENDAR = (2.0, 4.0, 12.0, 52.0)  # halves, quarters, months and weeks of a year
PERCENT = "%"
_DECIMALS = re.compile(r"\d[.,](\d{1,2})(?!\d)")
_NOT_ADDED = ("time", PERCENT)  # what has no share of its own kind


def is_computed(value: Value, numbers: Mapping[str, Collection[float]], counts: set[float]) -> bool:
    """Whether a value follows from numbers by their unit ("" for none) and from small counts."""
    exact = _read_precision(value.text)
    factors = [n for n in counts if 1 < n <= LARGEST_FACTOR][: MOST_FACTORS + 1]
    factors = [*(factors if len(factors) <= MOST_FACTORS else []), *CALENDAR]
    for unit, amount in value.readings:
        if unit == PERCENT and any(
            abs(amount - share) <= exact for share in _list_shares(numbers)
        ):
            return True
        if unit == "time" or not (own := sorted(numbers.get(unit, ()))):
            continue
        scale = next((amount / n for n in value.amounts if n), 1.0)
        found = (*_list_sums(own), *_list_multiples(own, factors), *_list_parts(own, numbers))
        if any(abs(amount - each) <= exact * scale for each in found):
            return True
    return False


def _read_precision(text: str) -> float:
    """Half of the last place that is written."""
    decimals = _DECIMALS.search(text)
    return 0.5 * 10.0 ** -(len(decimals[1]) if decimals else 0) + 1e-9


def _list_sums(own: Sequence[float]) -> Iterator[float]:
    if len(own) <= MOST_OPERANDS:
        for one, other in combinations(own, 2):
            yield from (one + other, other - one)
        yield from map(sum, combinations(own, 3))


def _list_multiples(own: Sequence[float], factors: Sequence[float]) -> Iterator[float]:
    """So many times, and one of so many equal parts."""
    for amount in own[:MOST_OPERANDS]:
        for factor in factors:
            yield from (amount * factor, amount / factor)


def _list_shares(numbers: Mapping[str, Collection[float]]) -> Iterator[float]:
    """Percentages that one number is of another one, or is more or less than it."""
    for unit, own in numbers.items():
        if unit in _NOT_ADDED or not 2 <= len(own) <= MOST_SHARED:
            continue
        for one, other in permutations(own, 2):
            if other:
                yield from (100 * one / other, 100 * abs(one - other) / other)


def _list_parts(own: Sequence[float], numbers: Mapping[str, Collection[float]]) -> Iterator[float]:
    """So many percent of a number, and that more or less than it."""
    percent = numbers.get(PERCENT, ())
    for share in percent if len(percent) <= MOST_SHARED else ():
        for amount in own[:MOST_SHARED]:
            part = amount * share / 100
            yield from (part, amount + part, amount - part)
