"""Every operation of the API × every scope × whose program asks."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens import MESSAGES_SEND, SCOPES, issue_token
from chat.api.site import api
from chat.models import Turn
from spending.models import ModelCall
from tests.access.addresses import Address, list_addresses
from tests.access.people import SECRET, Belongings, Cast, Role
from tests.access.rules import API_SCOPES
from tests.access.verdicts import Verdict, judge, read
from tests.chat.factories import make_turn, make_user

pytestmark = pytest.mark.django_db(transaction=True)


BODIES: dict[str, dict[str, Any]] = {
    "create_conversation": {"title": "Made by a stranger"},
    "change_conversation": {"title": "Changed by a stranger"},
    "send_message": {"text": "Sent by a stranger", "wait": 0},
    "edit_message": {"text": "Changed by a stranger", "wait": 0},
    "queue_message": {"text": "Sent by a stranger"},
}
QUERIES = {"search": "?q=Zanzibar", "send_piece": "?offset=0"}


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
    body = json.dumps(BODIES.get(operation.name, {}))
    path += QUERIES.get(operation.name, "")
    return client.generic(operation.method, path, body, "application/json", headers=headers)


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


# What asks a model where its conversation is as these are: waiting for an answer.
LEAD_TO_A_MODEL = {"send_message", "edit_message", "regenerate_answer", "retry"}


def test_an_outsiders_program_gets_no_model_in_conversations_of_their_own(
    cast: Cast, settings: Any
) -> None:
    settings.TURNS_AT_ONCE = 100  # their own limits would allow it
    outsiders = cast.users[Role.OUTSIDER].groups.get()
    refused = set()
    for number, operation in enumerate(list_operations()):
        if API_SCOPES[operation.name] != MESSAGES_SEND:
            continue
        owned = Belongings(make_user(f"owner {number}"))
        owned.owner.groups.add(outsiders)
        response = ask(operation, owned, issue(owned.owner, MESSAGES_SEND))
        if response.status_code == 403:
            assert response.json()["error"]["code"] == "model_off"
            refused.add(operation.name)
    assert refused == LEAD_TO_A_MODEL
    assert not ModelCall.objects.exclude(kind=ModelCall.Kind.SUMMARY).exists()  # which they had


def order(operations: list[Operation]) -> Iterator[Operation]:
    """What deletes comes last."""
    yield from (each for each in operations if each.method != "DELETE")
    yield from (each for each in operations if each.method == "DELETE")
