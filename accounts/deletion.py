"""What accounts leave behind outside of the rows that go with them by themselves."""

from collections.abc import Collection

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db.models import Q

from accounts.models import Invitation, User
from accounts.sessions import find_sessions


def delete_traces(users: Collection[User]) -> None:
    """Delete what names accounts that are deleted in this transaction and refers to none of them:
    their sessions, the invitations by which they came or that wait for them, and what Django's own
    log of the administration once said of them."""
    ids = [user.pk for user in users]
    # They also say how somebody signed in, with the name.
    keys = [session.session_key for session in find_sessions(ids)]
    Session.objects.filter(session_key__in=keys).delete()
    theirs = Q(used_by__in=users)
    for user in users:
        if user.email:
            theirs |= Q(email__iexact=user.email)
    Invitation.objects.filter(theirs).delete()
    log = LogEntry.objects.filter(content_type__app_label="accounts", content_type__model="user")
    log.filter(object_id__in=[str(pk) for pk in ids]).delete()
