"""What an administrator tells everybody at this moment. Each process reads it every two seconds at
most, and at once where it was changed there."""

from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from accounts.kept import Kept
from chat.models import Announcement

_kept: Kept[str, list[Announcement]] = Kept()  # under one key: those that have not ended


def find_current() -> Announcement | None:
    """The newest that is shown at this moment."""
    return next((row for row in _kept.load("all", _read) if is_shown(row)), None)


def _read() -> list[Announcement]:
    return list(Announcement.objects.filter(Q(ends=None) | Q(ends__gt=timezone.now())))


def is_shown(row: Announcement) -> bool:
    """Whether its time has begun and not ended."""
    now = timezone.now()
    return (row.begins is None or row.begins <= now) and (row.ends is None or now < row.ends)


def make_key(row: Announcement) -> str:
    """What it is known by in a browser that has put it away: another one if it says something
    else."""
    return sha256(f"{row.pk} {row.level} {row.text}".encode()).hexdigest()[:16]


@receiver([post_save, post_delete], sender=Announcement)
def on_changed(**_: Any) -> None:
    """And again after the commit: meanwhile another thread may have read what was before it."""
    _kept.forget()
    transaction.on_commit(_kept.forget)
