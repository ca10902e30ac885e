"""What accounts leave behind outside of the rows that go with them by themselves."""

from collections.abc import Collection

from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import Q

from accounts.models import Invitation, User


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
