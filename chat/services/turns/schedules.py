"""Scheduled prompts: written, and sent when they are due, exactly once however many processes look.

Each goes into its conversation's queue, as if its owner had written it then. How its turn ended is
looked up later; after three failures in a row it rests until its owner lets it go on.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from agent.messages import sanitise_text
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, Message, QueuedPrompt, ScheduledPrompt, Turn
from chat.queries.recurrence import find_next
from chat.services.turns.queue import AlreadySent, queue_prompt
from chat.services.turns.turns import NewMessage

log = structlog.get_logger(__name__)

Pause = ScheduledPrompt.Pause

MOST_OF_A_PERSON = 20
MOST_FAILURES = 3  # in a row
# A site that was away for longer does not say late what was meant for that time.
LATEST = timedelta(hours=6)
ENDED_ILL = (Turn.Status.FAILED, Turn.Status.INTERRUPTED)
FIELDS = ("text", "repeat", "first_date", "time", "time_zone")


# --- By their owner -------------------------------------------------------------------------------


def schedule_prompt(
    owner: User, conversation_id: UUID, given: Mapping[str, Any], now: datetime | None = None
) -> ScheduledPrompt:
    """A new one, of the values of `FIELDS`. Refused above the limit, and for a time in the past."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        conversation = Conversation.objects.of(owner).get(pk=conversation_id)
        mine = ScheduledPrompt.objects.filter(conversation__owner=owner)
        if mine.count() >= MOST_OF_A_PERSON:
            raise Refused(
                RefusalCode.TOO_MANY_SCHEDULES,
                gettext("You have {most} scheduled prompts. Delete one of them first.").format(
                    most=MOST_OF_A_PERSON
                ),
            )
        row = ScheduledPrompt(conversation=conversation)
        _set(row, given, now or timezone.now())
    return row


def edit_schedule(
    row: ScheduledPrompt, given: Mapping[str, Any], now: datetime | None = None
) -> None:
    """Change what is said, and when. Refused for a time in the past."""
    _set(row, given, now or timezone.now())


def _set(row: ScheduledPrompt, given: Mapping[str, Any], now: datetime) -> None:
    for name in FIELDS:
        setattr(row, name, given[name])
    row.text = sanitise_text(row.text).strip()
    row.next_at = find_next(row, now)
    if row.next_at is None:
        raise Refused(
            RefusalCode.SCHEDULE_OVER,
            gettext("That time is over. Choose one that is still to come."),
        )
    row.failures, row.problem, row.missed_at = 0, "", None
    row.save()


def pause_schedule(row: ScheduledPrompt) -> None:
    """Let it rest until its owner lets it go on."""
    ScheduledPrompt.objects.filter(pk=row.pk).update(pause=Pause.BY_OWNER)


def resume_schedule(row: ScheduledPrompt, now: datetime | None = None) -> None:
    """Let it go on, from its next time on."""
    values = {"pause": "", "failures": 0, "problem": ""}
    next_at = find_next(row, now or timezone.now())
    ScheduledPrompt.objects.filter(pk=row.pk).update(next_at=next_at, **values)


def delete_schedule(row: ScheduledPrompt) -> None:
    """What it has sent stays."""
    row.delete()


# --- By the clock ---------------------------------------------------------------------------------


def find_due(now: datetime) -> list[int]:
    """The ids of those that are to be sent. Those of a person who is disabled, and of a
    conversation that was deleted, wait."""
    rows = ScheduledPrompt.objects.filter(
        next_at__lte=now,
        pause="",
        conversation__owner__is_active=True,
        conversation__deleted_at=None,
    )
    return list(rows.values_list("pk", flat=True))


def send_due(scheduled_id: int, now: datetime) -> bool:
    """Send a prompt that is due, or note that it was missed, where that is too long ago; False
    where another process has done it, or it is not due any more."""
    with transaction.atomic():
        rows = ScheduledPrompt.objects.select_for_update().select_related("conversation")
        row = rows.filter(pk=scheduled_id, pause="", next_at__lte=now).first()
        if row is None or row.next_at is None:
            return False
        due = row.next_at
        claimed = ScheduledPrompt.objects.filter(pk=row.pk, next_at=due, pause="")
        if not claimed.update(next_at=find_next(row, now)):
            return False
        row.refresh_from_db(fields=["next_at"])
        if now - due > LATEST:
            row.missed_at = due
            row.save(update_fields=["missed_at"])
            log.warning("scheduled prompt missed", scheduled=row.pk, due=due.isoformat())
            return True
        _send(row, due, now)
    return True


def _send(row: ScheduledPrompt, due: datetime, now: datetime) -> None:
    """Into the queue, unless the one before still waits there: a second one would only add to what
    its owner finds."""
    _settle(row)
    if row.pause:  # the one before was the last that may fail
        return
    if row.running:
        _fail(row, gettext("The one before it still waits in the queue."), waits=True)
        return
    client_id = f"schedule-{row.pk}-{due:%Y%m%dT%H%M}"
    new = NewMessage(
        row.text, client_id=client_id, zone=row.time_zone, source=Message.Source.SCHEDULE
    )
    try:
        with transaction.atomic():
            queue_prompt(row.conversation.owner_id, row.conversation_id, new)
    except AlreadySent:
        pass
    except Refused as refusal:
        _fail(row, refusal.message)
        return
    row.running, row.last_at, row.missed_at, row.problem = client_id, now, None, ""
    row.save(update_fields=["running", "last_at", "missed_at", "problem"])
    log.info("scheduled prompt queued", scheduled=row.pk, conversation=str(row.conversation_id))


def find_unsettled() -> list[int]:
    """The ids of those whose last prompt may have been answered by now."""
    return list(ScheduledPrompt.objects.exclude(running="").values_list("pk", flat=True))


def settle(scheduled_id: int) -> bool:
    """Note how the last prompt fared, if that is known by now; whether it was the one failure too
    many, so that its owner is told."""
    with transaction.atomic():
        row = ScheduledPrompt.objects.select_for_update().filter(pk=scheduled_id).first()
        if row is None or not row.running:
            return False
        rested = bool(row.pause)
        _settle(row)
        return row.pause == Pause.FAILURES and not rested


def _settle(row: ScheduledPrompt) -> None:
    """A turn that failed or was broken off, and a start that was refused, are failures. A prompt
    that was removed from the queue, or stopped, is none."""
    if not row.running:
        return
    here = {"conversation": row.conversation_id, "client_id": row.running}
    if queued := QueuedPrompt.objects.filter(**here).first():
        if queued.problem and not row.problem:
            _fail(row, queued.problem["message"], waits=True)
        return
    message = Message.objects.filter(**here).first()
    turn = message and message.turn
    if turn and turn.status in Turn.ACTIVE:
        return
    if turn and turn.status in ENDED_ILL:
        _fail(row, (turn.error or {}).get("message", ""))
        return
    if row.next_at is None:  # it is over, and was answered
        row.delete()
        return
    row.running, row.failures, row.problem = "", 0, ""
    row.save(update_fields=["running", "failures", "problem"])


def _fail(row: ScheduledPrompt, words: str, *, waits: bool = False) -> None:
    """Count a failure, and let the prompt rest after too many in a row. `waits`: what was sent is
    still in the queue."""
    row.failures += 1
    row.problem = words or gettext("The answer failed.")
    if not waits:
        row.running = ""
    if row.failures >= MOST_FAILURES:
        row.pause = Pause.FAILURES
    row.save(update_fields=["failures", "problem", "running", "pause"])
    log.warning("scheduled prompt failed", scheduled=row.pk, failures=row.failures)
