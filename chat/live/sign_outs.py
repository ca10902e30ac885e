"""Anything that may end a session notifies the person's sockets, which then check it themselves."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from accounts.models import User
from chat.protocol.broadcast import emit_session_check

SIGNING_IN = frozenset({"is_active", "password"})  # the fields that decide about a session


@receiver(post_delete, sender=Session)
def on_session_deleted(instance: Session, **_: Any) -> None:
    """A sign-out, or a session that an administrator or `clearsessions` removed."""
    user_id = instance.get_decoded().get(SESSION_KEY)
    if user_id is not None:
        emit_session_check(int(user_id))


@receiver(post_save, sender=User)
def on_user_saved(
    instance: User, created: bool, update_fields: frozenset[str] | None, **_: Any
) -> None:
    """A new password or a disabled account, perhaps; a sign-in only saves its date."""
    if not created and (update_fields is None or update_fields & SIGNING_IN):
        emit_session_check(instance.pk)


@receiver(post_delete, sender=User)
def on_user_deleted(instance: User, **_: Any) -> None:
    emit_session_check(instance.pk)
