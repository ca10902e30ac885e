"""Whether a session still signs somebody in: for connections that outlive the request."""

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils.crypto import constant_time_compare

from accounts.models import User


def signs_in(session_key: str | None, user_id: int) -> bool:
    """Whether the session exists, has not expired and is that of this user, who is active and has
    the password that it was opened with. Two reads by primary key."""
    if session_key is None:
        return False
    session = SessionStore(session_key).load()
    if session.get(SESSION_KEY) != str(user_id):
        return False
    user = User.objects.filter(pk=user_id, is_active=True).only("password").first()
    return user is not None and constant_time_compare(
        session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()
    )
