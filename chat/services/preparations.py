"""Summaries before they are needed: written in the background, swapped in without a wait."""

from collections.abc import Iterable, Iterator
from itertools import islice
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from agent.compaction.plan import (
    Attempt,
    resting_until,
    wants_pause,
    wants_preparation,
    wants_swap,
)
from agent.context.pruning import plan_pruning
from agent.context.request import CACHE_SECONDS
from chat.models import Compaction, Conversation, Turn
from chat.queries import (
    model_server,
    summaries,
)
from chat.queries.conversation import (
    Loaded,
    load,
)
from chat.services import compactions

log = structlog.get_logger(__name__)

# Before the cache expires, with time left to write a summary on it.
IDLE_MARGIN_SECONDS = 30.0


def prepare_if_due(loaded: Loaded) -> int | None:
    """After a reply: begin a preparation where the context nears its trigger; its id, or None."""
    if not wants_preparation(loaded.used, loaded.limits, loaded.policy):
        return None
    return _begin(loaded, Compaction.Trigger.PREPARED)


def pause_wanted(loaded: Loaded) -> tuple[int, float] | None:
    """After a reply: whether a pause should be used, as (number of the last message, seconds to
    wait for); only for large contexts of users who have come back after a pause before."""
    # After a pause before that had outlived the short cache.
    returned = any(pause > CACHE_SECONDS["5m"] for pause in loaded.pauses)
    if not wants_pause(loaded.used, loaded.limits, loaded.policy, returned=returned):
        return None
    return loaded.rows[-1].number, loaded.cached_seconds - IDLE_MARGIN_SECONDS


def prepare_in_pause(conversation_id: UUID, head: int) -> int | None:
    """In a pause: begin a preparation if nothing has been written since message `head`."""
    loaded = load(conversation_id)
    if not loaded.rows or loaded.rows[-1].number != head:
        return None
    return _begin(loaded, Compaction.Trigger.IDLE)


def _begin(loaded: Loaded, trigger: Compaction.Trigger) -> int | None:
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=loaded.conversation.pk)
        busy = Turn.objects.filter(conversation=conversation, status__in=Turn.ACTIVE).exists()
        if (
            busy
            or not conversation.owner.is_active
            or not loaded.policy.enabled
            or loaded.policy.held
            or summaries.running(conversation)
            or summaries.ready(conversation)
            or rests(loaded, unseen=True)
        ):
            return None
        planned = summaries.plan_for(loaded)
        if planned is None:
            return None
        compaction = compactions.begin(
            loaded, planned, trigger, turn_id=None, previous=conversation.compaction
        )
    return compaction.pk


def relieve(loaded: Loaded) -> Loaded:
    """Make room for the next request without a wait: swap a prepared summary in, or prune. The
    conversation as it is then."""
    conversation = loaded.conversation
    due = loaded.due()
    large = loaded.used >= loaded.policy.idle_tokens(loaded.limits)
    may_swap = due or (large and not loaded.warm)
    prepared = summaries.ready(conversation) if may_swap else None
    in_pause = prepared is not None and prepared.trigger == Compaction.Trigger.IDLE
    if (
        prepared
        and wants_swap(due, warm=loaded.warm, in_pause=in_pause)
        and (swapped := compactions.commit_ready(loaded))
    ):
        return swapped
    if not due:
        return loaded
    pruning = plan_pruning(
        loaded.context.messages,
        conversation.pruned_through,
        loaded.limits,
        model_server.counter(),
    )
    if pruning is None:
        return loaded
    Conversation.objects.filter(pk=conversation.pk).update(
        pruned_through=pruning.through, meter_valid_from=conversation.next_number
    )
    log.info("tool results pruned", conversation=str(conversation.pk), freed=pruning.freed)
    return load(conversation.pk)


def _but_repeated(rows: Iterable[Compaction]) -> Iterator[Compaction]:
    """Without those that one long turn of many rounds had good reason for: the last counts."""
    by_rounds = (Compaction.Trigger.ITERATIONS, Compaction.Trigger.TOOL)
    turns = set()
    for row in rows:
        if row.status == Compaction.Status.COMPLETED and row.trigger in by_rounds:
            if row.turn_id in turns:
                continue
            turns.add(row.turn_id)
        yield row


def rests(loaded: Loaded, *, unseen: bool = False) -> bool:
    """Whether the breaker holds automatic compactions back now. Preparations that failed hold back
    the unseen ones only: what a turn waits for ends in an extract at the worst."""
    conversation = loaded.conversation
    ended = Compaction.objects.filter(conversation=conversation, finished_at__isnull=False).exclude(
        trigger__in=(Compaction.Trigger.MANUAL, Compaction.Trigger.EDIT)
    )
    ended = ended.exclude(status=Compaction.Status.CANCELLED)
    if not unseen:
        ended = ended.exclude(status=Compaction.Status.FAILED, turn=None)
    attempts = [
        Attempt(
            ended_at=row.finished_at or row.created_at,
            failed=row.status == Compaction.Status.FAILED,
            turns_ago=Turn.objects.filter(
                conversation=conversation, kind=Turn.Kind.ANSWER, created_at__gt=row.created_at
            ).count(),
        )
        for row in islice(_but_repeated(ended.order_by("-pk")), loaded.policy.breaker_failures)
    ]
    return resting_until(attempts, loaded.policy, timezone.now()) is not None
