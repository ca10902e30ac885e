"""Every address of the site × everybody who may ask: who gets in, who is sent away, and that what
others send changes nothing of the owner's."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.tokens import SCOPES
from chat.models import Turn
from spending.models import ModelCall
from tests.access.addresses import Address, list_addresses
from tests.access.people import SECRET, Belongings, Cast, Role
from tests.access.rules import TOKENS, find_rule
from tests.access.verdicts import Verdict, describe, judge, list_possible, read
from tests.chat.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

# What ends in a model call and says why it does not. What needs another state than that of these
# conversations is in tests/chat/services/turns/test_asking.py.
LEAD_TO_A_MODEL = {
    *("conversation_create", "conversation_model", "conversation_retry"),
    *("message_edit", "message_regenerate"),
}
BARRED = ("may not use this model", "This model is no longer offered")
METHODS = {Role.OWNER: ("GET",), Role.OTHER: ("GET", "POST", "PUT", "DELETE")}
addresses = [each for each in list_addresses() if not each.route.startswith("admin/")]


def test_each_address_has_a_rule() -> None:
    unknown = [address for address in addresses if find_rule(address) is None]
    assert unknown == [], "say in tests/access/rules.py who gets in"


def test_each_role_gets_as_far_as_the_rule_says_and_changes_nothing_of_the_owners(
    cast: Cast, count: dict[str, int]
) -> None:
    stored = cast.owned.read_rows()
    wrong = [
        problem for address in addresses for role in Role for problem in walk(cast, address, role)
    ]
    assert not wrong, "\n".join(wrong)
    assert cast.owned.read_rows() == stored
    count["requests for addresses"] = cast.requests


def walk(cast: Cast, address: Address, role: Role) -> Iterator[str]:
    """What is wrong with what somebody gets by asking, and by sending what would change something.
    The owner only asks: `test_the_owner_may_change_what_is_owned`."""
    rule = find_rule(address)
    assert rule
    place = cast.find_place(role)
    path = address.fill(place.name_parameters(address))
    for method in METHODS.get(role, ("GET", "POST")):
        response = cast.ask(role, method, path, place.list_fields())
        what = f"{role}: {method} {address}"
        if judge(response) not in list_possible(rule[role], method):
            yield describe(response, what, rule[role])
        may_read = role in (Role.OWNER, Role.DISABLED) or address.name.startswith("shared")
        if not may_read and SECRET in read(response):
            yield f"{what}: shows what the owner has written"


def test_the_owner_may_change_what_is_owned(cast: Cast, count: dict[str, int]) -> None:
    wrong = []
    for address, response in post_as_owners(count):
        if judge(response) not in (Verdict.IN, Verdict.METHOD):
            wrong.append(describe(response, f"owner: POST {address}", Verdict.IN))
    assert not wrong, "\n".join(wrong)


def test_an_outsider_gets_no_model_in_conversations_of_their_own(
    cast: Cast, count: dict[str, int], settings: Any
) -> None:
    settings.TURNS_AT_ONCE = 100  # their own limits would allow it
    outsiders = cast.users[Role.OUTSIDER].groups.get()
    responses = post_as_owners(count, outsiders)
    refused = {
        address.name
        for address, response in responses
        if any(words in read(response) for words in BARRED)
    }
    assert refused == LEAD_TO_A_MODEL
    assert not Turn.objects.filter(kind=Turn.Kind.ANSWER).exists()
    assert not ModelCall.objects.exclude(kind=ModelCall.Kind.SUMMARY).exists()  # which they had


def post_as_owners(
    count: dict[str, int], group: Group | None = None
) -> Iterator[tuple[Address, Any]]:
    """Each address of what belongs to somebody, or where a conversation begins, with the answer to
    a new person, perhaps of a group, who sends what would change something. Some of it deletes, so
    each time there is something new."""
    client = Client()
    for number, address in enumerate(addresses):
        rule = find_rule(address)
        assert rule
        is_owned = rule[Role.OTHER] == Verdict.HIDDEN and rule[Role.OWNER] == Verdict.IN
        if not is_owned and address.name != "conversation_create":
            continue
        owner = make_user(f"owner {number}")
        client.force_login(owner)
        owned = Belongings(owner)
        if group:
            owner.groups.add(group)
        path = address.fill(owned.name_parameters(address))
        yield address, client.post(path, owned.list_fields())
        count["requests of owners"] = count.get("requests of owners", 0) + 1


def test_a_revoked_share_is_hidden_from_everybody(cast: Cast) -> None:
    owned = cast.owned
    places = [
        reverse("shared", args=[owned.revoked.pk]),
        reverse("shared_file", args=[owned.revoked.pk, owned.file.pk]),
    ]
    for role in set(Role) - {Role.NOBODY, Role.DISABLED}:
        found = {judge(cast.ask(role, "GET", place)) for place in places}
        assert found == {Verdict.HIDDEN}, role


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_opens_what_its_scope_names_and_nothing_else(
    cast: Cast, count: dict[str, int], scope: str
) -> None:
    program = Client(headers=cast.show_token(scope), raise_request_exception=False)
    wrong = []
    for address in list_addresses():
        if address.route.startswith("api/"):  # tests/access/test_api.py
            continue
        path = address.fill(cast.owned.name_parameters(address))
        response = program.get(path)
        program.cookies.clear()
        if TOKENS.get(address.name) == scope:
            expected = {Verdict.IN}
        else:
            expected = {judge(cast.ask(Role.NOBODY, "GET", path))}
        if judge(response) not in expected:
            wrong.append(f"{address}: {judge(response)}, not {expected}")
        count["requests of tokens"] = count.get("requests of tokens", 0) + 1
    assert not wrong, "\n".join(wrong)
    assert User.objects.get(pk=cast.owned.owner.pk).is_active
