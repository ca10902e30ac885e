"""What the site keeps of a person beside what they write: for their export. No secrets: neither
passwords and keys nor what they could be tried by."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession

from accounts.audit import Act
from accounts.models import AccessToken, AuditEntry, PushSubscription, User


def describe_account(user: User) -> dict[str, Any]:
    """The account, its settings, and the ways in."""
    return {
        "id": user.pk,
        "username": user.username,
        "email": user.email,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "date_joined": user.date_joined,
        "last_login": user.last_login,
        "role": user.role,
        "groups": list(user.groups.order_by("name").values_list("name", flat=True)),
        "settings": {
            "language": user.language,
            "appearance": user.appearance,
            "default_model": user.default_model,
        },
        "emails": _rows(EmailAddress, user, "email", "verified", "primary"),
        "second_factors": _rows(Authenticator, user, "type", "created_at", "last_used_at"),
        "identity_providers": _rows(
            SocialAccount, user, "provider", "uid", "date_joined", "last_login"
        ),
        "sessions": _rows(UserSession, user, "ip", "user_agent", "created_at", "last_seen_at"),
        "notified_browsers": _rows(PushSubscription, user, "browser", "language", "created_at"),
        "access_tokens": _rows(
            AccessToken,
            user,
            "name",
            "shown",
            "scopes",
            "created_at",
            "expires_at",
            "last_used_at",
        ),
    }


def list_readings(user: User, most: int | None = None) -> list[dict[str, Any]]:
    """Who has read what of this person's in the administration, newest first: `at`, `reader` (a
    name; empty where the account is gone), `kind` and `id` of what was read, `reason`. `most`: how
    many; None: all."""
    entries = AuditEntry.objects.filter(owner=user, act=Act.READ).order_by("-pk")
    return [
        {
            "at": entry.at,
            "reader": entry.actor.get_username() if entry.actor else "",
            "kind": entry.target_kind,
            "id": entry.target_id,
            "reason": entry.reason,
        }
        for entry in entries.select_related("actor")[:most]
    ]


def _rows(model: Any, user: User, *fields: str) -> list[dict[str, Any]]:
    return list(model.objects.filter(user=user).order_by("pk").values(*fields))
