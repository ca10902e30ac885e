"""Which user a session signs in, for code that runs outside a request or outlives it."""

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import User

SESSION = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"
PASSWORD = "SELECT password FROM accounts_user WHERE id = %s AND is_active"


def find_user_id(session_key: str | None) -> int | None:
    """The id of the user whom the session signs in; None where it does not exist or has expired,
    or where the user is disabled or has changed the password since. Two reads by primary key,
    without the ORM, which takes longer than the database: every frame of a socket asks."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(SESSION, [session_key, now])
        if (stored := cursor.fetchone()) is None:
            return None
        session = Session(session_data=stored[0]).get_decoded()
        if SESSION_KEY not in session:
            return None
        user = User(pk=int(session[SESSION_KEY]))
        cursor.execute(PASSWORD, [user.pk])
        if (found := cursor.fetchone()) is None:
            return None
    user.password = found[0]
    opened_with = session.get(HASH_SESSION_KEY, "")
    return user.pk if constant_time_compare(opened_with, user.get_session_auth_hash()) else None
