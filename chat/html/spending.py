"""Spending as the usage page and the administration show it: lines of tables with bars, and a chart
of days."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeVar

from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from chat.html.budget_words import describe_amount, describe_spent
from chat.html.figures import format_money, format_tokens
from chat.html.moments import format_day
from spending.budgets import BudgetState
from spending.models import ModelCall, Period
from spending.queries import Sums, total
from spending.spans import Span, begin_of

KINDS: Mapping[str, str | Promise] = {
    ModelCall.Kind.ANSWER: gettext_lazy("Answers"),
    ModelCall.Kind.TOOL_ROUND: gettext_lazy("Answers, after tools"),
    ModelCall.Kind.SUMMARY: gettext_lazy("Summaries"),
    ModelCall.Kind.PREPARATION: gettext_lazy("Summaries, prepared"),
    ModelCall.Kind.CORRECTION: gettext_lazy("Summaries, corrected"),
    ModelCall.Kind.TITLE: gettext_lazy("Titles"),
    ModelCall.Kind.COUNT: gettext_lazy("Counting"),
    ModelCall.Kind.PROBE: gettext_lazy("Counting, by a short call"),
}
BAR = 100  # units of the SVG that the longest bar of a table is wide
STEP, HEIGHT = 10, 100  # units of the SVG: a day, and the chart
GAP = 2
LISTED = 20
NONE = "–"

Key = TypeVar("Key")
# Words, an address or "", and what the calls came to; and what makes the first two.
Row = tuple[str, str, Sums]
Namer = Callable[[Key], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: what it is of, where that leads, and how long its bar is."""

    name: str
    url: str
    calls: str
    read: str
    written: str
    spent: str
    bar: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the chart in the SVG's units; `estimated` is the upper part of its height."""

    words: str
    x: int
    y: float
    height: float
    estimated: float


# --- Amounts --------------------------------------------------------------------------------------


def format_spent(sums: Sums) -> str:
    """`$1.25`, or `≈ $1.25` where a part of it is an estimate."""
    money = format_money(sums.dollars)
    return f"≈ {money}" if sums.estimated_dollars else money


def name_month(month: Span) -> str:
    """`November 2026`"""
    return date_format(month.first, "F Y")


# --- Budgets --------------------------------------------------------------------------------------

_NAMES = {
    (False, Period.DAY): gettext_lazy("Your budget for today"),
    (False, Period.MONTH): gettext_lazy("Your budget for this month"),
    (True, Period.DAY): gettext_lazy("The site’s budget for today"),
    (True, Period.MONTH): gettext_lazy("The site’s budget for this month"),
}


@dataclass(frozen=True, slots=True)
class DescribedBudget:
    """A budget in words, and how much of it is spent and held, in per cent."""

    name: str
    spent: str
    held: str
    left: str
    resets_at: datetime
    share: int


def describe_budget(state: BudgetState) -> DescribedBudget:
    used = state.spent + state.held
    return DescribedBudget(
        str(_NAMES[state.user_id is None, state.period]),
        describe_spent(state),
        describe_amount(state.unit, state.held) if state.held else "",
        describe_amount(state.unit, state.left),
        state.resets_at,
        min(100, int(100 * used / state.limit)) if state.limit else 100,
    )


# --- Tables ---------------------------------------------------------------------------------------


def name_rows(
    pairs: Iterable[tuple[Key, Sums]],
    name: Namer[Key],
    *,
    most: int = LISTED,
) -> list[Row]:
    """A row for each of the first pairs and one for all others; `name` gives words and address."""
    pairs = list(pairs)
    rows = [(*name(key), sums) for key, sums in pairs[:most]]
    if others := pairs[most:]:
        words = gettext("{count} others").format(count=len(others))
        rows.append((words, "", total(sums for _, sums in others)))
    return rows


def name_kinds(by_kind: Mapping[str, Sums]) -> list[Row]:
    """The tokens of each kind of call, and the searches of the web apart from them."""
    rows = [(str(KINDS.get(kind, kind)), "", _without_searches(s)) for kind, s in by_kind.items()]
    searches = total(by_kind.values())
    if searches.web_searches:
        words = gettext("Web searches ({count:,})").format(count=searches.web_searches)
        rows.append((words, "", Sums(dollars=searches.search_dollars)))
    return sorted(rows, key=lambda row: row[2].dollars, reverse=True)


def make_lines(rows: Sequence[Row]) -> list[Line]:
    longest = max((sums.dollars for *_, sums in rows), default=Decimal(0)) or 1
    return [
        Line(
            name,
            url,
            f"{sums.calls:,}" if sums.calls else NONE,
            format_tokens(sums.read_tokens) if sums.calls else NONE,
            format_tokens(sums.output_tokens) if sums.calls else NONE,
            format_spent(sums),
            float(BAR * sums.dollars / longest),
        )
        for name, url, sums in rows
    ]


def _without_searches(sums: Sums) -> Sums:
    return sums + Sums(dollars=-sums.search_dollars, search_dollars=-sums.search_dollars)


# --- Days -----------------------------------------------------------------------------------------


def render_days(by_day: Mapping[date, Sums]) -> SafeString:
    """The chart, with the same as a table below it; "" where nothing was spent."""
    dearest = max((sums.dollars for sums in by_day.values()), default=Decimal(0))
    if not dearest:
        return SafeString("")
    top = _round_up(dearest)
    days = list(by_day)
    context = {
        "bars": [_make_bar(n, day, by_day[day], top) for n, day in enumerate(days)],
        "rows": [(_name(day), format_spent(sums)) for day, sums in by_day.items() if sums.calls],
        "first": _name(days[0]),
        "last": _name(days[-1]),
        "most": format_money(dearest),
        "scale": [format_money(top), format_money(top / 2)],
        "width": STEP * len(days),
        "height": HEIGHT,
        "bar_width": STEP - GAP,
    }
    return render_to_string("chat/usage/days.html", context)


def _make_bar(number: int, day: date, sums: Sums, top: Decimal) -> Bar:
    words = f"{_name(day)}: {format_spent(sums)}"
    height, estimated = HEIGHT * sums.dollars / top, HEIGHT * sums.estimated_dollars / top
    return Bar(
        words, STEP * number + GAP // 2, float(HEIGHT - height), float(height), float(estimated)
    )


def _round_up(dollars: Decimal) -> Decimal:
    """The next of 1, 2, 5, 10, 20, … or of their fractions: the top of a scale."""
    magnitude = Decimal(10) ** dollars.adjusted()
    return next(step * magnitude for step in (1, 2, 5, 10) if step * magnitude >= dollars)


def _name(day: date) -> str:
    return format_day(begin_of(day))
