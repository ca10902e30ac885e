"""What happened in Slack, kept until it is dealt with: each event once, however often it comes."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.models import SlackEvent, SlackThread

# As long as a thread is read again after a pause, and more: those that were dealt with are known.
KEPT = timedelta(days=4)
GIVEN_UP_AFTER = timedelta(days=1)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0  # seconds


def store_event(
    key: str, payload: dict[str, Any], *, place: str, order: str, thread: SlackThread | None
) -> bool:
    """Keep an event; False where it is known. `place`: channel and thread; `order`: its time."""
    row = SlackEvent(
        key=key[:120], payload=payload, place=place[:90], order=order[:40], thread=thread
    )
    with transaction.atomic():
        if SlackEvent.objects.filter(key=row.key).exists():
            return False
        SlackEvent.objects.bulk_create([row], ignore_conflicts=True)
        if thread and payload.get("ts"):
            newer = SlackThread.objects.filter(pk=thread.pk, seen_ts__lt=payload["ts"])
            newer.update(seen_ts=payload["ts"])
    return True


def finish_event(event: SlackEvent) -> None:
    """It is dealt with: what it said is forgotten."""
    SlackEvent.objects.filter(pk=event.pk).update(done=True, payload={})


def postpone_event(event: SlackEvent, seconds: float | None = None) -> None:
    """Deal with it later, after growing pauses unless it is known when."""
    if seconds is None:
        seconds = min(FIRST_PAUSE * 2**event.tries, LONGEST_PAUSE)
    SlackEvent.objects.filter(pk=event.pk).update(
        tries=event.tries + 1, not_before=timezone.now() + timedelta(seconds=seconds)
    )


def is_given_up(event: SlackEvent) -> bool:
    """Whether it could not be dealt with for so long that it is left."""
    return timezone.now() - event.created_at > GIVEN_UP_AFTER


def forget_old() -> int:
    """Delete events that were dealt with long ago."""
    old = SlackEvent.objects.filter(done=True, created_at__lt=timezone.now() - KEPT)
    return old.delete()[0]
