"""Which user a session signs in, for code that runs outside a request or outlives it; and the
sessions in which a person is signed in, which they can end."""

from collections.abc import Collection, Iterator

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, login
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import User
from accounts.second_factor import is_missed_by

SESSION = "SELECT session_data FROM django_session WHERE session_key = %s AND expire_date > %s"
PERSON = "SELECT password, is_staff FROM accounts_user WHERE id = %s AND is_active"


def find_user_id(session_key: str | None) -> int | None:
    """The id of the user whom the session signs in; None where it does not exist or has expired,
    or where the user is disabled, has changed the password since or lacks a second factor that is
    asked of them. Two reads by primary key, without the ORM, which takes longer than the database:
    every frame of a socket asks."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(SESSION, [session_key, now])
        if (stored := cursor.fetchone()) is None:
            return None
        session = Session(session_data=stored[0]).get_decoded()
        if SESSION_KEY not in session:
            return None
        user = User(pk=int(session[SESSION_KEY]))
        cursor.execute(PERSON, [user.pk])
        if (found := cursor.fetchone()) is None:
            return None
    user.password, user.is_staff = found
    opened_with = session.get(HASH_SESSION_KEY, "")
    is_of_today = constant_time_compare(opened_with, user.get_session_auth_hash())
    return user.pk if is_of_today and not is_missed_by(user) else None


def sign_in(request: HttpRequest, user: User) -> None:
    """Sign in somebody whose account was made just now."""
    login(request, user)
    UserSession.objects.create_from_request(request)  # django-allauth does it at other sign-ins


def list_sessions(user: User) -> list[UserSession]:
    """Where somebody is signed in, the newest first; rows of sessions that have ended are deleted.
    Sessions of before an upgrade from 0.1 are not among them; `end_other_sessions` ends them
    too."""
    found: list[UserSession] = UserSession.objects.purge_and_list(user)
    return sorted(found, key=lambda each: each.created_at, reverse=True)


def end_session(user: User, pk: int) -> bool:
    """Sign somebody out of one of their sessions; False if they have no such one."""
    session = UserSession.objects.filter(user=user, pk=pk).first()
    if session is None:
        return False
    session.end()
    return True


def end_other_sessions(user: User, current: str | None) -> None:
    """Sign somebody out of every session but the one with this key."""
    for session in find_sessions({user.pk}):
        if session.session_key != current:
            session.delete()
    UserSession.objects.filter(user=user).exclude(session_key=current).delete()


def find_sessions(user_ids: Collection[int]) -> Iterator[Session]:
    """The sessions of some people, also those that have expired. Reads all of the site: a session
    says only inside whose it is."""
    ids = {str(pk) for pk in user_ids}
    for session in Session.objects.iterator(chunk_size=500):
        if session.get_decoded().get(SESSION_KEY) in ids:
            yield session
