"""Links by which one person may make an account."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import invitations
from accounts.forms import NewAccountForm
from accounts.invitations import InvitationInvalid, accept, find_valid, invite
from accounts.models import AuditEntry, Invitation, Role, User
from config.public_url import read_public_url

PASSWORD = "correct horse battery"
FORM = {"username": "grace", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def chess(db: None) -> Group:
    return Group.objects.create(name="Chess")


@pytest.fixture
def link(chess: Group) -> str:
    _, token = invite(None, group=chess, email="Grace@example.org")
    return f"/invitation/{token}/"


def test_whoever_has_the_link_makes_one_account_in_the_group(client: Client, link: str) -> None:
    assert 'name="password2"' in client.get(link).content.decode()
    answer = client.post(link, FORM)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    grace = User.objects.get(username="grace")
    assert client.session["_auth_user_id"] == str(grace.pk)
    assert [group.name for group in grace.groups.all()] == ["Chess"]
    assert grace.email == "grace@example.org"
    assert grace.role == Role.USER
    assert Invitation.objects.get().used_by == grace
    used = Client().post(link, FORM | {"username": "eve"})
    assert used.status_code == 404
    assert User.objects.count() == 1


def test_nobody_takes_a_name_that_differs_from_anothers_only_in_its_capitals(
    client: Client, link: str
) -> None:
    """Names are looked up without them at a sign-in: neither of the two could sign in any more."""
    User.objects.create_user("root", password=PASSWORD)
    answer = client.post(link, FORM | {"username": "Root"})
    assert "already exists" in answer.content.decode()
    assert User.objects.count() == 1
    login = {"login": "root", "password": PASSWORD}
    assert Client().post("/account/login/", login)["Location"] == "/"


def test_an_address_that_an_administrator_typed_is_no_verified_one(
    client: Client, link: str
) -> None:
    client.post(link, FORM)
    assert not EmailAddress.objects.exists()


def expire(invitation: Invitation) -> None:
    invitation.expires_at = timezone.now() - timedelta(seconds=1)
    invitation.save()


def revoke(invitation: Invitation) -> None:
    assert invitations.revoke(Invitation.objects.all()) == [invitation]


@pytest.mark.django_db
@pytest.mark.parametrize("end", [expire, revoke])
def test_a_link_that_is_over_makes_nothing(client: Client, end: Any) -> None:
    invitation, token = invite(None)
    end(invitation)
    for answer in client.get(f"/invitation/{token}/"), client.post(f"/invitation/{token}/", FORM):
        assert answer.status_code == 404
        assert "cannot be used" in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.django_db
def test_a_used_invitation_cannot_be_revoked(client: Client) -> None:
    invitation, _ = invite(None)
    accept(invitation, "grace", PASSWORD)
    assert invitations.revoke(Invitation.objects.all()) == []


@pytest.mark.django_db
def test_what_is_wrong_with_the_form_does_not_use_the_link_up(client: Client) -> None:
    User.objects.create_user("grace")
    _, token = invite(None)
    answer = client.post(f"/invitation/{token}/", FORM)
    assert "already exists" in answer.content.decode()
    assert find_valid(token) is not None


def test_a_name_that_somebody_takes_meanwhile_is_one_that_is_taken(
    client: Client, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_user("grace")
    for check in ("validate_unique", "clean_username"):  # they have looked too early
        monkeypatch.setattr(NewAccountForm, check, lambda form: form.cleaned_data["username"])
    answer = client.post(link, FORM)
    assert "already exists" in answer.content.decode()
    assert Invitation.objects.get().used_at is None


@pytest.mark.django_db
def test_the_database_has_no_token() -> None:
    invitation, token = invite(None)
    assert token not in str(vars(invitation))


@pytest.mark.django_db
def test_who_is_signed_in_makes_no_second_account(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    _, token = invite(None)
    client.post(f"/invitation/{token}/", FORM)
    assert User.objects.count() == 1
    assert find_valid(token) is not None


@pytest.mark.on_both
def test_of_two_who_try_at_once_one_gets_in(transactional_db: None) -> None:
    invitation, _ = invite(None)
    start = threading.Barrier(2)
    outcomes: list[str] = []

    def try_it(name: str) -> None:
        start.wait()
        try:
            outcomes.append(accept(invitation, name, PASSWORD).username)
        except InvitationInvalid:
            outcomes.append("refused")
        connection.close()

    threads = [threading.Thread(target=try_it, args=(name,)) for name in ("grace", "eve")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refused") == 1
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_links_cannot_be_tried_without_end() -> None:
    client = Client(REMOTE_ADDR="198.51.100.9")
    tried = [client.post("/invitation/guess/", FORM).status_code for _ in range(21)]
    assert tried == [404] * 20 + [429]


@pytest.mark.parametrize(
    ("public", "host", "origin"),
    [
        ("", "192.0.2.7", "http://192.0.2.7:8000"),
        ("", "::1", "http://[::1]:8000"),
        ("https://chat.example.org", "127.0.0.1", "https://chat.example.org"),
    ],
)
def test_the_command_prints_a_link_that_works(
    chess: Group, capsys: Any, client: Client, settings: Any, public: str, host: str, origin: str
) -> None:
    settings.PUBLIC_URL, settings.HOST = read_public_url(public), host
    settings.PORT = 8000
    call_command("invite", "--group", "Chess", "--email", "grace@example.org", "--days", "2")
    link = capsys.readouterr().out.strip()
    assert link.startswith(f"{origin}/invitation/")
    client.post(link[link.index("/invitation/") :], FORM)
    assert User.objects.get().groups.get() == chess


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [("--group", "Nobody"), ("--email", "nobody"), ("--days", "0")],
    ids=lambda each: each[0],
)
def test_the_command_says_what_is_wrong(wrong: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=wrong[1]):
        call_command("invite", *wrong)
    assert not Invitation.objects.exists()


def test_the_administration_shows_the_link_once(admin_client: Client, chess: Group) -> None:
    form = {"group": chess.pk, "email": "", "days": "3"}
    page = admin_client.post("/admin/accounts/invitation/add/", form).content.decode()
    link = page.split("<code>")[1].split("</code>")[0]
    assert "http://testserver/invitation/" in link
    assert link not in admin_client.get("/admin/accounts/invitation/").content.decode()
    chosen = {"action": "revoke", "_selected_action": Invitation.objects.get().pk}
    admin_client.post("/admin/accounts/invitation/", chosen)
    assert Client().get(link).status_code == 404
    acts = AuditEntry.objects.filter(target_kind="invitation").order_by("pk")
    assert list(acts.values_list("act", flat=True)) == ["add", "revoke"]
