"""Which user a session signs in, for code that runs outside a request or outlives it."""

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import User
from chat.db.rows import read_row


def find_user_id(session_key: str | None) -> int | None:
    """The id of the user whom the session signs in; None where it does not exist or has expired,
    or where the user is disabled or has changed the password since. Two reads by primary key:
    every frame of a socket asks."""
    stored = read_row(Session, pk=session_key)
    if stored is None or stored.expire_date <= timezone.now():
        return None
    session = stored.get_decoded()
    if SESSION_KEY not in session:
        return None
    user = read_row(User, pk=session[SESSION_KEY], is_active=True)
    if user is None:
        return None
    opened_with = session.get(HASH_SESSION_KEY, "")
    return user.pk if constant_time_compare(opened_with, user.get_session_auth_hash()) else None
