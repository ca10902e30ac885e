"""The one-time link: it works once, and only while there is nobody."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from accounts.models import SetupLink, User
from accounts.services import (
    SetupLinkInvalid,
    claim_setup_link,
    hash_token,
    is_setup_link_valid,
    issue_setup_link,
)
from tests.support.patience import PATIENCE

PASSWORD = "correct horse battery"


def issue() -> str:
    token = issue_setup_link()
    assert token is not None
    return token


@pytest.mark.django_db
def test_claim_creates_the_administrator() -> None:
    user = claim_setup_link(issue(), "ada", PASSWORD)
    assert user == User.objects.get()
    assert user.username == "ada"
    assert user.is_superuser
    assert user.is_staff
    assert user.check_password(PASSWORD)


@pytest.mark.django_db
def test_only_the_hash_is_stored() -> None:
    token = issue()
    link = SetupLink.objects.get()
    assert link.token_hash == hash_token(token)
    assert token not in str(vars(link))


@pytest.mark.django_db
def test_link_works_once() -> None:
    token = issue()
    claim_setup_link(token, "ada", PASSWORD)
    assert not is_setup_link_valid(token)
    with pytest.raises(SetupLinkInvalid):
        claim_setup_link(token, "eve", PASSWORD)
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_every_process_prints_the_same_link() -> None:
    """And every start: the one that somebody has copied still works."""
    assert issue() == issue()
    assert is_setup_link_valid(issue())


@pytest.mark.django_db
def test_another_secret_key_makes_another_link(settings: Any) -> None:
    old = issue()
    settings.SECRET_KEY = "another one"
    assert not old.startswith(new := issue())
    assert (is_setup_link_valid(old), is_setup_link_valid(new)) == (False, True)


@pytest.mark.django_db
def test_a_link_that_was_used_up_never_comes_back() -> None:
    used = issue()
    claim_setup_link(used, "ada", PASSWORD).delete()
    assert issue() != used


@pytest.mark.django_db(transaction=True)
def test_processes_that_start_together_print_the_same_link() -> None:
    together = Barrier(4)

    def start(_: int) -> str | None:
        together.wait(PATIENCE)
        try:
            return issue_setup_link()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(start, range(4)))) == 1


@pytest.mark.django_db
def test_no_link_is_issued_when_an_account_exists() -> None:
    User.objects.create_user("ada")
    assert issue_setup_link() is None


@pytest.mark.django_db
def test_link_dies_when_an_account_is_made_another_way() -> None:
    token = issue()
    User.objects.create_superuser("ada")
    assert not is_setup_link_valid(token)
    with pytest.raises(SetupLinkInvalid):
        claim_setup_link(token, "eve", PASSWORD)
    assert list(User.objects.values_list("username", flat=True)) == ["ada"]


@pytest.mark.django_db
def test_unknown_token_is_refused_and_changes_nothing() -> None:
    token = issue()
    with pytest.raises(SetupLinkInvalid):
        claim_setup_link("guess", "eve", PASSWORD)
    assert is_setup_link_valid(token)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_token_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        token = issue()
        claim_setup_link(token, "ada", PASSWORD)
    assert "administrator_created" in caplog.text
    assert token not in caplog.text
    assert PASSWORD not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_concurrent_claims_create_one_administrator() -> None:
    token, names = issue(), ["ada", "eve", "bob", "joe"]
    together = Barrier(len(names))

    def claim(name: str) -> bool:
        together.wait()
        try:
            claim_setup_link(token, name, PASSWORD)
        except SetupLinkInvalid:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(len(names)) as pool:
        assert sorted(pool.map(claim, names)) == [False, False, False, True]
    assert User.objects.count() == 1
