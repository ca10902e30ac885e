"""Summaries before they are needed: written in the background, swapped in without a wait."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from agent.compaction.policy import Attempt, Trigger, resting_until
from agent.context.pruning import Pruning
from agent.engine import pause_to_use, wants_preparation
from chat.models import Compaction, Conversation, Turn
from chat.queries import summaries
from chat.queries.conversation import Loaded, load
from chat.services import compactions

log = structlog.get_logger(__name__)


def prepare_if_due(loaded: Loaded) -> int | None:
    """After a reply: begin a preparation where the context nears its trigger; its id, or None."""
    if not wants_preparation(loaded.used, loaded.limits, loaded.policy):
        return None
    return _begin(loaded, Trigger.PREPARED)


def pause_wanted(loaded: Loaded) -> tuple[int, float] | None:
    """After a reply: whether a pause should be used, as (number of the last message, seconds to
    wait for)."""
    seconds = pause_to_use(
        loaded.used,
        loaded.limits,
        loaded.policy,
        pauses=loaded.pauses,
        cached=loaded.cached_seconds,
    )
    return None if seconds is None else (loaded.rows[-1].number, seconds)


def prepare_in_pause(conversation_id: UUID, head: int) -> int | None:
    """In a pause: begin a preparation if nothing has been written since message `head`."""
    loaded = load(conversation_id)
    if not loaded.rows or loaded.rows[-1].number != head:
        return None
    return _begin(loaded, Trigger.IDLE)


def _begin(loaded: Loaded, trigger: Trigger) -> int | None:
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


@dataclass(frozen=True)
class TurnSituation:
    """What `agent.engine.next_step` asks about a turn and its conversation."""

    turn: Turn
    loaded: Loaded

    @property
    def asked(self) -> bool:
        return self.turn.compaction_wanted

    @property
    def rounds(self) -> int:
        return self.loaded.rounds

    @property
    def warm(self) -> bool:
        return self.loaded.warm

    def prepared(self) -> Trigger | None:
        row = summaries.ready(self.loaded.conversation)
        return Trigger(row.trigger) if row else None

    def is_writing(self) -> bool:
        return summaries.running(self.loaded.conversation) is not None

    def breaker_open(self) -> bool:
        return rests(self.loaded)


def prune(loaded: Loaded, pruning: Pruning) -> Loaded:
    """Send old tool results as previews from now on. The conversation as it is then."""
    conversation = loaded.conversation
    Conversation.objects.filter(pk=conversation.pk).update(
        pruned_through=pruning.through, meter_valid_from=conversation.next_number
    )
    log.info("tool results pruned", conversation=str(conversation.pk), freed=pruning.freed)
    return load(conversation.pk)


def _but_repeated(rows: Iterable[Compaction]) -> Iterator[Compaction]:
    """Without those that one long turn of many rounds had good reason for: the last counts."""
    by_rounds = (Trigger.ITERATIONS, Trigger.TOOL)
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
        trigger__in=(Trigger.MANUAL, Trigger.EDIT)
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
