"""First-run set-up: a one-time link instead of a default password."""

import hashlib
import secrets

import structlog
from django.db import transaction
from django.utils import timezone

from accounts.models import SetupLink, User

log = structlog.get_logger(__name__)


class SetupLinkInvalid(Exception):
    """The link is unknown, replaced by a newer one or used, or an account exists already."""


def hash_token(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal: what the database keeps."""
    return hashlib.sha256(token.encode()).hexdigest()


def issue_setup_link() -> str | None:
    """A new token for `/setup/<token>/`, or None when an account exists. An older link dies.

    The token is returned once and stored only as a hash: print it, never log it.
    """
    if User.objects.exists():
        return None
    token = secrets.token_urlsafe(32)
    SetupLink.objects.update_or_create(
        pk=1, defaults={"token_hash": hash_token(token), "created_at": timezone.now()}
    )
    log.debug("setup_link_issued")
    return token


def is_setup_link_valid(token: str) -> bool:
    """Whether `claim_setup_link` would accept this token now."""
    return (
        SetupLink.objects.filter(token_hash=hash_token(token)).exists()
        and not User.objects.exists()
    )


def claim_setup_link(token: str, username: str, password: str) -> User:
    """Create the one administrator, and use the link up. The password is validated by the caller.

    Raises SetupLinkInvalid, having changed nothing, if the link cannot be used (any more).
    """
    user = User(
        username=User.normalize_username(username),
        is_staff=True,
        is_superuser=True,
    )
    # Hashing takes a good part of a second on purpose: not while holding the database's write lock.
    user.set_password(password)
    with transaction.atomic():
        # Of two concurrent claims, one deletes the row; the other waits for it and then finds none.
        deleted, _ = SetupLink.objects.filter(token_hash=hash_token(token)).delete()
        if not deleted or User.objects.exists():
            raise SetupLinkInvalid
        user.save()
    log.info("administrator_created", user_id=user.pk)
    return user
