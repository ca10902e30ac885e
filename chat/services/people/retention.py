"""Retention: conversations in which nobody writes any more are deleted.

How old the last message may get is said by the site (`RETENTION_DAYS`) and by the policies of the
owner's groups, the longest of which counts. What is pinned or held, and everything of a person who
is held, stays. Whatever the rules say, they hold from `TOLD_DAYS` on after they were set: until
then the owners are told.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts import audit
from accounts.audit import Act
from accounts.models import AuditEntry, User
from accounts.policies import load_rights
from chat.db.threads import UNAVAILABLE
from chat.models import Conversation, Turn
from chat.services.library import conversations

log = structlog.get_logger(__name__)

TOLD_DAYS = 7  # for which an owner sees before that a conversation will be deleted
BATCH = 50  # conversations that one sweep deletes
LOOK_SECONDS = 600.0  # between two looks of a process, where the last one found nothing
NO_RULES = "never"  # in the audit, in place of the days

_next_look = 0.0


def delete_old() -> int:
    """Delete a batch of what is too old, as a part of the sweep; how many. It looks only now and
    then: what is old is counted in days. A row that fails is logged and does not hold up the
    others."""
    global _next_look
    if time.monotonic() < _next_look:
        return 0
    _note_rules()
    deleted = 0
    for pk in find_old()[:BATCH]:
        try:
            deleted += delete_if_old(pk)
        except UNAVAILABLE:
            raise
        except Exception:
            log.exception("old conversation not deleted", conversation=str(pk))
    if deleted < BATCH:
        _next_look = time.monotonic() + LOOK_SECONDS
    if deleted:
        log.info("old conversations deleted", count=deleted)
        audit.record(None, Act.RETENTION, reason=f"conversations: {deleted}")
    return deleted


def find_old() -> list[UUID]:
    """The conversations that are too old now, at most `BATCH` for each of the different ages."""
    found: list[UUID] = []
    owners = _find_owners()
    noted = _find_noted()
    if noted is None or noted.reason != _describe(owners) or noted.at >= _oldest(TOLD_DAYS):
        return found
    for days, ids in owners.items():
        rows = _kept_by_nobody().filter(_is_older(days), owner__in=ids)
        found += rows.order_by("updated_at").values_list("pk", flat=True)[:BATCH]
    return found


def delete_if_old(conversation_id: UUID) -> bool:
    """Delete a conversation of `find_old`, unless somebody has written in it, pinned it or put a
    hold on it meanwhile, or a turn runs."""
    with transaction.atomic():
        rows = _kept_by_nobody().select_for_update(of=("self",))
        row = rows.filter(pk=conversation_id).first()
        if row is None:
            return False
        days = next(iter(_find_owners(row.owner_id)), 0)
        if not days or _find_newest(row) >= _oldest(days):
            return False
        # Nobody begins one now: that needs the row that is locked here.
        if Turn.objects.filter(conversation=row, status__in=Turn.ACTIVE).exists():
            return False
        conversations.delete_conversation(row)
    return True


def find_deletion(user: User, row: Conversation) -> datetime | None:
    """When a conversation of this person's is going to be deleted for its age, where that is within
    the next `TOLD_DAYS`. Pages ask of each row that they list: what it reads is kept."""
    if row.pinned or row.held or row.temporary or user.held:
        return None
    days = load_rights(user.pk).retention_days
    days = settings.RETENTION_DAYS if days is None else days
    if not days:
        return None
    moment = _find_newest(row) + timedelta(days=days)
    now = timezone.now()
    return max(moment, now) if moment - now < timedelta(days=TOLD_DAYS) else None


def hold(rows: QuerySet[Conversation] | QuerySet[User], *, held: bool) -> int:
    """Keep conversations, or all that accounts have, from being deleted for their age, or no
    longer; how many."""
    return rows.update(held=held)


def _kept_by_nobody() -> QuerySet[Conversation]:
    return Conversation.objects.filter(
        pinned=False, held=False, owner__held=False, temporary=False, deleted_at=None
    )


def _is_older(days: int) -> Q:
    """Whether the last message of a conversation is, and its import."""
    imported = Q(imported_at=None) | Q(imported_at__lt=_oldest(days))
    return imported & Q(updated_at__lt=_oldest(days))


def _find_newest(row: Conversation) -> datetime:
    """From when on its age counts: what was imported has been here since then."""
    return max(row.updated_at, row.imported_at or row.updated_at)


def _oldest(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


def _find_owners(owner_id: int | None = None) -> dict[int, list[int]]:
    """For each number of days the ids of those whose conversations may get so old; those who keep
    everything are in none. Of groups also where the account is disabled, which has no rights."""
    people = (
        User.objects.filter(held=False) if owner_id is None else User.objects.filter(pk=owner_id)
    )
    days = Coalesce(Max("groups__policy__retention_days"), settings.RETENTION_DAYS)
    owners: dict[int, list[int]] = defaultdict(list)
    for pk, each in people.annotate(days=days).filter(days__gt=0).values_list("pk", "days"):
        owners[each].append(pk)
    return owners


def _note_rules() -> None:
    """Have the audit remember since when the rules hold, also that there are none any more: should
    they come back, the owners are told again."""
    rules, noted = _describe(_find_owners()), _find_noted()
    if rules != (noted.reason if noted else NO_RULES):
        audit.record(None, Act.SET_RETENTION, reason=rules)


def _find_noted() -> AuditEntry | None:
    return AuditEntry.objects.filter(act=Act.SET_RETENTION).order_by("-pk").first()


def _describe(rules: Iterable[int]) -> str:
    """Numbers of days, as the audit has them."""
    return ", ".join(f"{days} days" for days in sorted(rules)) or NO_RULES
