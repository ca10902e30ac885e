"""The settings of a person: a dialog of the chat and a page, by section."""

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from accounts import audit
from accounts.audit import Act
from accounts.models import AccessToken, User
from accounts.tokens import EXPORT_READ, find_user_id_by_token, issue_token
from chat.models import Memory
from chat.services.library import memories
from chat.web.settings_frame import SECTIONS
from spending.limits import forget_budgets
from spending.models import Budget
from tests.chat.factories import make_conversation, make_profile, make_user
from tests.chat.pseudo import LANGUAGE, pseudo_language
from tests.spending.factories import make_call

pytestmark = pytest.mark.django_db

IN_DIALOG = {"HX-Request": "true"}
FROM_SCRIPT = {"X-Requested-With": "fetch"}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
GENERAL, TOKENS = "/settings/general/", "/settings/tokens/"


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_is_a_page_and_a_dialog(browser: Client, section: str) -> None:
    address = reverse("settings_section", args=[section])
    page = browser.get(address).content.decode()
    assert "<html" in page
    dialog = browser.get(address, headers=IN_DIALOG).content.decode()
    assert "<html" not in dialog
    for shown in page, dialog:
        for other in SECTIONS:
            assert f'href="/settings/{other}/"' in shown
        assert shown.count('aria-current="page"') == 1


def test_the_first_section_is_shown_where_none_was_chosen(browser: Client) -> None:
    page = browser.get("/settings/").content.decode()
    assert 'id="id_appearance"' in page
    assert "settings chosen" not in page
    assert "settings chosen" in browser.get(GENERAL).content.decode()


def test_there_is_no_other_section(browser: Client) -> None:
    assert browser.get("/settings/secrets/").status_code == 404


@pytest.mark.parametrize("address", ["/settings/", GENERAL, TOKENS, "/settings/memory/"])
def test_whoever_is_signed_out_signs_in_first(client: Client, address: str) -> None:
    assert client.get(address)["Location"] == f"/account/login/?next={address}"


# --- General --------------------------------------------------------------------------------------


def test_what_is_chosen_is_stored_on_the_account(browser: Client, ada: User) -> None:
    make_profile("a-model", display_name="A Model")
    chosen = {"default_model": "a-model", "appearance": "dark"}
    response = browser.post(GENERAL, chosen)
    assert (response.status_code, response["Location"]) == (302, GENERAL)
    ada.refresh_from_db()
    assert (ada.default_model, ada.appearance) == ("a-model", "dark")
    page = browser.get(GENERAL).content.decode()
    assert '<option value="a-model" selected>' in page
    assert 'value="dark" autocomplete="off" id="id_appearance_2" checked' in page


def test_the_chosen_model_is_that_of_new_chats(browser: Client) -> None:
    make_profile("a-model", display_name="A Model")
    assert browser.get("/").context["model"] != "a-model"
    browser.post(GENERAL, {"default_model": "a-model"})
    assert browser.get("/").context["model"] == "a-model"
    assert "Default</option>" in browser.get(GENERAL).content.decode()


def test_the_dialog_says_that_it_is_saved(browser: Client) -> None:
    response = browser.post(GENERAL, {"appearance": "light"}, headers=IN_DIALOG)
    assert response.status_code == 200
    assert "Saved" in response.content.decode()


def test_what_a_request_does_not_name_stays(browser: Client, ada: User) -> None:
    User.objects.update(appearance="dark", default_model="test-model")
    make_profile("test-model")
    response = browser.post(GENERAL, {"appearance": "light"}, headers=FROM_SCRIPT)
    assert response.status_code == 204
    ada.refresh_from_db()
    assert (ada.default_model, ada.appearance) == ("test-model", "light")
    browser.post(GENERAL, {"default_model": ""}, headers=FROM_SCRIPT)
    ada.refresh_from_db()
    assert (ada.default_model, ada.appearance) == ("", "light")


@pytest.mark.parametrize(
    "chosen", [{"appearance": "pink"}, {"default_model": "gpt"}, {"language": "xx"}]
)
def test_what_is_not_offered_is_not_stored(
    browser: Client, ada: User, chosen: dict[str, str]
) -> None:
    browser.post(GENERAL, chosen)
    ada.refresh_from_db()
    assert (ada.default_model, ada.appearance, ada.language) == ("", "", "")


def test_a_model_that_is_gone_is_named_and_stays_chosen(browser: Client, ada: User) -> None:
    make_profile("old", display_name="Old Model", enabled=False)
    User.objects.update(default_model="old")
    assert "Old Model (no longer offered)" in browser.get(GENERAL).content.decode()
    browser.post(GENERAL, {"default_model": "old", "appearance": "dark"})
    ada.refresh_from_db()
    assert (ada.default_model, ada.appearance) == ("old", "dark")


def test_every_page_is_drawn_in_the_accounts_theme_from_the_first(browser: Client) -> None:
    assert "data-theme" not in browser.get("/").content.decode()
    User.objects.update(appearance="dark")
    for address in "/", "/settings/", "/projects/", reverse("account_change_password"):
        assert 'data-theme="dark"' in browser.get(address).content.decode(), address


def test_with_one_language_there_is_none_to_choose(browser: Client) -> None:
    assert "id_language" not in browser.get(GENERAL).content.decode()


@pytest.fixture
def two_languages(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    settings.LANGUAGES = [("en", "en"), (LANGUAGE, LANGUAGE)]
    with pseudo_language(monkeypatch):
        yield


@pytest.mark.usefixtures("two_languages")
def test_another_language_is_shown_at_once(browser: Client, ada: User) -> None:
    assert ">Esperanto</option>" in browser.get(GENERAL).content.decode()
    chosen = {"language": LANGUAGE}
    response = browser.post(GENERAL, chosen, headers=IN_DIALOG)
    assert (response.status_code, response["HX-Refresh"]) == (204, "true")
    assert "⟦Settings⟧" in browser.get(GENERAL).content.decode()
    again = browser.post(GENERAL, chosen, headers=IN_DIALOG)
    assert "HX-Refresh" not in again


# --- Memory ---------------------------------------------------------------------------------------


def test_the_memory_is_a_section(browser: Client, ada: User) -> None:
    memories.remember_fact(ada.pk, "Likes tea", Memory.Source.USER)
    memories.remember_fact(make_user("bob").pk, "Likes coffee", Memory.Source.USER)
    for address in "/settings/memory/", "/memories/":
        for headers in {}, IN_DIALOG:
            shown = browser.get(address, headers=headers).content.decode()
            assert "Likes tea" in shown
            assert "coffee" not in shown
            assert 'id="settings-memory"' in shown


# --- Access tokens --------------------------------------------------------------------------------

NEW = {"name": "backup", "scopes": [EXPORT_READ], "days": "30"}


@pytest.mark.parametrize("headers", [{}, IN_DIALOG])
def test_a_token_is_shown_once(browser: Client, ada: User, headers: dict[str, str]) -> None:
    response = browser.post(TOKENS, NEW, headers=headers)
    assert response.status_code == 200
    assert response.context["token"] in response.content.decode()
    assert find_user_id_by_token(response.context["token"], EXPORT_READ) == ada.pk
    row = AccessToken.objects.get()
    assert (row.name, row.scopes) == ("backup", [EXPORT_READ])
    listed = browser.get(TOKENS).content.decode()
    assert row.shown in listed
    assert response.context["token"] not in listed


def test_the_page_with_a_token_is_kept_by_no_cache(browser: Client) -> None:
    assert "no-store" in browser.post(TOKENS, NEW)["Cache-Control"]


def test_a_token_may_be_made_for_ever(browser: Client) -> None:
    browser.post(TOKENS, NEW | {"days": ""})
    assert AccessToken.objects.get().expires_at is None


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"scopes": []}, {"scopes": ["admin"]}, {"days": "31"}, {"name": 101 * "x"}],
)
def test_a_form_that_is_wrong_makes_no_token(browser: Client, wrong: dict[str, Any]) -> None:
    response = browser.post(TOKENS, NEW | wrong, headers=IN_DIALOG)
    assert response.status_code == 422
    assert "field-error" in response.content.decode()
    assert not AccessToken.objects.exists()


def test_too_many_tokens_are_refused_in_words(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.tokens.MOST_TOKENS", 1)
    issue_token(ada, "first", [EXPORT_READ], None)
    response = browser.post(TOKENS, NEW)
    assert response.status_code == 422
    assert "Revoke one first" in response.content.decode()


def test_a_token_is_revoked_by_its_owner_alone(browser: Client, ada: User) -> None:
    token = issue_token(ada, "backup", [EXPORT_READ], 30)
    address = reverse("token_revoke", args=[AccessToken.objects.get().pk])
    other = Client()
    other.force_login(make_user("bob"))
    assert other.post(address).status_code == 404
    assert browser.get(address).status_code == 405
    assert find_user_id_by_token(token, EXPORT_READ) == ada.pk
    assert browser.post(address)["Location"] == TOKENS
    assert find_user_id_by_token(token, EXPORT_READ) is None
    assert browser.post(address).status_code == 404


def test_nobody_elses_tokens_are_listed(browser: Client) -> None:
    issue_token(make_user("bob"), "bobs", [EXPORT_READ], 30)
    assert "bobs" not in browser.get(TOKENS).content.decode()


def test_a_form_needs_the_csrf_token(ada: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    for address in GENERAL, TOKENS:
        assert strict.post(address, NEW).status_code == 403
    assert not AccessToken.objects.exists()


# --- Sessions, security, usage, data --------------------------------------------------------------


def shown(browser: Client, section: str) -> str:
    """The words of a section."""
    html = browser.get(f"/settings/{section}/", headers=IN_DIALOG).content.decode()
    return " ".join(strip_tags(html.partition("settings-title")[2]).split())


def test_this_browser_and_the_others_are_listed(browser: Client, ada: User) -> None:
    other = Client(headers={"user-agent": FIREFOX})
    other.force_login(ada)
    other.get("/account/sessions/")
    words = shown(browser, "sessions")
    assert words.count("This browser.") == 1
    assert "Firefox" in words


def test_the_state_of_second_factors_is_told(browser: Client, ada: User) -> None:
    words = shown(browser, "security")
    assert "Change password" in words
    assert "Not in use" in words
    assert "Recovery codes" not in words
    for kind in "totp", "webauthn", "webauthn", "recovery_codes":
        Authenticator.objects.create(user=ada, type=kind, data={})
    words = shown(browser, "security")
    assert "Its codes are asked for" in words
    assert "You have 2." in words
    assert "Recovery codes" in words


def test_who_has_no_password_can_set_one(browser: Client, ada: User) -> None:
    ada.set_unusable_password()
    ada.save()
    browser.force_login(ada)
    assert "Set a password" in shown(browser, "security")


@pytest.fixture
def _budgets() -> Iterator[None]:
    """What a process keeps of them does not come from another test, nor go to one."""
    forget_budgets()
    yield
    forget_budgets()


def give(period: str, limit: int, user: User | None = None) -> None:
    Budget.objects.create(user=user, period=period, unit="money", limit=limit)
    forget_budgets()  # as the end of the transaction would


@pytest.mark.usefixtures("_budgets")
def test_what_was_spent_and_what_is_left_is_told(browser: Client, ada: User) -> None:
    assert "budget" not in shown(browser, "usage")
    make_call("1.25", user=ada)
    make_call("7", user=make_user("bob"))
    give("month", 5, ada)
    words = shown(browser, "usage")
    assert "$1.25" in words
    assert "Your budget for this month" in words
    assert "$1.25 of $5.00" in words
    assert "$7" not in words


@pytest.mark.usefixtures("_budgets")
def test_of_the_sites_budget_only_administrators_are_told(browser: Client, ada: User) -> None:
    give("day", 50)
    assert "budget" not in shown(browser, "usage")
    User.objects.update(is_superuser=True, is_staff=True)
    assert "The site’s budget for today" in shown(browser, "usage")


def test_who_has_read_something_is_told(browser: Client, ada: User) -> None:
    assert "Nobody has read anything of yours" in shown(browser, "data")
    row = make_conversation(owner=ada)
    audit.record(make_user("root"), Act.READ, target=row, owner=ada, reason="Asked for help")
    words = shown(browser, "data")
    assert "root" in words
    assert "Asked for help" in words
    page = browser.get("/settings/data/").content.decode()
    for name in "account_export", "account_delete":
        assert f'href="{reverse(name)}"' in page
