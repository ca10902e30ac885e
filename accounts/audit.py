"""The record of administration: who did what to whom, and who read what of somebody else.

    audit.record(request.user, Act.READ, target=conversation, owner=owner, reason="Asked for help")

An entry holds ids and names of fields. It keeps no name, title or content, so that nothing of an
account is left in it when the account is gone.
"""

import json
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_removed
from django.db.models import Model, TextChoices
from django.dispatch import receiver
from django.utils import timezone

from accounts.models import AuditEntry, User

COLUMNS = ("id", "at", "actor", "act", "target_kind", "target_id", "owner", "reason", "changed")
PAGE = 1_000  # entries of an export that are in memory at once


class Act(TextChoices):
    """What is done most. Others may be recorded by a short name of their own."""

    ADD = "add"
    CHANGE = "change"
    DELETE = "delete"
    READ = "read"  # another person's conversation or project
    EXPORT = "export"
    HOLD = "hold"  # nothing of it is deleted for being old
    RELEASE = "release"
    REVOKE = "revoke"  # an invitation
    HAND_OVER = "hand over"
    SET_RETENTION = "set retention"  # after how many days conversations are deleted, from now on
    RETENTION = "retention"  # conversations were deleted for being old: how many
    DELETE_OWN_ACCOUNT = "delete own account"
    REMOVE_SECOND_FACTOR = "remove second factor"


def record(
    actor: User | None,
    act: str,
    *,
    target: Model | None = None,
    owner: User | None = None,
    reason: str = "",
    changed: Sequence[str] = (),
) -> None:
    """Add an entry, in the caller's transaction. `actor`: who did it; None: the site itself, or
    `manage.py`. `act`: at most 40 characters. `owner`: whose account or conversation it concerns.
    `reason`: the first 500 characters are kept. `changed`: names of fields."""
    AuditEntry.objects.create(
        actor=actor,
        act=act,
        target_kind=str(target._meta.model_name) if target else "",
        target_id="" if target is None or target.pk is None else str(target.pk),
        owner=owner,
        reason=reason[:500],
        changed=list(changed),
    )


@receiver(authenticator_removed, dispatch_uid="accounts.audit")
def _note_removed_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    """Its owner has taken a second factor away: whoever could do so may be somebody else."""
    record(user, Act.REMOVE_SECOND_FACTOR, target=authenticator, owner=user)


def find_bounds(first: date | None, last: date | None) -> tuple[datetime | None, datetime | None]:
    """From the beginning of one day to the end of another, by the site's clock; None: open."""
    return (
        _find_midnight(first) if first else None,
        _find_midnight(last + timedelta(days=1)) if last else None,
    )


def _find_midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def read_entries(
    since: datetime | None, until: datetime | None, *, after: int = 0
) -> list[dict[str, Any]]:
    """The next entries after the one with the id `after`, at most `PAGE`, oldest first: those from
    `since` on and before `until`. People are ids, moments in ISO 8601, UTC."""
    entries = AuditEntry.objects.filter(pk__gt=after).order_by("pk")
    if since:
        entries = entries.filter(at__gte=since)
    if until:
        entries = entries.filter(at__lt=until)
    return [row | {"at": row["at"].isoformat()} for row in entries.values(*COLUMNS)[:PAGE]]


def write_json_line(entry: dict[str, Any]) -> str:
    """An entry of `read_entries` as a line of JSON."""
    return json.dumps(entry, ensure_ascii=False) + "\n"


def list_values(entry: dict[str, Any]) -> list[Any]:
    """The same as the cells of a table, in the order of `COLUMNS`; names of fields are separated by
    spaces."""
    values = entry | {"changed": " ".join(entry["changed"])}
    return [values[name] for name in COLUMNS]
