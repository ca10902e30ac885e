"""What calls come to: sums of exact amounts, by day, person, model and kind."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from spending.models import ModelCall
from spending.queries import Sums, add_up, find_calls, fold, load_held, total
from spending.spans import Span, begin_of, last_days, last_months, month_of, read_month, read_span
from tests.chat.factories import make_user
from tests.spending.factories import make_call

pytestmark = [pytest.mark.django_db, pytest.mark.on_both]

KINDS = ModelCall.Kind
STATES = ModelCall.State


@pytest.fixture
def noon() -> datetime:
    """Of today, by the site's clock."""
    return timezone.localtime().replace(hour=12)


def test_amounts_add_up_to_the_last_digit() -> None:
    for _ in range(10):
        make_call("0.100000001")  # a float's sum of ten of them is another
    make_call("123456.789012345")
    (sums,) = add_up(ModelCall.objects.all(), "model").values()
    assert sums.dollars == Decimal("123457.789012355")


def test_sums_are_by_the_columns_that_are_asked_for_in_one_statement() -> None:
    ada, ben = make_user(), make_user()
    make_call("1", user=ada)
    make_call("2", user=ada, kind=KINDS.TITLE)
    make_call("4", user=ben)
    make_call("8")
    with CaptureQueriesContext(connection) as captured:
        found = add_up(ModelCall.objects.all(), "user", "kind")
    assert len(captured) == 1
    assert {values: sums.dollars for values, sums in found.items()} == {
        (ada.pk, "answer"): 1,
        (ada.pk, "title"): 2,
        (ben.pk, "answer"): 4,
        (None, "answer"): 8,
    }
    by_person = fold(found, lambda user, kind: user)
    assert [(user, sums.dollars) for user, sums in by_person.items()] == [
        (None, 8),
        (ben.pk, 4),
        (ada.pk, 3),
    ]
    assert total(found.values()).calls == 4


def test_open_calls_are_held_and_not_spent() -> None:
    make_call("1")
    make_call("0", state=STATES.OPEN, bound=Decimal("0.8"))
    make_call("0", state=STATES.OPEN, bound=Decimal("0.1"))
    assert total(add_up(ModelCall.objects.all(), "model").values()).calls == 1
    held = load_held()
    assert (held.calls, held.dollars) == (2, Decimal("0.9"))


def test_what_was_lost_is_counted_and_told_as_an_estimate() -> None:
    make_call("1")
    make_call("2", state=STATES.LOST)
    (sums,) = add_up(ModelCall.objects.all(), "model").values()
    assert (sums.calls, sums.estimates) == (2, 1)
    assert (sums.dollars, sums.estimated_dollars) == (3, 2)


def test_searches_of_the_web_are_told_apart() -> None:
    make_call("0.35", web_searches=3, search_cost=Decimal("0.03"))
    (sums,) = add_up(ModelCall.objects.all(), "model").values()
    assert (sums.web_searches, sums.search_dollars, sums.dollars - sums.search_dollars) == (
        3,
        Decimal("0.03"),
        Decimal("0.32"),
    )


def test_all_that_was_sent_is_read_from_a_cache_or_not() -> None:
    make_call(
        input_tokens=1, cache_read_tokens=20, cache_write_tokens=300, cache_write_1h_tokens=4_000
    )
    (sums,) = add_up(ModelCall.objects.all(), "model").values()
    assert sums.read_tokens == 4_321


def test_a_call_belongs_to_the_day_on_which_it_was_opened(noon: datetime) -> None:
    span = last_days(7)
    for days, dollars in (0, "1"), (6, "2"), (7, "4"), (-1, "8"):
        make_call(dollars, opened_at=noon - timedelta(days=days))
    make_call("16", opened_at=begin_of(span.days[3]))
    make_call("32", opened_at=begin_of(span.days[3]) - timedelta(microseconds=1))
    found = add_up(find_calls(span), periods=span.days)
    assert {day: sums.dollars for (day,), sums in found.items()} == {
        span.days[0]: 2,
        span.days[2]: 32,
        span.days[3]: 16,
        span.days[6]: 1,
    }


def test_periods_may_be_months() -> None:
    this, last, before = last_months(3)
    make_call("1", opened_at=begin_of(this.first))
    make_call("2", opened_at=begin_of(last.last))
    make_call("4", opened_at=begin_of(before.first))
    firsts = [month.first for month in (this, last, before)]
    found = add_up(ModelCall.objects.all(), periods=firsts)
    assert [found[first,].dollars for first in firsts] == [1, 2, 4]


def test_nothing_was_spent_where_there_are_no_calls() -> None:
    assert add_up(ModelCall.objects.all(), "model") == {}
    assert total([]) == Sums()
    assert load_held().dollars == 0


@pytest.mark.parametrize(
    ("text", "days"), [("2026-02", 28), ("2028-02", 29), ("2026-12", 31), ("2000-01", 31)]
)
def test_a_month_is_read(text: str, days: int) -> None:
    span = read_month(text)
    assert span == month_of(span.first)
    assert len(span.days) == days
    assert f"{span.last:%Y-%m}-{days}" == f"{span.last}"


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-1", "9999-12", "٢٠٢٦-٠١", "2026-01-01"]
)
def test_what_is_no_month_is_none(text: str) -> None:
    assert read_month(text) is None


def test_a_span_is_read_from_days_a_month_or_a_day() -> None:
    today = timezone.localdate()
    assert read_span("7") == last_days(7)
    assert read_span("1") == Span(today, today + timedelta(days=1))
    assert read_span("2026-02") == read_month("2026-02")
    assert read_span("2024-02-29") == Span(date(2024, 2, 29), date(2024, 3, 1))


@pytest.mark.parametrize("text", ["", "8", "2026-02-29", "20260201", "9999-12-31", "2026-W01-1"])
def test_what_is_no_span_is_none(text: str) -> None:
    assert read_span(text) is None
