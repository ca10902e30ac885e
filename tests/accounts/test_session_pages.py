"""The list of the sessions in which somebody is signed in."""

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.browsers import describe_browser
from accounts.models import User

PASSWORD = "correct horse battery"
LIST = "/account/sessions/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def people() -> None:
    for name in "ada", "eve":
        User.objects.create_user(name, password=PASSWORD)


def sign_in(name: str, user_agent: str = FIREFOX) -> Client:
    client = Client(headers={"User-Agent": user_agent})
    assert client.post("/account/login/", {"login": name, "password": PASSWORD}).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get("/session/").json()["user"] != ""


def test_it_names_browser_address_and_time_of_ones_own_sessions() -> None:
    sign_in("eve")
    here, there = sign_in("ada"), sign_in("ada", "Mozilla/5.0 (iPhone) Version/18.0 Safari/605.1")
    page = here.get(LIST).content.decode()
    assert page.count("<li>") == 2
    assert "Firefox on Linux" in page
    assert "Safari on iPhone" in page
    assert "127.0.0.1" in page
    assert page.index("This browser.") < page.index("Safari on iPhone")
    assert is_in(there)


def test_one_is_ended_and_the_others_stay() -> None:
    here, there, third = sign_in("ada"), sign_in("ada"), sign_in("ada")
    row = UserSession.objects.get(session_key=there.session.session_key)
    assert here.post(f"{LIST}{row.pk}/").status_code == 302
    assert [is_in(client) for client in (here, there, third)] == [True, False, True]


def test_nobody_ends_a_session_of_somebody_else() -> None:
    ada, eve = sign_in("ada"), sign_in("eve")
    row = UserSession.objects.get(session_key=ada.session.session_key)
    assert eve.post(f"{LIST}{row.pk}/").status_code == 404
    assert is_in(ada)


def test_all_others_are_ended_also_those_that_are_not_listed() -> None:
    here, there, eve = sign_in("ada"), sign_in("ada"), sign_in("eve")
    old = Client()
    old.force_login(User.objects.get(username="ada"))  # as of before the list was kept
    here.post(f"{LIST}others/")
    assert [is_in(client) for client in (here, there, old, eve)] == [True, False, False, True]


def test_ones_own_is_ended_as_by_signing_out() -> None:
    here = sign_in("ada")
    row = UserSession.objects.get()
    assert here.post(f"{LIST}{row.pk}/")["Location"] == "/account/login/"
    assert not Session.objects.filter(session_key=row.session_key).exists()


def test_a_request_writes_nothing_about_its_session() -> None:
    here = sign_in("ada")
    with CaptureQueriesContext(connection) as captured:
        here.get("/session/")
    assert captured.captured_queries
    assert all(query["sql"].startswith("SELECT") for query in captured)


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15_0) Version/18 Safari/605", "Safari on macOS"),
        ("curl/8.5", "Another program"),
        ("", "Another program"),
    ],
)
def test_browsers_have_names_that_people_know(user_agent: str, words: str) -> None:
    assert describe_browser(user_agent) == words
