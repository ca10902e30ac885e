"""Access tokens: keys by which a person's own programs read and change what is theirs."""

import secrets
import string
from collections.abc import Sequence
from datetime import timedelta

import structlog
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.models import AccessToken, User
from accounts.services import hash_token

log = structlog.get_logger(__name__)

PREFIX = "ev_"  # by which people and scanners of leaked keys know it
CHARACTERS = string.ascii_letters + string.digits
RANDOM_CHARACTERS = 40  # 238 bits
SHOWN_CHARACTERS = 8  # of which five are random: enough to tell one's own apart
MOST_TOKENS = 20  # of one person
LIFETIMES = (30, 90, 365, None)  # days; None: it does not expire
USE_SECONDS = 60  # how exact `last_used_at` is: not each use is a write

ANY_SCOPE = ""  # whatever a token was made for
USAGE_READ, EXPORT_READ = "usage:read", "export:read"
CONVERSATIONS_READ, CONVERSATIONS_WRITE = "conversations:read", "conversations:write"
MESSAGES_SEND, IMPORTS_WRITE = "messages:send", "imports:write"
SCOPES: dict[str, str | Promise] = {
    CONVERSATIONS_READ: gettext_lazy("Read and search my conversations"),
    CONVERSATIONS_WRITE: gettext_lazy("Create, change and delete my conversations"),
    MESSAGES_SEND: gettext_lazy("Send messages for me, which costs what my own cost"),
    IMPORTS_WRITE: gettext_lazy("Import conversations"),
    USAGE_READ: gettext_lazy("Read my usage"),
    EXPORT_READ: gettext_lazy("Export my conversations and my account"),
}


class TooManyTokens(Exception):
    """The person has `MOST_TOKENS` already."""


def issue_token(user: User, name: str, scopes: Sequence[str], days: int | None) -> str:
    """Make a token, and return it: nobody can read it again. `days` is one of `LIFETIMES`. Raises
    TooManyTokens."""
    unknown = {*scopes} - SCOPES.keys()
    if unknown or not scopes or days not in LIFETIMES:
        raise ValueError(f"No such token: {scopes}, {days} days.")
    if list_tokens(user.pk).count() >= MOST_TOKENS:
        raise TooManyTokens
    token = PREFIX + "".join(secrets.choice(CHARACTERS) for _ in range(RANDOM_CHARACTERS))
    stored = AccessToken.objects.create(
        user=user,
        name=name,
        token_hash=hash_token(token),
        shown=token[:SHOWN_CHARACTERS],
        scopes=[scope for scope in SCOPES if scope in scopes],
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    log.info("access_token_issued", user_id=user.pk, token_id=stored.pk, scopes=stored.scopes)
    return token


def list_tokens(user_id: int) -> QuerySet[AccessToken]:
    """A person's tokens, the newest first; also those that have expired."""
    return AccessToken.objects.filter(user=user_id).order_by("-created_at", "-pk")


def revoke_token(user_id: int, pk: int) -> bool:
    """End a person's token at once; whether there was one."""
    deleted, _ = AccessToken.objects.filter(user=user_id, pk=pk).delete()
    if deleted:
        log.info("access_token_revoked", user_id=user_id, token_id=pk)
    return bool(deleted)


def find_user_id_by_token(token: str, scope: str = ANY_SCOPE) -> int | None:
    """Whose token it is; None where `find_token` finds none, or one that was not made for this
    scope. Notes the use."""
    found = find_token(token)
    if found is None or scope not in (ANY_SCOPE, *found.scopes):
        return None
    note_use(found)
    return found.user_id


def find_token(token: str) -> AccessToken | None:
    """A token with its person; None where it is unknown, revoked or expired, or where its person is
    disabled. Nothing is cached, so that each of these holds at once."""
    return (
        AccessToken.objects.filter(token_hash=hash_token(token), user__is_active=True)
        .filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
        .select_related("user")
        .first()
    )


def note_use(token: AccessToken) -> None:
    """Store that a token was used just now, at most once a minute."""
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - timedelta(seconds=USE_SECONDS):
        AccessToken.objects.filter(pk=token.pk).update(last_used_at=now)
