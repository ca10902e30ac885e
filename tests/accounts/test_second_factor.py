"""Where a second factor is asked of somebody, they can do nothing before they have one."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse

from accounts import kept, second_factor
from accounts.models import User
from accounts.sessions import find_user_id
from accounts.tokens import USAGE_READ, issue_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password="correct horse battery", is_staff=True)


@pytest.fixture
def asked(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = "staff"


def add_app(user: User) -> Authenticator:
    return Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={})


@pytest.mark.usefixtures("asked")
def test_who_lacks_one_is_led_to_the_page_that_adds_one(client: Client, ada: User) -> None:
    client.force_login(ada)
    for page in "/", "/admin/", "/account/email/", "/projects/":
        assert client.get(page)["Location"] == "/account/2fa/", page
    assert "needs a second factor" in client.get("/account/2fa/").content.decode()
    assert client.get("/sidebar/", headers={"HX-Request": "true"}).status_code == 403
    assert client.post("/account/logout/").status_code == 302


@pytest.mark.usefixtures("asked")
def test_their_sockets_are_nobodys(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert find_user_id(client.session.session_key) is None
    add_app(ada)
    assert client.get("/").status_code == 200
    assert find_user_id(client.session.session_key) == ada.pk


def test_a_session_of_before_it_was_asked_for_opens_no_socket(
    client: Client, ada: User, settings: Any
) -> None:
    client.force_login(ada)
    assert find_user_id(client.session.session_key) == ada.pk
    settings.REQUIRE_SECOND_FACTOR = "staff"
    assert find_user_id(client.session.session_key) is None


@pytest.mark.usefixtures("asked")
def test_an_administrator_without_one_takes_away_nobodys(client: Client, ada: User) -> None:
    """The pages of the administration are called as those of one's own factors."""
    root = User.objects.create_superuser("root")
    theirs = add_app(ada)
    client.force_login(root)
    for page in ("changelist", "change", "delete"):
        args = [] if page == "changelist" else [theirs.pk]
        address = reverse(f"admin:mfa_authenticator_{page}", args=args)
        assert client.get(address)["Location"] == "/account/2fa/"
        assert client.post(address, {"post": "yes"})["Location"] == "/account/2fa/"
    assert Authenticator.objects.filter(pk=theirs.pk).exists()


@pytest.mark.usefixtures("asked")
def test_their_access_tokens_open_nothing(client: Client, ada: User) -> None:
    token = issue_token(ada, "of a script", [USAGE_READ], None)
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get(reverse("usage_calls"), headers=headers).status_code == 401
    add_app(ada)
    assert client.get(reverse("usage_calls"), headers=headers).status_code == 200


@pytest.mark.usefixtures("asked")
def test_one_that_is_added_counts_at_once_and_recovery_codes_are_none(
    client: Client, ada: User
) -> None:
    client.force_login(ada)
    Authenticator.objects.create(user=ada, type=Authenticator.Type.RECOVERY_CODES, data={})
    assert client.get("/").status_code == 302
    add_app(ada)
    assert client.get("/").status_code == 200


@pytest.mark.usefixtures("asked")
def test_what_another_process_took_away_is_known_within_two_seconds(
    client: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(kept, "monotonic", lambda: now)
    app = add_app(ada)
    client.force_login(ada)
    assert client.get("/").status_code == 200
    Authenticator.objects.filter(pk=app.pk)._raw_delete("default")  # no signal: not in this process
    assert client.get("/").status_code == 200
    now += kept.KEPT_SECONDS + 0.1
    assert client.get("/").status_code == 302
    assert find_user_id(client.session.session_key) is None


@pytest.mark.parametrize(
    ("asked_of", "is_staff", "is_asked"),
    [("", True, False), ("staff", True, True), ("staff", False, False), ("all", False, True)],
)
def test_of_whom_it_is_asked(
    settings: Any, client: Client, ada: User, asked_of: str, is_staff: bool, is_asked: bool
) -> None:
    settings.REQUIRE_SECOND_FACTOR = asked_of
    ada.is_staff = is_staff
    ada.save()
    client.force_login(ada)
    assert client.get("/").status_code == (302 if is_asked else 200)


@pytest.mark.usefixtures("asked")
def test_the_last_one_cannot_be_removed(ada: User) -> None:
    adapter = second_factor.SecondFactorAdapter()
    app = add_app(ada)
    assert not adapter.can_delete_authenticator(app)
    Authenticator.objects.create(user=ada, type=Authenticator.Type.WEBAUTHN, data={})
    assert adapter.can_delete_authenticator(app)


def test_an_administrator_takes_a_lost_one_away_and_sees_no_key(
    admin_client: Client, ada: User
) -> None:
    app = Authenticator.objects.create(
        user=ada, type=Authenticator.Type.TOTP, data={"secret": "the-key-of-the-app"}
    )
    page = admin_client.get("/admin/mfa/authenticator/").content.decode()
    assert "ada" in page
    assert "the-key-of-the-app" not in page
    shown = admin_client.get(f"/admin/mfa/authenticator/{app.pk}/change/").content.decode()
    assert "the-key-of-the-app" not in shown
    admin_client.post(f"/admin/mfa/authenticator/{app.pk}/delete/", {"post": "yes"})
    assert not Authenticator.objects.exists()
