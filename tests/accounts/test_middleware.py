"""Whose page may do what, and what browsers may keep of it."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import User
from chat.models import Conversation
from tests.chat.factories import make_conversation

pytestmark = pytest.mark.django_db

LOGOUT = reverse("account_logout")
SCRIPTED = {"X-Requested-With": "fetch"}


@pytest.fixture
def ada(client: Client) -> User:
    """Signed in in `client`."""
    user = User.objects.create_user("ada", password="correct horse battery")
    client.force_login(user)
    return user


@pytest.fixture
def conversation(ada: User) -> Conversation:
    return make_conversation(owner=ada, title="Rivers", messages=2)


def told(client: Client) -> dict[str, str]:
    answer: dict[str, str] = client.get("/session/").json()
    return answer


@pytest.mark.django_db(transaction=True)  # exports read in another thread
@pytest.mark.parametrize(
    ("address", "headers", "kept"),
    [
        ("", {}, "private, no-cache"),  # for Back; its script covers it after a sign-out
        ("", {"HX-Request": "true"}, "private, no-store"),
        ("messages/", SCRIPTED, "private, no-store"),
        ("export.md", {}, "private, no-store"),
        ("export.json", {}, "private, no-store"),
        ("usage/", {"HX-Request": "true"}, "private, no-store"),
    ],
)
def test_what_a_person_gets_is_kept_by_no_cache_that_others_may_read(
    client: Client, conversation: Conversation, address: str, headers: dict[str, str], kept: str
) -> None:
    response = client.get(f"{conversation.get_absolute_url()}{address}", headers=headers)
    assert response.status_code == 200
    assert response["Cache-Control"] == kept
    assert "Cookie" in response["Vary"]


def test_a_sign_out_empties_the_cache_and_other_tabs_can_see_it_by_the_token(
    client: Client, ada: User
) -> None:
    client.get("/")
    before = client.cookies[settings.CSRF_COOKIE_NAME].value
    response = client.post(LOGOUT)
    assert response["Clear-Site-Data"] == '"cache"', "and no cookies: they are also of other sites"
    assert client.cookies[settings.CSRF_COOKIE_NAME].value != before
    assert "Clear-Site-Data" not in client.get(response["Location"])


def test_a_page_can_ask_who_is_signed_in_and_for_a_token_that_holds(ada: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    assert told(browser)["user"] == ""
    assert "You were signed out" in told(browser)["words"]
    browser.force_login(ada)
    answer = told(browser)
    assert answer["user"] == str(ada.pk)
    assert browser.post(LOGOUT, headers={"X-CSRFToken": answer["token"]}).status_code == 302


@pytest.mark.parametrize("way", ["header", "field"])
def test_ones_page_does_nothing_while_somebody_else_is_signed_in(
    client: Client, conversation: Conversation, ada: User, way: str
) -> None:
    def rename(owner: User) -> int:
        own = str(owner.pk)
        form = {"title": "Lakes"} | ({"page_user": own} if way == "field" else {})
        headers = {"X-Page-User": own} if way == "header" else {}
        address = reverse("conversation_rename", args=[conversation.pk])
        return client.post(address, form, headers=headers).status_code

    bob = User.objects.create_user("bob", password="correct horse battery")
    assert rename(bob) == 401
    conversation.refresh_from_db()
    assert conversation.title == "Rivers"
    assert rename(ada) < 400
    conversation.refresh_from_db()
    assert conversation.title == "Lakes"


def test_a_script_gets_the_words_a_reader_a_page_and_nobody_the_sign_in(
    client: Client, ada: User
) -> None:
    page = client.get("/", headers={"X-Page-User": "0"})
    assert (page.status_code, page["Content-Type"]) == (401, "text/html; charset=utf-8")
    assert "ada is signed in" in page.content.decode()
    words = client.get("/sidebar/", headers={"X-Page-User": "0", "HX-Request": "true"})
    assert (words.status_code, words["Content-Type"]) == (401, "text/plain; charset=utf-8")
    assert words.content.decode().startswith("This page belongs to somebody else")
    client.logout()
    assert client.get("/", headers={"X-Page-User": "0"}).status_code == 302
