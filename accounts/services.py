"""First-run set-up: a one-time link instead of a default password."""

import hashlib
import threading
from base64 import urlsafe_b64encode
from datetime import datetime

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import Role, SetupLink, User
from accounts.roles import set_role

log = structlog.get_logger(__name__)

# Set as soon as this process has seen an account, and never cleared: from then on nobody asks.
_seen_account = threading.Event()


class SetupLinkInvalid(Exception):
    """The link is unknown, replaced by a newer one or used, or an account exists already."""


def hash_token(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal: what the database keeps."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_new_site() -> bool:
    """Whether nobody has an account yet. Costs a query only until somebody has."""
    if not _seen_account.is_set() and User.objects.exists():
        _seen_account.set()
    return not _seen_account.is_set()


def issue_setup_link() -> str | None:
    """The token for `/setup/<token>/`, or None when an account exists.

    All processes of a site get the same one, at every start, until it is used. Only its hash is
    stored: print it, never log it.
    """
    if User.objects.exists():
        return None
    now = timezone.now()
    link, _ = SetupLink.objects.get_or_create(
        pk=1, defaults={"token_hash": hash_token(_token(now)), "created_at": now}
    )
    token = _token(link.created_at)
    if link.token_hash != hash_token(token):  # SECRET_KEY has changed
        SetupLink.objects.filter(pk=link.pk).update(token_hash=hash_token(token))
    log.debug("setup_link_issued")
    return token


def _token(created_at: datetime) -> str:
    """The token of a link: nobody can make it without SECRET_KEY."""
    digest = salted_hmac("accounts.setup", created_at.isoformat(), algorithm="sha256").digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def is_setup_link_valid(token: str) -> bool:
    """Whether `claim_setup_link` would accept this token now."""
    return (
        SetupLink.objects.filter(token_hash=hash_token(token)).exists()
        and not User.objects.exists()
    )


def claim_setup_link(token: str, username: str, password: str) -> User:
    """Create the one administrator, and use the link up. The password is validated by the caller.

    Raises SetupLinkInvalid, and changes nothing, if the link cannot be used (any more).
    """
    user = User(username=User.normalize_username(username))
    set_role(user, Role.ADMINISTRATOR)
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
