"""Every page and every action of the administration × everybody who may ask."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.test import RequestFactory
from django.urls import reverse

from accounts.models import User
from tests.access.addresses import Address, list_addresses
from tests.access.people import SECRET, Cast, Role
from tests.access.rules import find_rule
from tests.access.verdicts import Verdict, describe, judge, list_possible, read

pytestmark = pytest.mark.django_db(transaction=True)

addresses = [each for each in list_addresses() if each.route.startswith("admin/")]


def test_each_role_gets_as_far_as_the_rule_says_and_nobody_reads_what_others_have_written(
    cast: Cast, count: dict[str, int]
) -> None:
    stored = cast.owned.read_rows()
    before = cast.requests
    wrong = [
        problem for address in addresses for role in Role for problem in walk(cast, address, role)
    ]
    assert not wrong, "\n".join(wrong)
    assert cast.owned.read_rows() == stored
    count["requests for pages of the administration"] = cast.requests - before


def walk(cast: Cast, address: Address, role: Role) -> Iterator[str]:
    """What is wrong with what somebody gets by asking, and, but for administrators, who may, by
    sending what would change something."""
    rule = find_rule(address)
    assert rule
    place = cast.find_place(role)
    path = address.fill(place.name_parameters(address))
    for method in ["GET"] if role == Role.ADMINISTRATOR else ["GET", "POST"]:
        response = cast.ask(role, method, path, place.list_fields())
        what = f"{role}: {method} {address}"
        if judge(response) not in list_possible(rule[role], method) | may_be(role, address):
            yield describe(response, what, rule[role])
        if SECRET in read(response):
            yield f"{what}: shows what the owner has written"


def may_be(role: Role, address: Address) -> set[Verdict]:
    """What is not forbidden to the staff may not be there, or not be changed by anybody. What leads
    from a row's address to its page asks for no right: the page does."""
    if role not in (Role.OPERATOR, Role.ADMINISTRATOR):
        return set()
    if address.name.endswith("_history") or not address.name:
        return {Verdict.IN, Verdict.REFUSED, Verdict.HIDDEN}
    is_list = address.name.endswith(("_changelist", ":index"))
    return set() if is_list else {Verdict.REFUSED, Verdict.HIDDEN}


def list_actions() -> list[tuple[Any, str]]:
    """Each admin with each of its actions, as an administrator has them."""
    request = RequestFactory().get("/")
    request.user = User(is_staff=True, is_superuser=True)
    return [
        (each, name) for each in admin.site._registry.values() for name in each.get_actions(request)
    ]


def test_only_administrators_act(cast: Cast, count: dict[str, int]) -> None:
    stored = cast.owned.read_rows()
    wrong = []
    actions = list_actions()
    assert len(actions) > 5
    for page, action in actions:
        label = f"{page.opts.app_label}_{page.opts.model_name}"
        path = reverse(f"admin:{label}_changelist")
        address = Address(f"admin:{label}_changelist", "")
        chosen = cast.owned.name_parameters(address)["object_id"]
        rule = find_rule(Address(address.name, "admin/"))
        assert rule
        for role in set(Role) - {Role.ADMINISTRATOR}:
            fields = {"action": action, "_selected_action": [chosen], "confirmed": "1", "post": "1"}
            response = cast.ask(role, "POST", path, fields)
            count["actions of the administration"] = (
                count.get("actions of the administration", 0) + 1
            )
            if judge(response) != rule[role]:
                wrong.append(describe(response, f"{role}: {action} of {label}", rule[role]))
    assert not wrong, "\n".join(wrong)
    assert cast.owned.read_rows() == stored
