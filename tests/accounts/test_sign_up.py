"""Sign-up by a form, addresses that are confirmed by mail, and forgotten passwords."""

import re
import threading
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group
from django.core import mail
from django.test import Client

from accounts.models import User
from config.sign_in import SignUp

PASSWORD = "correct horse battery"
LOGIN, SIGN_UP, RESET = "/account/login/", "/account/signup/", "/account/password/reset/"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def site(settings: Any) -> None:
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    settings.SIGN_UP = SignUp("open", frozenset(), "")


def mails() -> list[mail.EmailMessage]:
    """What was mailed, once all of it is."""
    for thread in threading.enumerate():
        if thread.name == "mail":
            thread.join()
    return mail.outbox


def link_of(message: mail.EmailMessage) -> str:
    found = re.search(r"http://testserver(/\S+)", str(message.body))
    assert found
    return found[1]


def sign_up(address: str) -> Any:
    form = {"email": address, "password1": PASSWORD, "password2": PASSWORD}
    return Client().post(SIGN_UP, form, follow=True)


def signs_in(login: str, password: str = PASSWORD) -> bool:
    client = Client()
    client.post(LOGIN, {"login": login, "password": password})
    return client.get("/session/").json()["user"] != ""


def test_who_signs_up_is_let_in_once_the_address_is_confirmed() -> None:
    assert "Confirm your address" in sign_up("Grace@example.org").content.decode()
    assert not signs_in("grace@example.org")
    link = link_of(mails()[0])
    assert "grace@example.org" in Client().get(link).content.decode()
    Client().post(link)
    assert signs_in("grace@example.org")
    assert signs_in("grace")  # the name follows from the address


def test_new_people_are_in_the_group_of_the_settings(settings: Any) -> None:
    settings.SIGN_UP = SignUp("open", frozenset(), "People")
    sign_up("grace@example.org")
    assert Group.objects.get(user__username="grace").name == "People"


@pytest.mark.parametrize("address", ["a@other.test", "a@sub.example.org", "a@example.org.test"])
def test_only_addresses_of_the_domains_sign_up(settings: Any, address: str) -> None:
    settings.SIGN_UP = SignUp("domain", frozenset({"example.org"}), "")
    assert "Only addresses of these domains" in sign_up(address).content.decode()
    assert not User.objects.exists()
    sign_up("a@EXAMPLE.org")
    assert User.objects.exists()
    assert not signs_in("a@example.org")


@pytest.mark.parametrize("reason", ["closed", "no mail"])
def test_the_form_is_closed_unless_addresses_can_be_confirmed(settings: Any, reason: str) -> None:
    if reason == "closed":
        settings.SIGN_UP = SignUp("closed", frozenset(), "")
    else:
        settings.MAIL = {}
    assert "Sign-up is closed" in sign_up("grace@example.org").content.decode()
    assert not User.objects.exists()


def test_signing_up_tells_nobody_who_has_an_account() -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    new, known = sign_up("grace@example.org"), sign_up("ada@example.org")
    assert new.redirect_chain == known.redirect_chain
    assert without_token(new) == without_token(known)
    assert User.objects.filter(email="ada@example.org").count() == 1
    assert sorted(message.to for message in mails()) == [["ada@example.org"], ["grace@example.org"]]


def test_accounts_that_did_not_sign_up_need_no_confirmed_address() -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    assert signs_in("ada")
    assert signs_in("ada@example.org")


def test_an_address_is_the_same_in_capitals() -> None:
    User.objects.create_user("ada", "Ada@Example.org", PASSWORD)
    assert signs_in("ADA@example.ORG")
    Client().post(RESET, {"email": "aDa@example.org"})
    assert len(mails()) == 1


def test_an_address_that_is_added_locks_nobody_out() -> None:
    ada = User.objects.create_user("ada", password=PASSWORD)
    assert signs_in("ada")
    EmailAddress.objects.create(user=ada, email="new@example.org", verified=False)
    assert signs_in("ada")


def test_a_forgotten_password_is_set_anew_by_a_link_that_works_once() -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    Client().post(RESET, {"email": "ada@example.org"})
    (message,) = mails()
    client = Client()
    form = client.get(link_of(message), follow=True)
    new = "another long phrase"
    client.post(form.redirect_chain[-1][0], {"password1": new, "password2": new})
    assert signs_in("ada", new)
    assert not signs_in("ada")
    again = Client().get(link_of(message), follow=True).content.decode()
    assert "too old or was used already" in again


def test_asking_for_a_new_password_tells_nobody_who_has_an_account() -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    known = Client().post(RESET, {"email": "ada@example.org"}, follow=True)
    unknown = Client().post(RESET, {"email": "nobody@example.org"}, follow=True)
    assert without_token(known) == without_token(unknown)
    assert [message.to for message in mails()] == [["ada@example.org"]]


def test_a_page_does_not_fail_with_the_mail_server(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9  # nobody answers there
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    assert Client().post(RESET, {"email": "ada@example.org"}).status_code == 302
    mails()
    assert "a mail was not sent" in caplog.text


def test_without_mail_nothing_is_sent_and_nothing_offers_it(settings: Any) -> None:
    settings.MAIL = {}
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    assert RESET not in Client().get(LOGIN).content.decode()
    page = Client().get(RESET).content.decode()
    assert "Ask your administrator" in page
    assert 'name="email"' not in page
    Client().post(RESET, {"email": "ada@example.org"})
    assert mails() == []


def without_token(response: Any) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())
