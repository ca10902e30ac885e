"""Calls as CSV: whose, which month, exact amounts, and nothing that a spreadsheet would run."""

import csv
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command

from accounts.csv_lines import FORMULA
from spending.exports import (
    CALL_COLUMNS,
    DELETED,
    OWN_COLUMNS,
    SUM_COLUMNS,
    write_cost_centre_calls,
    write_cost_centre_sums,
    write_own_calls,
)
from spending.models import ModelCall
from spending.spans import Span, begin_of, last_months
from tests.chat.factories import make_user
from tests.spending.factories import make_call

pytestmark = [pytest.mark.django_db, pytest.mark.on_both]


@pytest.fixture
def month() -> Span:
    return last_months(2)[1]


@pytest.fixture
def research() -> Group:
    return Group.objects.create(name="Research")


def read(lines: object) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO("".join(lines))))  # type: ignore[call-overload]


def test_somebodys_own_calls_of_a_month_are_listed_in_order(month: Span) -> None:
    ada = make_user("ada")
    begins, talk = begin_of(month.first), uuid4()
    make_call("0.2", user=ada, opened_at=begins + timedelta(hours=2), conversation=talk)
    make_call("0.000000001", user=ada, opened_at=begins, request_id="req_1")
    make_call("4", user=ada, opened_at=begins - timedelta(seconds=1))
    make_call("8", user=ada, opened_at=begin_of(month.end))
    make_call("16", user=make_user(), opened_at=begins)
    rows = read(write_own_calls(ada, month))
    assert [row["cost_usd"] for row in rows] == ["0.000000001", "0.200000000"]
    assert [row["conversation"] for row in rows] == ["", str(talk)]
    assert rows[0]["request_id"] == "req_1"
    assert tuple(rows[0]) == OWN_COLUMNS


def test_a_cost_centre_adds_up_by_person_and_model(month: Span, research: Group) -> None:
    ada, ben = make_user("ada"), make_user("ben")
    values = {"group": research, "opened_at": begin_of(month.last)}
    for dollars in "0.1", "0.2":
        make_call(dollars, user=ada, **values)
    make_call("0.4", user=ada, state=ModelCall.State.LOST, **values)
    make_call("1", user=ada, model="other", search_cost=Decimal("0.25"), web_searches=25, **values)
    make_call("2", user=ben, provider="ours", **values)
    make_call("4", user=ben, opened_at=begin_of(month.last))
    make_call("8", user=ben, group=research)
    rows = read(write_cost_centre_sums(research, month))
    names = ("person", "provider", "model", "calls", "estimated_calls", "cost_usd")
    assert [[row[name] for name in names] for row in rows] == [
        ["ada", "", "other", "1", "0", "1.000000000"],
        ["ada", "", "test-model", "3", "1", "0.700000000"],
        ["ben", "ours", "test-model", "1", "0", "2.000000000"],
    ]
    assert rows[0]["search_cost_usd"] == "0.250000000"
    assert rows[1]["estimated_cost_usd"] == "0.400000000"
    assert {row["month"] for row in rows} == {f"{month.first:%Y-%m}"}
    assert tuple(rows[0]) == SUM_COLUMNS


def test_what_leavers_spent_stays_with_their_cost_centre(month: Span, research: Group) -> None:
    ada = make_user("ada")
    make_call("3", user=ada, group=research, opened_at=begin_of(month.first))
    ada.delete()
    (row,) = read(write_cost_centre_sums(research, month))
    assert (row["person"], row["cost_usd"]) == (DELETED, "3.000000000")
    (row,) = read(write_cost_centre_calls(research, month))
    assert row["person"] == DELETED
    assert tuple(row) == CALL_COLUMNS


def test_a_cost_centre_is_told_of_no_conversation(month: Span, research: Group) -> None:
    talk = uuid4()
    make_call(group=research, opened_at=begin_of(month.first), conversation=talk)
    for write in write_cost_centre_calls, write_cost_centre_sums:
        assert str(talk) not in "".join(write(research, month))


@pytest.mark.parametrize("sign", FORMULA)
def test_no_cell_is_a_formula_of_a_spreadsheet(month: Span, sign: str) -> None:
    hostile = f'{sign}HYPERLINK("http://x","y")'
    group = Group.objects.create(name=hostile)
    make_call(group=group, model=hostile, opened_at=begin_of(month.first))
    for write in write_cost_centre_calls, write_cost_centre_sums:
        (row,) = read(write(group, month))
        assert row["cost_centre"] == row["model"] == f"'{hostile}"


def test_the_command_writes_sums_or_calls(
    month: Span, research: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    make_call("0.5", user=make_user("ada"), group=research, opened_at=begin_of(month.first))
    name = f"{month.first:%Y-%m}"
    call_command("cost_centre", "Research", "--month", name)
    assert [row["cost_usd"] for row in read(capsys.readouterr().out)] == ["0.500000000"]
    call_command("cost_centre", "Research", "--month", name, "--calls")
    assert [row["kind"] for row in read(capsys.readouterr().out)] == ["answer"]


def test_the_command_names_the_groups_where_it_does_not_know_one(research: Group) -> None:
    with pytest.raises(CommandError, match="no group “Reserach”. Groups: Research"):
        call_command("cost_centre", "Reserach", "--month", "2026-11")


def test_the_command_says_how_a_month_is_written(research: Group) -> None:
    with pytest.raises(CommandError, match="“November” is no month; one is written as 2026-11"):
        call_command("cost_centre", "Research", "--month", "November")
