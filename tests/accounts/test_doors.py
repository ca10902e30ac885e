"""Views that an access token opens, through the real addresses."""

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings
from django.utils import timezone

from accounts.doors import login_or_token
from accounts.models import AccessToken, User
from accounts.tokens import EXPORT_READ, USAGE_READ, issue_token
from chat.models import Conversation
from tests.chat.factories import make_conversation

pytestmark = pytest.mark.django_db(transaction=True)  # exports read in another thread


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def conversation(ada: User) -> Conversation:
    return make_conversation(owner=ada, title="Rivers", messages=["Where is the Mur?", "In Graz."])


@pytest.fixture
def address(conversation: Conversation) -> str:
    return f"{conversation.get_absolute_url()}export.md"


@pytest.fixture
def token(ada: User) -> str:
    return issue_token(ada, "backup", [EXPORT_READ], 30)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("form", ["md", "json"])
async def test_a_token_reads_its_persons_conversation(
    conversation: Conversation, token: str, form: str
) -> None:
    address = f"{conversation.get_absolute_url()}export.{form}"
    response = await AsyncClient().get(address, headers=bearer(token))
    assert response.status_code == 200
    said = b"".join([chunk async for chunk in response.streaming_content])
    assert b"Where is the Mur?" in said


@pytest.mark.parametrize(
    ("page", "scope", "kind"),
    [
        ("/account/data/export.zip", EXPORT_READ, "application/zip"),
        ("/usage/calls.csv?month=2026-11", USAGE_READ, "text/csv; charset=utf-8"),
    ],
)
def test_what_else_a_token_reads(
    client: Client, ada: User, page: str, scope: str, kind: str
) -> None:
    other_scope = {EXPORT_READ, USAGE_READ} - {scope}
    response = client.get(page, headers=bearer(issue_token(ada, "its own", [scope], 30)))
    assert (response.status_code, response["Content-Type"]) == (200, kind)
    other = issue_token(ada, "another", [*other_scope], 30)
    assert client.get(page, headers=bearer(other)).status_code == 401
    assert client.get(page).status_code == 302


def test_who_lacks_a_second_factor_that_is_asked_of_them_is_refused(
    client: Client, ada: User, address: str, token: str, settings: Any
) -> None:
    settings.REQUIRE_SECOND_FACTOR = "all"
    refused(client, address, token)
    Authenticator.objects.create(user=ada, type="totp", data={})
    assert client.get(address, headers=bearer(token)).status_code == 200


def test_with_a_token_no_session_is_made(client: Client, address: str, token: str) -> None:
    response = client.get(address, headers=bearer(token))
    assert response.status_code == 200
    assert response["Cache-Control"] == "private, no-store"
    assert not response.cookies
    assert not Session.objects.exists()


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
def test_the_name_of_the_scheme_may_be_written_in_any_case(
    client: Client, address: str, token: str, scheme: str
) -> None:
    headers = {"Authorization": f"{scheme} {token}"}
    assert client.get(address, headers=headers).status_code == 200


def test_nobody_elses_conversation_is_found(client: Client, address: str) -> None:
    other = issue_token(User.objects.create_user("bob"), "his", [EXPORT_READ], 30)
    assert client.get(address, headers=bearer(other)).status_code == 404


def refused(client: Client, address: str, token: str) -> None:
    response = client.get(address, headers=bearer(token))
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == (
        'Bearer realm="Everlong", error="invalid_token", scope="export:read"'
    )
    assert "revoked, expired" in response.content.decode()
    assert not response.cookies


def test_wrong_tokens_are_refused_and_not_sent_to_the_sign_in_page(
    client: Client, ada: User, address: str, token: str
) -> None:
    for wrong in "", "ev_guess", token[:-1], issue_token(ada, "usage", [USAGE_READ], 30):
        refused(client, address, wrong)
    AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    refused(client, address, token)


def test_a_disabled_persons_token_is_refused(client: Client, address: str, token: str) -> None:
    User.objects.update(is_active=False)
    refused(client, address, token)


def test_a_wrong_token_is_refused_also_where_a_cookie_signs_in(
    client: Client, ada: User, address: str
) -> None:
    client.force_login(ada)
    response = client.get(address, headers=bearer("ev_guess"))
    assert response.status_code == 401


def test_with_a_token_the_cookie_of_somebody_else_does_not_count(
    client: Client, address: str, token: str
) -> None:
    client.force_login(User.objects.create_user("bob"))
    assert client.get(address, headers=bearer(token)).status_code == 200
    assert client.get(address).status_code == 404


def test_without_a_token_people_sign_in_as_ever(client: Client, ada: User, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 302
    assert response["Location"].startswith("/account/login/")
    client.force_login(ada)
    assert client.get(address).status_code == 200


def test_other_schemes_are_no_tokens(client: Client, address: str, token: str) -> None:
    response = client.get(address, headers={"Authorization": f"Basic {token}"})
    assert response.status_code == 302


@pytest.mark.parametrize("name", ["token", "access_token", "anything"])
def test_a_token_in_the_address_is_refused_whoever_is_signed_in(
    client: Client, ada: User, address: str, token: str, name: str
) -> None:
    for _ in range(2):
        response = client.get(f"{address}?{name}={token}")
        assert response.status_code == 400
        assert "revoke it" in response.content.decode()
        client.force_login(ada)
    assert AccessToken.objects.get().last_used_at is None


def test_a_token_opens_no_other_page(
    client: Client, conversation: Conversation, token: str
) -> None:
    for page in "/", conversation.get_absolute_url(), "/settings/", "/memories/":
        assert client.get(page, headers=bearer(token)).status_code in (302, 404)
    assert client.get("/admin/", headers=bearer(token)).status_code == 302
    response = client.post(f"{conversation.get_absolute_url()}rename/", headers=bearer(token))
    assert response.status_code == 302


def test_a_token_changes_nothing() -> None:
    ada = User.objects.create_user("ada")
    token = issue_token(ada, "backup", [EXPORT_READ], 30)
    asked: list[HttpRequest] = []

    def change(request: HttpRequest) -> HttpResponse:
        asked.append(request)
        return HttpResponse()

    request = RequestFactory().post("/", headers=bearer(token))
    response = login_or_token(EXPORT_READ)(change)(request)
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert not asked


LIMITS = {"token": "2/m/key", "wrong_token": "2/m/ip"}


@override_settings(ACCOUNT_RATE_LIMITS=LIMITS)
def test_uses_of_a_persons_tokens_are_limited_together(
    client: Client, ada: User, address: str, token: str
) -> None:
    another = issue_token(ada, "another", [EXPORT_READ], 30)
    for each in token, another:
        assert client.get(address, headers=bearer(each)).status_code == 200
    response = client.get(address, headers=bearer(token))
    assert (response.status_code, response["Retry-After"]) == (429, "60")
    bobs = issue_token(User.objects.create_user("bob"), "his", [EXPORT_READ], 30)
    assert client.get(address, headers=bearer(bobs)).status_code == 404


@override_settings(ACCOUNT_RATE_LIMITS=LIMITS)
def test_guesses_are_limited_by_address(client: Client, address: str, token: str) -> None:
    for _ in range(2):
        refused(client, address, "ev_guess")
    assert client.get(address, headers=bearer(token)).status_code == 429
    elsewhere = Client(REMOTE_ADDR="192.0.2.7")
    assert elsewhere.get(address, headers=bearer(token)).status_code == 200
