"""What accounts leave behind outside of the rows that go with them by themselves."""

from collections.abc import Collection

from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import Q

from accounts.models import Invitation, User


class LastAdministrator(Exception):
    """Nobody could look after the site any more."""


def leave_nobody(users: Collection[User]) -> bool:
    """Whether no administrator is left without these accounts."""
    administrators = User.objects.filter(is_superuser=True, is_active=True)
    ids = set(administrators.values_list("pk", flat=True))
    return bool(ids) and ids <= {user.pk for user in users}


def refuse_last_administrator(users: Collection[User]) -> None:
    """Raises LastAdministrator where `leave_nobody`. In a transaction, in which others that ask the
    same wait: of two administrators who leave at once, one stays."""
    administrators = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    list(administrators.select_for_update())
    if leave_nobody(users):
        raise LastAdministrator


def delete_traces(users: Collection[User]) -> None:
    """Delete what names accounts that are deleted in this transaction and refers to none of them:
    their sessions, the invitations by which they came or that wait for them, and what Django's own
    log of the administration once said of them."""
    ids = {str(user.pk) for user in users}
    # A session says inside whose it is, and how they signed in, with the name.
    keys = [
        row.session_key
        for row in Session.objects.iterator(chunk_size=500)
        if str(row.get_decoded().get(SESSION_KEY, "")) in ids
    ]
    Session.objects.filter(session_key__in=keys).delete()
    theirs = Q(used_by__in=users)
    for user in users:
        if user.email:
            theirs |= Q(email__iexact=user.email)
    Invitation.objects.filter(theirs).delete()
    log = LogEntry.objects.filter(content_type__app_label="accounts", content_type__model="user")
    log.filter(object_id__in=ids).delete()
