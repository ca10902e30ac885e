"""Budgets in the administration."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from accounts.models import AuditEntry, User
from spending.models import Budget
from tests.chat.factories import make_user
from tests.spending.factories import make_call

SITE = "/admin/spending/budget/site/"
NONE = {"money_day": "none", "money_month": "none", "tokens_day": "none", "tokens_month": "none"}


@pytest.fixture
def administrator(transactional_db: None) -> User:
    return make_user("grace", admin=True)


@pytest.fixture
def signed_in(administrator: User, client: Client) -> Client:
    client.force_login(administrator)
    return client


def list_budgets() -> list[tuple[object, ...]]:
    return list(Budget.objects.order_by("pk").values_list("period", "unit", "limit"))


def test_the_sites_budgets_are_set_and_recorded(signed_in: Client, administrator: User) -> None:
    sent = NONE | {"money_day": "most", "money_day_most": "12.50", "tokens_month": "unlimited"}
    assert signed_in.post(SITE, sent).status_code == 302
    assert list_budgets() == [("day", "money", Decimal("12.5")), ("month", "tokens", None)]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act) == (administrator, "set budgets")
    assert entry.changed == ["money a day", "tokens a month"]
    signed_in.post(SITE, sent)
    assert AuditEntry.objects.count() == 1
    signed_in.post(SITE, NONE)
    assert list_budgets() == []


def test_an_amount_is_asked_for(signed_in: Client) -> None:
    page = signed_in.post(SITE, NONE | {"money_day": "most"})
    assert page.status_code == 422
    assert "Enter the most that may be spent" in page.content.decode()
    assert list_budgets() == []


def test_a_person_and_a_group_have_pages_that_tell_what_is_used(signed_in: Client) -> None:
    user, group = make_user("ada"), Group.objects.create(name="research")
    user.groups.add(group)
    make_call("3", user=user, input_tokens=0, output_tokens=700)
    for kind, row, words in (
        ("group", group, "so far by whoever has used most"),
        ("user", user, "$3.00 so far"),
    ):
        address = f"/admin/spending/budget/{kind}/{row.pk}/"
        page = signed_in.get(address).content.decode()
        assert words in page
        assert "$3.00" in page
        assert "700 tokens" in page
        assert signed_in.post(address, NONE | {"money_day": "most", "money_day_most": "5"})
    budgets = Budget.objects.order_by("pk").values_list("group", "user", "limit")
    assert list(budgets) == [(group.pk, None, 5), (None, user.pk, 5)]
    page = signed_in.get("/admin/spending/budget/").content.decode()
    assert page.count("$5.00") == 2
    for page in (
        f"/admin/accounts/user/{user.pk}/change/",
        f"/admin/auth/group/{group.pk}/change/",
    ):
        assert "$5.00 a day</a>" in signed_in.get(page).content.decode()


def test_a_scope_is_found_by_name(signed_in: Client) -> None:
    user = make_user("ada")
    found = signed_in.get("/admin/spending/budget/?group=&user=ada")
    assert found["Location"] == f"/admin/spending/budget/user/{user.pk}/"
    missed = signed_in.get("/admin/spending/budget/?group=&user=nobody").content.decode()
    assert "There is no such group or person" in missed
    assert signed_in.get("/admin/spending/budget/user/999/").status_code == 404


def test_operators_set_no_budgets(transactional_db: None, client: Client) -> None:
    client.force_login(make_user(staff=True))
    for address in ("/admin/spending/budget/", SITE):
        assert client.get(address).status_code == 403
    assert client.post(SITE, NONE).status_code == 403
