"""Ending turns and compactions whose holders no longer keep them alive."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Min
from django.utils import timezone
from django.utils.translation import gettext_noop

from agent.errors import AgentError, ErrorCode
from chat.db.threads import UNAVAILABLE
from chat.models import Compaction, Message, Turn
from chat.services import calls
from chat.services.library import attachments, conversations, import_jobs, memories
from chat.services.people import retention
from chat.services.summary import compactions
from chat.services.turns import endings, leases
from chat.services.turns.endings import TurnOutcome

log = structlog.get_logger(__name__)

INTERRUPTED = AgentError(
    ErrorCode.INTERRUPTED,
    gettext_noop(
        "The answer was interrupted because the server stopped. What was written is kept."
    ),
    retryable=True,
)
UNHEARD = AgentError(
    ErrorCode.INTERRUPTED,
    gettext_noop(
        "The answer was interrupted: the server that wrote it has not been heard of for too long. "
        "What was written is kept."
    ),
    retryable=True,
)
SHORTEST_WAIT = 0.5  # seconds between two tries of a row that cannot be ended


def sweep() -> int:
    """End turns and compactions whose lease has run out: a turn is interrupted with its text kept,
    a compaction fails. End model calls that nobody waits for any more. Delete conversations and
    facts that were deleted and not restored, temporary ones and unsent files after a day, proposals
    for the memory after two weeks, imports that nobody works on, and now and then what is older
    than the retention allows. Safe to run anywhere at any time; returns how many it ended. A row
    that fails is logged and does not hold up the others.
    """
    return (
        _end_abandoned()
        + _each("calls", ["open"], lambda _: calls.lose_abandoned())
        + _each("conversation", conversations.find_abandoned(), conversations.delete_abandoned)
        + _each("attachments", ["unsent"], lambda _: attachments.delete_unsent())
        + _each("memories", ["forgotten"], lambda _: memories.delete_forgotten())
        + _each("memory proposals", ["old"], lambda _: memories.delete_old_proposals())
        + _each("imports", ["silent"], lambda _: import_jobs.sweep())
        + _each("retention", ["old"], lambda _: retention.delete_old())
    )


def _end_abandoned() -> int:
    """Turns and compactions that nobody keeps alive. None that this process works at, and none for
    a while after it was held up itself."""
    if not leases.keeper.may_end_others():
        return 0
    now = timezone.now()
    running = Compaction.objects.filter(status=Compaction.Status.RUNNING, lease_expires__lt=now)
    turns = Turn.objects.filter(status__in=Turn.ACTIVE, lease_expires__lt=now)
    left = turns.exclude(pk__in=leases.keeper.list_held(Turn))
    return _each(
        "compaction", running.values_list("pk", flat=True), compactions.fail_abandoned
    ) + _each("turn", left.values_list("pk", flat=True), lambda pk: interrupt(pk, UNHEARD))


def seconds_to_next() -> float:
    """How long the next sweep may wait: until the earliest lease ends, but at most the length
    of a new lease."""
    of_turns = Turn.objects.filter(status__in=Turn.ACTIVE).aggregate(end=Min("lease_expires"))
    running = Compaction.objects.filter(status=Compaction.Status.RUNNING)
    ends = [of_turns["end"], running.aggregate(end=Min("lease_expires"))["end"]]
    left = [(end - timezone.now()).total_seconds() for end in ends if end is not None]
    return max(SHORTEST_WAIT, min([*left, settings.LEASE_SECONDS / 2]))


def interrupt_all_of(holder: str, but: Collection[int] = ()) -> int:
    """End the turns of a process that stops, whatever their leases."""
    turns = Turn.objects.filter(status__in=Turn.ACTIVE, holder=holder).exclude(pk__in=but)
    turns.update(lease_expires=timezone.now())
    return _each("turn", turns.values_list("pk", flat=True), interrupt)


def interrupt(turn_id: int, error: AgentError = INTERRUPTED) -> bool:
    """End one turn as interrupted, with the text and the usage of its last checkpoint, if its lease
    is over."""
    try:
        with transaction.atomic():
            over = Turn.objects.filter(status__in=Turn.ACTIVE, lease_expires__lte=timezone.now())
            if not over.select_for_update().filter(pk=turn_id).exists():
                return False
            message = Message.objects.filter(turn=turn_id, status=Message.Status.STREAMING).first()
            kept = (message and message.usage) or {}
            usage = {name: kept[name] for name in kept if name != calls.KEPT_CALL}
            ending = TurnOutcome(
                Turn.Status.INTERRUPTED,
                blocks=message.blocks if message else (),
                usage=usage or None,
                error=error,
            )
            ended = endings.end_turn(turn_id, ending) is not None
            calls.lose_open_of_turn(turn_id, kept)
            return ended
    except UNAVAILABLE:
        raise
    except Exception:
        log.exception("turn could not be ended whole", turn=turn_id)
        return endings.finish_plainly(turn_id, error)


def _each(what: str, ids: Iterable[Any], end: Callable[[Any], int | None]) -> int:
    """End one after the other; how many. Raises only where the database is unavailable."""
    ended = 0
    for each in list(ids):
        try:
            ended += end(each) or 0
        except UNAVAILABLE:
            raise
        except Exception:
            log.exception("sweep failed", what=what, id=str(each))
    return ended
