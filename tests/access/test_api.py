"""Every operation of the API × every scope × whose program asks."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens import SCOPES, issue_token
from chat.api.site import api
from chat.models import Turn
from tests.access.addresses import Address, list_addresses
from tests.access.people import SECRET, Belongings, Cast, Role
from tests.access.rules import API_SCOPES
from tests.access.verdicts import Verdict, judge, read
from tests.chat.factories import make_turn

pytestmark = pytest.mark.django_db(transaction=True)


class Operation(NamedTuple):
    name: str
    method: str
    address: Address


def list_operations() -> list[Operation]:
    """Those of the document, with their addresses."""
    addresses = {each.name.removeprefix("api:"): each for each in list_addresses()}
    return [
        Operation(told["operationId"], method.upper(), addresses[told["operationId"]])
        for paths in api.get_openapi_schema()["paths"].values()
        for method, told in paths.items()
    ]


def ask(operation: Operation, place: Belongings, token: str = "") -> Any:
    """The answer to a program's request for somebody's things."""
    client = Client(raise_request_exception=False)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    path = operation.address.fill(place.name_parameters(operation.address))
    body = json.dumps({"text": "Changed by a stranger", "title": "Changed", "wait": 0})
    query = "?q=Zanzibar" if operation.name == "search" else ""
    return client.generic(operation.method, path + query, body, "application/json", headers=headers)


def issue(user: User, *scopes: str) -> str:
    user.access_tokens.all().delete()
    return issue_token(user, "A program", scopes, None)


def test_each_operation_has_a_scope() -> None:
    assert {each.name for each in list_operations()} == API_SCOPES.keys()


def test_a_token_of_other_scopes_and_none_open_nothing(cast: Cast, count: dict[str, int]) -> None:
    owner = cast.users[Role.OWNER]
    wrong: list[str] = []
    for scope in SCOPES:
        token = issue(owner, scope)
        stored = cast.owned.read_rows()
        for operation in list_operations():
            if API_SCOPES[operation.name] == scope:
                continue
            response = ask(operation, cast.owned, token)
            if judge(response) != Verdict.REFUSED or SECRET in read(response):
                wrong.append(f"{scope}: {operation.name}: {response.status_code}")
            count["requests of programs"] = count.get("requests of programs", 0) + 1
        assert cast.owned.read_rows() == stored
    for operation in list_operations():
        if judge(ask(operation, cast.owned)) != Verdict.SIGN_IN:
            wrong.append(f"without a token: {operation.name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("role", [Role.OTHER, Role.OPERATOR, Role.ADMINISTRATOR])
def test_nobody_elses_program_reads_or_changes_what_is_owned(cast: Cast, role: Role) -> None:
    make_turn(cast.owned.conversation, status=Turn.Status.COMPLETED)
    token = issue(cast.users[role], *SCOPES)
    stored = cast.owned.read_rows()
    wrong = []
    for operation in list_operations():
        response = ask(operation, cast.owned, token)
        is_owned = bool(operation.address.parameters)
        if is_owned and judge(response) != Verdict.HIDDEN:
            wrong.append(f"{operation.name}: {response.status_code} {read(response)}")
        if SECRET in read(response):
            wrong.append(f"{operation.name}: shows what the owner has written")
    assert not wrong, "\n".join(wrong)
    assert cast.owned.read_rows() == stored


def test_a_program_of_a_disabled_person_opens_nothing(cast: Cast) -> None:
    disabled = cast.users[Role.DISABLED]
    token = issue(disabled, *SCOPES)
    answers = [ask(each, cast.find_place(Role.DISABLED), token) for each in list_operations()]
    assert {judge(each) for each in answers} == {Verdict.SIGN_IN}


def test_the_owners_program_gets_in(cast: Cast) -> None:
    owner = cast.users[Role.OWNER]
    wrong = []
    for operation in order(list_operations()):
        turn = cast.owned.conversation.turns.first()
        if turn is None:
            make_turn(cast.owned.conversation, status=Turn.Status.COMPLETED)
        token = issue(owner, API_SCOPES[operation.name])
        response = ask(operation, cast.owned, token)
        if judge(response) in (Verdict.SIGN_IN, Verdict.REFUSED, Verdict.FAULT):
            wrong.append(f"{operation.name}: {response.status_code} {read(response)}")
    assert not wrong, "\n".join(wrong)


def order(operations: list[Operation]) -> Iterator[Operation]:
    """What deletes comes last."""
    yield from (each for each in operations if each.method != "DELETE")
    yield from (each for each in operations if each.method == "DELETE")
