"""Access tokens: how they are kept, and whom they let in."""

import hashlib
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import tokens
from accounts.models import AccessToken, User
from accounts.tokens import (
    EXPORT_READ,
    USAGE_READ,
    TooManyTokens,
    find_user_id_by_token,
    issue_token,
    list_tokens,
    revoke_token,
)

pytestmark = [pytest.mark.django_db, pytest.mark.on_both]


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def token(ada: User) -> str:
    return issue_token(ada, "backup", [EXPORT_READ], 30)


def test_of_a_token_only_its_beginning_and_its_hash_are_kept(token: str) -> None:
    assert token.startswith("ev_")
    assert len(token) == 43
    row = AccessToken.objects.values().get()
    assert row["token_hash"] == hashlib.sha256(token.encode()).hexdigest()
    assert row["shown"] == token[:8]
    assert token not in str(row)


def test_two_tokens_differ(ada: User, token: str) -> None:
    assert issue_token(ada, "backup", [EXPORT_READ], 30) != token


@pytest.mark.parametrize("days", [30, 90, 365, None])
def test_a_token_expires_when_its_owner_has_said(ada: User, days: int | None) -> None:
    issue_token(ada, "backup", [EXPORT_READ], days)
    expires_at = list_tokens(ada.pk).get().expires_at
    if days is None:
        assert expires_at is None
    else:
        assert expires_at is not None
        assert abs(expires_at - timezone.now() - timedelta(days=days)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("scopes", "days"), [([], 30), (["admin:write"], 30), ([EXPORT_READ], 31), ([USAGE_READ], 0)]
)
def test_what_is_not_offered_is_not_made(ada: User, scopes: list[str], days: int | None) -> None:
    with pytest.raises(ValueError, match="No such token"):
        issue_token(ada, "backup", scopes, days)


def test_a_person_has_a_limited_number_of_tokens(
    ada: User, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_TOKENS", 1)
    with pytest.raises(TooManyTokens):
        issue_token(ada, "another", [EXPORT_READ], 30)
    assert issue_token(User.objects.create_user("bob"), "his", [EXPORT_READ], 30)


def test_a_token_finds_its_person_for_its_scope_alone(ada: User, token: str) -> None:
    assert find_user_id_by_token(token, EXPORT_READ) == ada.pk
    assert find_user_id_by_token(token, USAGE_READ) is None
    both = issue_token(ada, "all", [EXPORT_READ, USAGE_READ], None)
    assert find_user_id_by_token(both, USAGE_READ) == ada.pk


@pytest.mark.parametrize("wrong", ["", "ev_", "ev_" + 40 * "x", "\0"])
def test_a_guess_finds_nobody(ada: User, token: str, wrong: str) -> None:
    assert find_user_id_by_token(wrong, EXPORT_READ) is None


def test_neither_the_hash_nor_the_beginning_of_a_token_is_one(token: str) -> None:
    row = AccessToken.objects.get()
    assert find_user_id_by_token(row.token_hash, EXPORT_READ) is None
    assert find_user_id_by_token(row.shown, EXPORT_READ) is None


def test_an_expired_token_finds_nobody(token: str) -> None:
    AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert find_user_id_by_token(token, EXPORT_READ) is None


def test_a_disabled_person_is_not_found_and_one_enabled_again_is(ada: User, token: str) -> None:
    User.objects.update(is_active=False)
    assert find_user_id_by_token(token, EXPORT_READ) is None
    User.objects.update(is_active=True)
    assert find_user_id_by_token(token, EXPORT_READ) == ada.pk


def test_a_revoked_token_finds_nobody_and_only_its_owner_revokes_it(ada: User, token: str) -> None:
    row = AccessToken.objects.get()
    assert not revoke_token(User.objects.create_user("bob").pk, row.pk)
    assert find_user_id_by_token(token, EXPORT_READ) == ada.pk
    assert revoke_token(ada.pk, row.pk)
    assert find_user_id_by_token(token, EXPORT_READ) is None
    assert not revoke_token(ada.pk, row.pk)


def test_the_last_use_is_noted_once_a_minute(token: str) -> None:
    find_user_id_by_token(token, EXPORT_READ)
    first = AccessToken.objects.get().last_used_at
    assert first is not None
    with CaptureQueriesContext(connection) as captured:
        find_user_id_by_token(token, EXPORT_READ)
    assert len(captured) == 1
    assert AccessToken.objects.get().last_used_at == first
    earlier = first - timedelta(seconds=61)
    AccessToken.objects.update(last_used_at=earlier)
    find_user_id_by_token(token, EXPORT_READ)
    noted = AccessToken.objects.get().last_used_at
    assert noted is not None
    assert noted >= first


def test_a_use_for_another_scope_is_none(token: str) -> None:
    find_user_id_by_token(token, USAGE_READ)
    assert AccessToken.objects.get().last_used_at is None
