"""What a person has chosen for all pages: the language is the account's, wherever they are."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language

from accounts.models import User
from accounts.preferences import change_preferences, find_language, speaking_to
from chat.models import Conversation
from chat.queries import announcements
from tests.chat.factories import make_conversation
from tests.chat.pseudo import LANGUAGE, pseudo_language

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def two_languages(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    settings.LANGUAGES = [("en", "en"), (LANGUAGE, LANGUAGE)]
    with pseudo_language(monkeypatch):
        yield


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", language=LANGUAGE)


@pytest.fixture
def conversation(ada: User) -> Conversation:
    return make_conversation(owner=ada, title="Rivers", messages=2)


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(ada)
    return client


def count_statements(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_the_accounts_language_comes_before_the_browsers(browser: Client, ada: User) -> None:
    response = browser.get("/")
    assert "⟦New chat⟧" in response.content.decode()
    assert response["Content-Language"] == LANGUAGE
    change_preferences(ada, {"language": "en"})
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = LANGUAGE
    assert "⟦" not in browser.get("/").content.decode()


@pytest.mark.parametrize("chosen", ["", "xx"])
def test_without_a_choice_or_with_one_that_is_gone_the_browsers_counts(
    browser: Client, ada: User, chosen: str
) -> None:
    change_preferences(ada, {"language": chosen})
    assert "⟦" not in browser.get("/").content.decode()
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = LANGUAGE
    assert "⟦New chat⟧" in browser.get("/").content.decode()


def test_whoever_is_signed_out_gets_the_browsers_language(browser: Client) -> None:
    browser.logout()
    assert "⟦" not in browser.get("/account/login/").content.decode()


def test_a_refusal_is_in_the_accounts_language(browser: Client) -> None:
    response = browser.post("/c/", {"text": " "}, headers={"X-Requested-With": "fetch"})
    assert response.status_code == 422
    assert response.content.decode().startswith("⟦")


@pytest.mark.parametrize("page", ["/", "conversation", "/sidebar/"])
def test_the_language_costs_no_statement(
    browser: Client,
    conversation: Conversation,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
) -> None:
    monkeypatch.setattr("accounts.kept.KEPT_SECONDS", 3600.0)  # so that all is read once
    announcements._kept.forget()  # another test has read them
    address = conversation.get_absolute_url() if page == "conversation" else page
    browser.get(address)
    chosen = count_statements(browser, address)
    settings.LANGUAGES = [("en", "en")]
    browser.get(address)
    assert count_statements(browser, address) == chosen


def test_nor_does_it_where_the_view_is_asynchronous(browser: Client, settings: Any) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert browser.post("/c/", {"text": " "}).status_code == 422
        return len(captured)

    count()
    chosen = count()
    settings.LANGUAGES = [("en", "en")]
    assert count() == chosen > 0


def test_a_worker_speaks_the_language_of_whom_it_works_for(ada: User) -> None:
    with speaking_to(ada.pk):
        assert get_language() == LANGUAGE
    change_preferences(ada, {"language": ""})
    with speaking_to(ada.pk):
        assert get_language() == "en"
    with speaking_to(ada.pk + 1):
        assert get_language() == "en"


def test_only_what_was_chosen_is_written(ada: User) -> None:
    elsewhere = User.objects.get()
    elsewhere.appearance = "dark"
    elsewhere.save()
    change_preferences(ada, {"default_model": "a-model"})
    stored = User.objects.get()
    assert (stored.appearance, stored.default_model, find_language(stored)) == (
        "dark",
        "a-model",
        LANGUAGE,
    )
