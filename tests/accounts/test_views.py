"""First run, sign-in and sign-out through the real URLs and templates."""

import threading

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts import services
from accounts.models import SetupLink, User
from accounts.services import issue_setup_link

PASSWORD = "correct horse battery"
FORM = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD}

LOGIN, LOGOUT, SIGNUP, PASSWORD_CHANGE = (
    reverse(name)
    for name in ("account_login", "account_logout", "account_signup", "account_change_password")
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def link() -> str:
    return f"/setup/{issue_setup_link()}/"


@pytest.fixture
def new_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has seen no account yet."""
    monkeypatch.setattr(services, "_seen_account", threading.Event())


FIRST_START = "Nobody has an account here yet"


@pytest.mark.usefixtures("new_site")
@pytest.mark.parametrize(
    "address",
    [LOGIN, SIGNUP, reverse("account_reset_password"), "/no/such/page/", "/setup/guess/"],
)
def test_every_page_of_a_new_site_names_the_setup_link_and_does_not_show_it(
    client: Client, link: str, address: str
) -> None:
    page = client.get(address).content.decode()
    assert FIRST_START in page
    assert "Restart the server" in page
    assert link not in page


@pytest.mark.usefixtures("new_site")
def test_the_setup_page_itself_does_not_ask_for_the_link(client: Client, link: str) -> None:
    assert FIRST_START not in client.get(link).content.decode()


@pytest.mark.usefixtures("new_site")
def test_a_site_with_an_account_is_asked_once_whether_it_is_new(client: Client) -> None:
    User.objects.create_user("ada", password=PASSWORD)
    found = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as captured:
            assert FIRST_START not in client.get(LOGIN).content.decode()
        found.append([query for query in captured if "accounts_user" in query["sql"]])
    assert [len(queries) for queries in found] == [1, 0]


def test_setup_shows_the_form_uncached(client: Client, link: str) -> None:
    response = client.get(link)
    assert response.status_code == 200
    assert 'name="password2"' in response.content.decode()
    assert "no-store" in response["Cache-Control"]


def test_setup_signs_the_administrator_in_and_goes_to_the_chat(client: Client, link: str) -> None:
    response = client.post(link, FORM)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(User.objects.get().pk)
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
def test_used_link_is_404(client: Client, link: str, method: str) -> None:
    client.post(link, FORM)
    response = getattr(Client(), method)(link, FORM | {"username": "eve"})
    assert response.status_code == 404
    assert "no longer valid" in response.content.decode()
    assert User.objects.count() == 1


def test_unknown_link_is_404(client: Client) -> None:
    assert client.get("/setup/guess/").status_code == 404


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"password2": "something else"}, "match"),
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"password1": "password", "password2": "password"}, "too common"),
        ({"username": ""}, "required"),
        ({"username": "a b"}, "valid username"),
    ],
)
def test_setup_explains_what_is_wrong_and_keeps_the_link(
    client: Client, link: str, change: dict[str, str], words: str
) -> None:
    response = client.post(link, FORM | change)
    assert response.status_code == 200
    assert words in response.content.decode()
    assert SetupLink.objects.exists()
    assert not User.objects.exists()


def test_setup_needs_the_csrf_token(link: str) -> None:
    assert Client(enforce_csrf_checks=True).post(link, FORM).status_code == 403


def test_nobody_signs_themselves_up(client: Client) -> None:
    response = client.get(SIGNUP)
    assert 'name="password1"' not in response.content.decode()
    client.post(SIGNUP, FORM)
    assert not User.objects.exists()


def test_sign_in_and_sign_out(client: Client) -> None:
    User.objects.create_user("ada", password=PASSWORD)
    response = client.post(LOGIN, {"login": "ada", "password": PASSWORD})
    assert (response.status_code, response["Location"]) == (302, "/")
    response = client.post(LOGOUT)
    assert (response.status_code, response["Location"]) == (302, LOGIN)
    assert "_auth_user_id" not in client.session


def test_wrong_password_is_refused_and_then_rate_limited() -> None:
    # An address and a name of their own: the limit outlasts the test.
    client = Client(REMOTE_ADDR="192.0.2.1")
    User.objects.create_user("eve", password=PASSWORD)
    for _ in range(10):
        client.post(LOGIN, {"login": "eve", "password": "wrong"})
    response = client.post(LOGIN, {"login": "eve", "password": PASSWORD})
    assert response.status_code != 302
    assert "_auth_user_id" not in client.session


def test_password_change(client: Client) -> None:
    client.force_login(User.objects.create_user("ada", password=PASSWORD))
    new = "another long phrase"
    client.post(
        PASSWORD_CHANGE,
        {"oldpassword": PASSWORD, "password1": new, "password2": new},
    )
    assert User.objects.get().check_password(new)


def test_admin_sends_people_to_the_rate_limited_login(client: Client) -> None:
    response = client.get("/admin/")
    assert response.status_code == 302
    login = client.get(response["Location"])
    assert login.status_code == 302
    assert login["Location"].startswith(f"{LOGIN}?next=")
