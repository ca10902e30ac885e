"""What accounts leave behind outside of their rows."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.deletion import delete_traces
from accounts.models import Invitation, User
from tests.chat.factories import make_user

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]


@pytest.fixture
def user() -> User:
    user = make_user("ada")
    user.email = "ada@example.org"
    user.save()
    return user


def make_session(user: User | None) -> str:
    session = SessionStore()
    session.update({SESSION_KEY: str(user.pk)} if user else {"seen": "1"})
    session.create()
    return str(session.session_key)


def test_sessions_go_with_their_account(user: User) -> None:
    make_session(user)
    kept = {make_session(make_user()), make_session(None)}
    delete_traces([user])
    assert set(Session.objects.values_list("session_key", flat=True)) == kept


def test_an_expired_session_goes_too(user: User) -> None:
    make_session(user)
    Session.objects.update(expire_date=timezone.now() - timedelta(days=1))
    delete_traces([user])
    assert not Session.objects.exists()


def test_invitations_with_their_address_go(user: User) -> None:
    def invite(number: int, **values: object) -> Invitation:
        expires = timezone.now() + timedelta(days=7)
        return Invitation.objects.create(token_hash=f"{number}", expires_at=expires, **values)

    invite(1, email="ADA@example.org")
    invite(2, used_by=user)
    kept = [invite(3, email="bob@example.org"), invite(4)]
    delete_traces([user])
    assert list(Invitation.objects.order_by("pk")) == kept


def test_an_account_without_an_address_takes_no_open_invitation_along() -> None:
    Invitation.objects.create(token_hash="1", expires_at=timezone.now())
    delete_traces([make_user()])
    assert Invitation.objects.exists()


def test_djangos_own_log_forgets_their_name(user: User) -> None:
    root, other = make_user("root"), make_user("bob")
    kind = ContentType.objects.get_for_model(User)
    for each in (user, other):
        LogEntry.objects.create(
            user=root,
            content_type=kind,
            object_id=str(each.pk),
            object_repr=each.username,
            action_flag=CHANGE,
        )
    delete_traces([user])
    assert LogEntry.objects.get().object_repr == "bob"
