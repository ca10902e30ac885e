"""Spending in the administration: who may see it, what the charts add up, the list, the CSV."""

import csv
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from spending.models import ModelCall
from spending.spans import begin_of, last_months
from tests.chat.factories import make_profile, make_user
from tests.spending.factories import make_call

pytestmark = pytest.mark.django_db

CHARTS = reverse("admin:spending_charts")
CSV = "/admin/spending/modelcall/cost-centre/1.csv?month=2026-11"
CALLS = reverse("admin:spending_modelcall_changelist")


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(make_user("olga", staff=True))
    return client


def html(response: HttpResponse) -> str:
    assert response.status_code == 200, response
    return " ".join(response.content.decode().split())


def table(page: str, section: str) -> list[list[str]]:
    """The cells of a section's table that have words."""
    part = page[page.index(f'aria-labelledby="spending-{section}"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", part[: part.index("</section>")])
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows[1:]]
    return [[text for cell in row if (text := re.sub(r"<.*?>", "", cell).strip())] for row in cells]


def listed(response: HttpResponse) -> set[ModelCall]:
    html(response)
    return set(response.context["cl"].result_list)


@pytest.mark.parametrize("address", [CHARTS, CALLS, CSV])
def test_spending_is_for_operators(client: Client, address: str) -> None:
    Group.objects.create(pk=1, name="Research")
    client.force_login(make_user())
    assert client.get(address).status_code == 302
    client.force_login(make_user(staff=True))
    assert client.get(address).status_code == 200


def test_calls_are_not_added_changed_or_deleted(client: Client) -> None:
    client.force_login(make_user(admin=True))
    call = make_call()
    page = reverse("admin:spending_modelcall_change", args=[call.pk])
    assert "test-model" in html(client.get(page))
    assert client.get(reverse("admin:spending_modelcall_add")).status_code == 403
    assert client.post(page, {"cost": "0"}).status_code == 403
    delete = reverse("admin:spending_modelcall_delete", args=[call.pk])
    assert client.post(delete).status_code == 403


def test_the_charts_add_up_by_model_kind_person_and_cost_centre(operator: Client) -> None:
    ada, leaver = make_user("ada"), make_user("ben")
    research = Group.objects.create(name="Research")
    make_call("1", user=ada, group=research)
    make_call("2", user=ada, model="dear", provider="ours", kind="title")
    make_call("4", user=leaver, group=research, state="lost", web_searches=50, search_cost="0.5")
    leaver.delete()
    make_call("99", opened_at=timezone.now() - timedelta(days=40))
    page = html(operator.get(CHARTS))
    assert "<strong>≈ $7.00</strong>" in page
    assert "57.1 % of it is an estimate" in page
    by = {name: table(page, name) for name in ("models", "kinds", "groups", "people")}
    assert [(row[0], row[-1]) for row in by["models"]] == [
        ("test-model", "≈ $5.00"),
        ("ours::dear", "$2.00"),
    ]
    assert [(row[0], row[-1]) for row in by["kinds"]] == [
        ("Answers", "≈ $4.50"),
        ("Titles", "$2.00"),
        ("Web searches (50)", "$0.5000"),
    ]
    assert [(row[0], row[-1]) for row in by["groups"]] == [
        ("Research", "≈ $5.00"),
        ("no cost centre", "$2.00"),
    ]
    assert [(row[0], row[-1]) for row in by["people"]] == [
        ("deleted accounts", "≈ $4.00"),
        ("ada", "$3.00"),
    ]


def test_what_is_settled_is_no_estimate(operator: Client) -> None:
    make_call("1")
    page = html(operator.get(CHARTS))
    assert "<strong>$1.00</strong>" in page
    assert ">one model call</a>" in page
    assert "% of it" not in page


def test_the_charts_lead_to_the_calls_behind_them(operator: Client) -> None:
    research = Group.objects.create(name="Research")
    ours = make_call("1", user=make_user("ada"), group=research, provider="ours", model="dear")
    make_call("2", user=make_user("ben"))
    make_call("4", user=ours.user, opened_at=timezone.now() - timedelta(days=8))
    page = html(operator.get(f"{CHARTS}?span=7"))
    links = [link.replace("&amp;", "&") for link in re.findall(f'href="({CALLS}\\?.*?)"', page)]
    for part in ("model=ours", "person=ada", f"group__id__exact={research.pk}"):
        (link,) = [link for link in links if part in link]
        assert listed(operator.get(link)) == {ours}


def test_a_month_is_chosen_and_drawn_day_by_day(operator: Client) -> None:
    month = last_months(2)[1]
    make_call("3", opened_at=begin_of(month.first))
    make_call("5", opened_at=begin_of(month.end) - timedelta(seconds=1))
    make_call("7", opened_at=begin_of(month.end))
    page = html(operator.get(f"{CHARTS}?span={month.key}"))
    assert "<strong>$8.00</strong>" in page
    assert page.count('class="days-reach"') == len(month.days)
    assert "at most $5.00" in page


@pytest.mark.parametrize("span", ["", "8", "2026-13", "x", "\x00"])
def test_a_span_that_does_not_exist_is_the_usual_one(operator: Client, span: str) -> None:
    new = make_call("3")
    make_call("5", opened_at=timezone.now() - timedelta(days=31))
    assert "<strong>$3.00</strong>" in html(operator.get(CHARTS, {"span": span}))
    assert listed(operator.get(CALLS, {"span": span})) == {new}


def test_what_open_calls_hold_is_told(operator: Client) -> None:
    assert "open" not in re.sub(r"<.*?>", "", html(operator.get(CHARTS)))
    make_call("0", state="open", bound="0.5")
    assert "One call is open and holds up to $0.5000" in html(operator.get(CHARTS))


def test_the_list_is_filtered_by_day_person_model_kind_and_state(operator: Client) -> None:
    make_profile("ours::dear")
    now = timezone.now()
    found = make_call(
        "1", user=make_user("ada"), provider="ours", model="dear", kind="title", state="lost"
    )
    make_call("1", user=make_user("ben"), opened_at=now - timedelta(days=1))
    filters = {
        "span": f"{timezone.localdate()}",
        "person": "ada",
        "model": "ours::dear",
        "kind__exact": "title",
        "state__exact": "lost",
    }
    for name, value in filters.items():
        assert listed(operator.get(CALLS, {name: value})) == {found}, name
    assert listed(operator.get(CALLS, filters)) == {found}


def test_the_list_of_many_calls_takes_as_many_statements_as_of_one(operator: Client) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            listed(operator.get(CALLS))
        return len(captured)

    make_call(user=make_user(), group=Group.objects.create(name="Research"))
    one = count()
    for number in range(9):
        make_call(user=make_user(), group=Group.objects.create(name=f"Group {number}"))
    assert count() == one


def test_a_cost_centres_month_is_sent_as_sums_or_calls(operator: Client) -> None:
    research = Group.objects.create(name="Research & Development")
    month = last_months(1)[0]
    for dollars in "0.1", "0.2":
        make_call(dollars, user=User.objects.get(), group=research)
    address = reverse("admin:cost_centre", args=[research.pk])
    for query, costs in ("", ["0.300000000"]), ("&calls=1", ["0.100000000", "0.200000000"]):
        answer = operator.get(f"{address}?month={month.key}{query}")
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        name = f'filename="everlong-research-development-{month.key}.csv"'
        assert answer["Content-Disposition"] == f"attachment; {name}"
        rows = list(csv.DictReader(StringIO(answer.content.decode())))
        assert [row["cost_usd"] for row in rows] == costs


@pytest.mark.parametrize("query", ["", "?month=", "?month=2026-13"])
def test_without_a_month_there_is_no_file(operator: Client, query: str) -> None:
    research = Group.objects.create(name="Research")
    address = reverse("admin:cost_centre", args=[research.pk])
    assert operator.get(address + query).status_code == 404
