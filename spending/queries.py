"""What model calls came to by day, person, model or whatever else, for those who pay. What one turn
or one conversation came to, `spending.totals` tells without the ORM. Writes nothing."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Expression,
    F,
    IntegerField,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Round

from spending.amounts import NANO
from spending.models import DECIMALS, ModelCall
from spending.spans import Span, begin_of

LOST = Q(state=ModelCall.State.LOST)

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Sums:
    """What calls came to, in US dollars and tokens. Of `calls` and `dollars`, `estimates` and
    `estimated_dollars` are of calls that were lost; `search_dollars` are the web searches'."""

    calls: int = 0
    estimates: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    output_tokens: int = 0
    web_searches: int = 0
    dollars: Decimal = Decimal(0)
    search_dollars: Decimal = Decimal(0)
    estimated_dollars: Decimal = Decimal(0)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    @property
    def read_tokens(self) -> int:
        """All that was sent, from a cache or not."""
        cached = self.cache_read_tokens + self.cache_write_tokens + self.cache_write_1h_tokens
        return self.input_tokens + cached

    @property
    def tokens(self) -> int:
        return self.read_tokens + self.output_tokens


NAMES = tuple(field.name for field in fields(Sums))
MONEY = ("dollars", "search_dollars", "estimated_dollars")


def _sum_money(column: str, condition: Q | None = None) -> Sum:
    """In billionths of a dollar: whole numbers, which SQLite too adds exactly."""
    return Sum(Cast(Round(F(column) * NANO), BigIntegerField()), filter=condition)


# By names that no column has, in the order of the fields of `Sums`.
SUMS: dict[str, Expression] = {
    "sum_calls": Count("pk"),
    "sum_estimates": Count("pk", filter=LOST),
    **{
        f"sum_{column}": Sum(column)
        for column in (
            "input_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "cache_write_1h_tokens",
            "output_tokens",
            "web_searches",
        )
    },
    "sum_dollars": _sum_money("cost"),
    "sum_search_dollars": _sum_money("search_cost"),
    "sum_estimated_dollars": _sum_money("cost", LOST),
}


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """What calls that are open may cost at most, in US dollars, and how many there are."""

    calls: int
    dollars: Decimal


def opened_in(span: Span) -> Q:
    return Q(opened_at__gte=begin_of(span.first), opened_at__lt=begin_of(span.end))


def find_calls(span: Span) -> QuerySet[ModelCall]:
    return ModelCall.objects.filter(opened_in(span))


def add_up(
    calls: QuerySet[ModelCall], *columns: str, periods: Sequence[date] = ()
) -> dict[tuple[Any, ...], Sums]:
    """The sums of the calls that have ended, by the values of `columns`, in one statement.

    `periods` are the days with which periods begin: then the first value is the first day of the
    period in which a call was opened. Calls before all of them are not for this.
    """
    ended = calls.exclude(state=ModelCall.State.OPEN).order_by()
    if periods:
        ended = ended.annotate(period=_find_period(periods))
        columns = ("period", *columns)
    rows = ended.values_list(*columns).annotate(**SUMS)
    found = {row[: len(columns)]: _read(row[len(columns) :]) for row in rows}
    if not periods:
        return found
    return {(periods[values[0]], *values[1:]): sums for values, sums in found.items()}


def add_up_all(calls: QuerySet[ModelCall]) -> Sums:
    """The sums of all the calls that have ended, in one statement."""
    found = calls.exclude(state=ModelCall.State.OPEN).order_by().aggregate(**SUMS)
    return _read([found[name] for name in SUMS])


def fold(found: Mapping[tuple[Any, ...], Sums], choose: Callable[..., Key]) -> dict[Key, Sums]:
    """The sums by what `choose` makes of the values that they belong to, the dearest first."""
    folded: dict[Key, Sums] = {}
    for values, sums in found.items():
        key = choose(*values)
        folded[key] = folded.get(key, Sums()) + sums
    return dict(sorted(folded.items(), key=lambda item: item[1].dollars, reverse=True))


def total(sums: Iterable[Sums]) -> Sums:
    return sum(sums, Sums())


def load_held() -> OpenCalls:
    found = ModelCall.objects.filter(state=ModelCall.State.OPEN).aggregate(
        calls=Count("pk"), units=_sum_money("bound")
    )
    return OpenCalls(found["calls"], _to_dollars(found["units"]))


def _find_period(periods: Sequence[date]) -> Case:
    """Compared with the days' bounds: functions that cut a time take SQLite far longer."""
    newest_first = sorted(enumerate(periods), key=lambda period: period[1], reverse=True)
    return Case(
        *(When(opened_at__gte=begin_of(day), then=Value(index)) for index, day in newest_first),
        output_field=IntegerField(),
    )


def _read(row: Sequence[Any]) -> Sums:
    numbers: dict[str, Any] = {name: number or 0 for name, number in zip(NAMES, row, strict=True)}
    return Sums(**numbers | {name: _to_dollars(numbers[name]) for name in MONEY})


def _to_dollars(units: int | None) -> Decimal:
    return Decimal(int(units or 0)).scaleb(-DECIMALS)
