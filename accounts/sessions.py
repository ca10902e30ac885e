"""Which user a session signs in, for code that runs outside a request or outlives it."""

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils.crypto import constant_time_compare

from accounts.models import User


def find_user_id(session_key: str | None) -> int | None:
    """The id of the user whom the session signs in; None where it does not exist or has expired,
    or where the user is disabled or has changed the password since. Two reads by primary key."""
    session = SessionStore(session_key).load()
    if SESSION_KEY not in session:
        return None
    user = User.objects.filter(pk=session[SESSION_KEY], is_active=True).only("password").first()
    if user is None:
        return None
    opened_with = session.get(HASH_SESSION_KEY, "")
    return user.pk if constant_time_compare(opened_with, user.get_session_auth_hash()) else None
