"""HTTP: somebody's own usage page, and their calls as CSV."""

import csv
import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from uuid import uuid4

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from chat.services.library import conversations
from spending.limits import forget_budgets
from spending.models import Budget
from spending.spans import begin_of, last_months
from tests.chat.factories import make_conversation, make_user
from tests.spending.factories import make_call

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_both]


@pytest.fixture(autouse=True)
def no_budget_is_known() -> Iterator[None]:
    """Of another test, nor of this one in the next."""
    forget_budgets()
    yield
    forget_budgets()


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def html(response: HttpResponse) -> str:
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def lines(page: str, heading: str) -> list[tuple[str, str]]:
    """What a table has in its first and last columns."""
    part = page[page.index(f'<th scope="col">{heading}</th>') :]
    rows = re.findall(r"<tr>(.*?)</tr>", part[: part.index("</table>")])
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [(re.sub(r"<.*?>", "", row[0]).strip(), row[-1]) for row in cells]


@pytest.mark.parametrize("address", ["/usage/", "/usage/calls.csv"])
def test_usage_is_for_the_signed_in(client: Client, db: None, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 302
    assert "/account/login/" in response["Location"]


def test_without_a_call_the_page_says_what_will_be_there(browser: Client) -> None:
    make_call("5", user=make_user())
    page = html(browser.get("/usage/"))
    assert "appears here once a model has answered" in page
    assert "$" not in page


def test_the_page_adds_up_today_this_month_and_the_months_before(
    browser: Client, user: User
) -> None:
    this, last, *_ = last_months(3)
    make_call("1", user=user)
    make_call("2", user=user, opened_at=begin_of(last.first))
    make_call("4", user=user, opened_at=begin_of(last.end) - timedelta(seconds=1))
    make_call("8", user=make_user())
    page = html(browser.get("/usage/"))
    assert "<dt>Today</dt> <dd>$1.00</dd>" in page
    assert "<dt>This month</dt> <dd>$1.00</dd>" in page
    assert [spent for _, spent in lines(page, "Month")] == ["$1.00", "$6.00"]
    page = html(browser.get(f"/usage/?month={last.key}"))
    assert "$6.00 for 2 model calls" in page
    assert "<dt>This month</dt> <dd>$1.00</dd>" in page
    assert page.count('class="days-reach"') == len(last.days)


def test_what_was_spent_today_is_a_part_of_the_month_on_its_first_day_too(
    browser: Client, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = last_months(1)[0].first
    monkeypatch.setattr(timezone, "localdate", lambda *_: first)
    make_call("1", user=user, opened_at=begin_of(first))
    page = html(browser.get("/usage/"))
    assert "<dt>Today</dt> <dd>$1.00</dd>" in page
    assert "<dt>This month</dt> <dd>$1.00</dd>" in page


def test_a_month_is_told_by_model_and_by_what_for(browser: Client, user: User) -> None:
    make_call("1", user=user)
    make_call("3", user=user, provider="ours", model="dear", kind="title")
    make_call("0.75", user=user, web_searches=50, search_cost="0.5")
    page = html(browser.get("/usage/"))
    assert lines(page, "Model") == [("ours::dear", "$3.00"), ("test-model", "$1.75")]
    assert lines(page, "What for") == [
        ("Titles", "$3.00"),
        ("Answers", "$1.25"),
        ("Web searches (50)", "$0.5000"),
    ]


def test_estimates_are_marked(browser: Client, user: User) -> None:
    make_call("1", user=user, state="lost", model="guessed")
    make_call("2", user=user)
    page = html(browser.get("/usage/"))
    assert "≈ $3.00 for 2 model calls. One was stopped or cut off" in page
    assert lines(page, "Model") == [("test-model", "$2.00"), ("guessed", "≈ $1.00")]


def test_conversations_are_named_while_they_are_there_and_ones_own(
    browser: Client, user: User
) -> None:
    present = make_conversation(user, title="Sea <trip>")
    marked = make_conversation(user, title="Marked for deletion")
    foreign = make_conversation(title="Of somebody else")
    for dollars, row in ("1", present), ("2", marked), ("4", foreign):
        make_call(dollars, user=user, conversation=row.pk)
    make_call("8", user=user, conversation=uuid4())
    make_call("16", user=user)
    conversations.discard_conversations(user, [marked.pk])
    page = html(browser.get("/usage/"))
    assert lines(page, "Conversation") == [
        ("Sea &lt;trip&gt;", "$1.00"),
        ("Deleted conversations", "$14.00"),
        ("Outside of conversations", "$16.00"),
    ]
    assert f'href="{present.get_absolute_url()}"' in page
    assert "Marked for deletion" not in page
    assert "Of somebody else" not in page


def test_many_conversations_end_in_one_line_and_take_no_more_statements(
    browser: Client, user: User
) -> None:
    def count() -> int:
        forget_budgets()  # or what is kept of them would tell
        with CaptureQueriesContext(connection) as captured:
            html(browser.get("/usage/"))
        return len(captured)

    make_call("9", user=user, conversation=make_conversation(user, title="Dearest").pk)
    one = count()
    for _ in range(25):
        make_call("1", user=user, conversation=make_conversation(user).pk)
    assert count() == one
    listed = lines(html(browser.get("/usage/")), "Conversation")
    assert listed[0] == ("Dearest", "$9.00")
    assert listed[-1] == ("6 others", "$6.00")
    assert len(listed) == 21


@pytest.mark.parametrize("month", ["", "2026-13", "November", "0000-01", "9999-12", "\x00"])
def test_what_is_no_month_is_this_one(browser: Client, user: User, month: str) -> None:
    make_call("1", user=user)
    assert "$1.00 for one model call" in html(browser.get("/usage/", {"month": month}))


def test_ones_own_calls_of_a_month_are_sent(browser: Client, user: User) -> None:
    last = last_months(2)[1]
    make_call("1", user=user)
    make_call("2", user=user, opened_at=begin_of(last.first))
    make_call("4", user=make_user(), opened_at=begin_of(last.first))
    response = browser.get("/usage/calls.csv", {"month": last.key})
    assert (
        response["Content-Disposition"] == f'attachment; filename="everlong-calls-{last.key}.csv"'
    )
    assert response["Cache-Control"] == "private, no-store"
    (row,) = csv.DictReader(StringIO(response.content.decode()))
    assert row["cost_usd"] == "2.000000000"


# --- Budgets --------------------------------------------------------------------------------------


def give(limit: int, period: str = "month", unit: str = "money", user: User | None = None) -> None:
    Budget.objects.create(user=user, period=period, unit=unit, limit=limit)
    forget_budgets()


def test_budgets_say_what_is_left_held_and_when_they_begin_anew(
    browser: Client, user: User
) -> None:
    make_call("1.25", user=user)
    make_call("0", user=user, state="open", bound=Decimal("0.5"))
    give(5, user=user)
    give(2_000_000, "day", "tokens", user)
    page = html(browser.get("/usage/"))
    assert "Your budget for this month: <strong>$1.25 of $5.00</strong>" in page
    assert "Left: $3.25. It begins anew on " in page
    assert "Answers that run hold $0.5000." in page
    assert "Your budget for today: <strong>1.1k tokens of 2M tokens</strong>" in page
    begins = begin_of(last_months(1)[0].end)
    assert f'datetime="{begins.isoformat()}"' in page


def test_a_budget_is_told_before_anything_is_spent(browser: Client, user: User) -> None:
    give(0, user=user)
    page = html(browser.get("/usage/"))
    assert "<strong>$0 of $0</strong>" in page
    assert 'value="100"' in page


def test_of_the_sites_budget_the_page_tells_administrators_alone(
    browser: Client, user: User
) -> None:
    give(500)
    assert "budget" not in html(browser.get("/usage/"))
    User.objects.update(is_superuser=True, is_staff=True)
    assert "The site’s budget for this month: <strong>$0 of $500.00</strong>" in html(
        browser.get("/usage/")
    )
