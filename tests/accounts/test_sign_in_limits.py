"""Who guesses passwords locks themselves out, and nobody else."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from accounts.adapter import AccountAdapter
from accounts.models import User
from accounts.services import issue_setup_link

PASSWORD = "correct horse battery"
LOGIN = "/account/login/"
PROXY, ATTACKER, OWNER = "192.0.2.1", "198.51.100.7", "203.0.113.9"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ada() -> None:
    User.objects.create_user("ada", password=PASSWORD)


def attempt(
    password: str, *, peer: str = PROXY, forwarded: str = "", login: str = "ada"
) -> HttpResponse:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    client = Client(REMOTE_ADDR=peer, headers=headers, raise_request_exception=False)
    return client.post(LOGIN, {"login": login, "password": password})  # type: ignore[return-value]


def signs_in(**where: str) -> bool:
    return attempt(PASSWORD, **where).status_code == 302


def test_failures_from_one_address_do_not_lock_the_owner_out_at_another() -> None:
    for _ in range(10):
        refused = attempt("wrong", peer=ATTACKER)
    assert "Try again in five minutes" in refused.content.decode()
    assert not signs_in(peer=ATTACKER)
    assert signs_in(peer=OWNER)


def test_without_the_setting_a_forwarded_address_counts_for_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccountAdapter, "_proxy_named", False)
    for number in range(10):
        attempt("wrong", peer=ATTACKER, forwarded=f"198.51.100.{number}")
    assert not signs_in(peer=ATTACKER, forwarded=OWNER)
    assert caplog.text.count("TRUSTED_PROXIES") == 1


def test_behind_a_trusted_proxy_each_client_has_its_own_limits(settings: Any) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    for number in range(31):
        # What stands before the proxy's own entry was made up by the client.
        refused = attempt("wrong", forwarded=f"10.0.0.{number}, {ATTACKER}", login=f"u{number}")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "60"
    assert "Try again in a minute" in refused.content.decode()
    assert not signs_in(forwarded=ATTACKER)
    assert not signs_in(forwarded=f"{OWNER}, {ATTACKER}")
    assert signs_in(forwarded=OWNER)


@pytest.mark.parametrize("forwarded", ["", "unknown", "198.51.100.7", "a, b", "," * 50])
def test_a_header_that_does_not_fit_the_setting_falls_back_to_the_peer(
    settings: Any, forwarded: str
) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2
    for _ in range(10):
        assert attempt("wrong", peer=ATTACKER, forwarded=forwarded).status_code == 200
    assert not signs_in(peer=ATTACKER, forwarded=forwarded)
    assert signs_in(peer=OWNER, forwarded=forwarded)


def test_addresses_of_one_ipv6_network_are_one_client() -> None:
    for number in range(10):
        attempt("wrong", peer=f"2001:db8::{number}")
    assert not signs_in(peer="2001:db8::ffff")
    assert signs_in(peer="2001:db8:0:1::1")


def test_the_administrations_sign_in_is_under_the_same_limits() -> None:
    User.objects.filter(username="ada").update(is_staff=True)
    client = Client(REMOTE_ADDR=ATTACKER)
    form = {"username": "ada", "password": PASSWORD}
    answer = client.post("/admin/login/?next=/admin/", form)
    assert answer.status_code == 302
    assert answer["Location"].startswith(LOGIN)
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("address", ["/account/signup/", "setup"])
def test_forms_that_make_accounts_have_a_limit(address: str) -> None:
    User.objects.all().delete()
    if address == "setup":
        address = f"/setup/{issue_setup_link()}/"
    client = Client(REMOTE_ADDR=ATTACKER)
    for _ in range(20):
        assert client.post(address, {}).status_code == 200
    refused = client.post(address, {})
    assert refused.status_code == 429
    assert refused["Retry-After"] == "60"
    assert Client(REMOTE_ADDR=OWNER).post(address, {}).status_code == 200
