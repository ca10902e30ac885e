"""Invitations: a link by which one person may make an account.

The link's token is shown once, to whoever makes it; the database keeps its hash. It is used up in
the transaction that makes the account, so of two people who try at once one gets in.
"""

import secrets
from datetime import timedelta

import structlog
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Invitation, User
from accounts.services import hash_token
from accounts.sign_up import put_into_group

log = structlog.get_logger(__name__)

DAYS = 7  # that an invitation lasts, unless somebody says otherwise
PENDING = "invitation"  # in a session: the hash of the token whose page was opened last


class InvitationInvalid(Exception):
    """The invitation is unknown, used, revoked or too old, or is for somebody else."""


def invite(
    created_by: User | None, *, group: Group | None = None, email: str = "", days: int = DAYS
) -> tuple[Invitation, str]:
    """A new invitation, and the token of its link `/invitation/<token>/`: show it, never log it."""
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        token_hash=hash_token(token),
        group=group,
        email=email.lower(),
        created_by=created_by,
        expires_at=timezone.now() + timedelta(days=days),
    )
    log.info("invitation_made", invitation_id=invitation.pk)
    return invitation, token


def revoke(invitations: QuerySet[Invitation]) -> list[Invitation]:
    """Make links worthless that nobody has used yet; those of them."""
    open_ones = Invitation.objects.filter(used_at=None, revoked_at=None)
    chosen = invitations.values_list("pk", flat=True)
    now = timezone.now()
    # One by one: of a link that is used and revoked at once, one or the other counts.
    return [
        each
        for each in open_ones.filter(pk__in=list(chosen))
        if open_ones.filter(pk=each.pk).update(revoked_at=now)
    ]


def find_valid(token: str) -> Invitation | None:
    """The invitation of a token, if it can be used now."""
    return _valid().filter(token_hash=hash_token(token)).select_related("group").first()


def accept(invitation: Invitation, username: str, password: str) -> User:
    """Make an account by an invitation. The password is validated by the caller. An address that
    the invitation names is one that an administrator typed: not a verified one.

    Raises InvitationInvalid, and changes nothing, if it cannot be used (any more).
    """
    user = User(username=User.normalize_username(username), email=invitation.email)
    # Hashing takes a good part of a second on purpose: not while holding the database's write lock.
    user.set_password(password)
    with transaction.atomic():
        user.save()
        claim(invitation, user)
    return user


def claim(invitation: Invitation, user: User) -> None:
    """Use an invitation up for a new account, in the transaction that makes it.

    Raises InvitationInvalid if it cannot be used (any more).
    """
    used = _valid().filter(pk=invitation.pk).update(used_at=timezone.now(), used_by=user)
    if not used:
        raise InvitationInvalid
    if invitation.group:
        user.groups.add(invitation.group)
    put_into_group(user)
    log.info("invitation_used", invitation_id=invitation.pk, user_id=user.pk)


def remember_pending(request: HttpRequest, invitation: Invitation) -> None:
    """For the way to the provider of identities and back."""
    request.session[PENDING] = invitation.token_hash


def forget_pending(request: HttpRequest) -> None:
    request.session.pop(PENDING, None)


def find_pending(request: HttpRequest, address: str) -> Invitation | None:
    """The invitation whose page this browser has opened, if it can be used now by somebody with
    this verified address ("": none)."""
    if not (token_hash := request.session.get(PENDING)):
        return None
    found = _valid().filter(token_hash=token_hash).select_related("group").first()
    return found if found and found.email in ("", address) else None


def _valid() -> QuerySet[Invitation]:
    return Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())
