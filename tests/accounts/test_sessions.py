"""Whom a session signs in."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.sessions import find_user_id

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password="correct horse battery")


@pytest.fixture
def key(client: Client, ada: User) -> str:
    """The key of a session in which she is signed in."""
    client.force_login(ada)
    return str(client.session.session_key)


def test_a_session_signs_in_who_opened_it(key: str, ada: User) -> None:
    assert find_user_id(key) == ada.pk


@pytest.mark.parametrize("unknown", [None, "", "short", "x" * 32])
def test_a_session_that_does_not_exist_signs_in_nobody(ada: User, unknown: str | None) -> None:
    assert find_user_id(unknown) is None


def test_an_anonymous_session_signs_in_nobody(client: Client, ada: User) -> None:
    session = client.session
    session["colour"] = "teal"
    session.save()
    assert find_user_id(session.session_key) is None


def expire(user: User) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def disable(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def change_password(user: User) -> None:
    user.set_password("battery horse staple")
    user.save()


def delete(user: User) -> None:
    user.delete()


@pytest.mark.parametrize("end", [expire, disable, change_password, delete])
def test_an_ended_session_signs_in_nobody(key: str, ada: User, end: Callable[[User], None]) -> None:
    end(ada)
    assert find_user_id(key) is None
