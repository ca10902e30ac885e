"""Summaries before they are needed: written in the background, swapped in without a wait."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent.compaction.policy import BACKGROUND, Attempt, Origin, Trigger, find_breaker_end
from agent.context.shortening.pruning import Pruning
from agent.engine import find_pause_to_use, wants_preparation
from chat import metrics
from chat.engine.state import RequestState, load_state
from chat.models import Compaction, Conversation, Turn
from chat.queries import summary_versions
from chat.services.summary import compactions
from chat.services.turns import asking
from spending.totals import load_totals

log = structlog.get_logger(__name__)


def prepare_if_due(state: RequestState) -> int | None:
    """After a reply: begin a preparation where the context nears its trigger; its id, or None."""
    return _begin(state, Trigger.PREPARED) if _is_near(state) else None


def begin_between_rounds(turn_id: int, state: RequestState) -> int | None:
    """Between two rounds of a turn: the same, though the turn holds the conversation. It is swapped
    in before a later request, of this turn or the next."""
    return _begin(state, Trigger.PREPARED, within=turn_id) if _is_near(state) else None


def _is_near(state: RequestState) -> bool:
    messages = state.context.recent_count
    return wants_preparation(state.used, state.limits, state.policy, messages)


def find_pause(state: RequestState) -> tuple[int, float] | None:
    """After a reply: whether a pause should be used, as (number of the last message, seconds to
    wait for)."""
    seconds = find_pause_to_use(
        state.used,
        state.limits,
        state.policy,
        pauses=state.pauses,
        cached=state.cached_seconds,
    )
    return None if seconds is None else (state.recent.rows[-1].number, seconds)


def prepare_in_pause(conversation_id: UUID, head: int) -> int | None:
    """In a pause: begin a preparation if nothing has been written since message `head`."""
    state = load_state(conversation_id)
    if not state.recent.rows or state.recent.rows[-1].number != head:
        return None
    return _begin(state, Trigger.IDLE)


def _begin(state: RequestState, trigger: Trigger, *, within: int = 0) -> int | None:
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=state.conversation.pk)
        active = Turn.objects.filter(conversation=conversation, status__in=Turn.ACTIVE)
        if (
            active.exclude(pk=within).exists()
            or not conversation.owner.is_active
            or not state.policy.enabled
            or state.policy.held
            or compactions.is_writing(conversation)
            or summary_versions.find_ready(conversation)
            or is_breaker_open(state, unseen=True)
            or is_over_budget(state)
            or not asking.is_permitted(conversation, compactions.choose_writer(conversation))
        ):
            return None
        planned = summary_versions.plan_for(state, trigger)
        if planned is None:
            return None
        compaction = compactions.begin(
            state, planned, trigger, turn_id=None, previous=conversation.compaction
        )
    return compaction.pk


def is_over_budget(state: RequestState) -> bool:
    """Whether what was written in the background in the last 24 hours has used up the tokens for
    it: nothing is prepared then, and log and metric say so."""
    most = state.policy.prepare_tokens_a_day(state.limits)
    if most is None:
        return False
    day_ago = timezone.now() - timedelta(days=1)
    rows = Compaction.objects.filter(
        Q(trigger__in=BACKGROUND) | Q(origin=Origin.REBUILT, trigger=""),
        conversation=state.conversation,
        created_at__gt=day_ago,
    )
    totals = load_totals("compaction", list(rows.values_list("pk", flat=True)))
    used = sum(total.tokens for total in totals.values())
    if used < most:
        return False
    metrics.NOT_PREPARED.inc()
    log.warning(
        "nothing prepared: over the tokens of a day",
        conversation=str(state.conversation.pk),
        used=used,
        most=most,
    )
    return True


@dataclass(frozen=True)
class TurnSituation:
    """What `agent.engine.next_step` asks about a turn and its conversation."""

    turn: Turn
    state: RequestState

    @property
    def asked(self) -> bool:
        return self.turn.compaction_wanted

    @property
    def rounds(self) -> int:
        return self.state.rounds

    @property
    def warm(self) -> bool:
        return self.state.warm

    def find_prepared(self) -> Trigger | None:
        row = summary_versions.find_ready(self.state.conversation)
        return Trigger(row.trigger) if row else None

    def is_writing(self) -> bool:
        return summary_versions.find_running(self.state.conversation) is not None

    def is_breaker_open(self) -> bool:
        return is_breaker_open(self.state)


def store_pruning(state: RequestState, pruning: Pruning) -> RequestState:
    """Send old tool results as previews from now on. The conversation as it is then."""
    conversation = state.conversation
    Conversation.objects.filter(pk=conversation.pk).update(
        pruned_through=pruning.through, meter_valid_from=conversation.next_number
    )
    log.info("tool results pruned", conversation=str(conversation.pk), freed=pruning.freed)
    return load_state(conversation.pk)


def _skip_repeats_in_a_turn(rows: Iterable[Compaction]) -> Iterator[Compaction]:
    """Without those for which one long turn of many rounds had good reason: of them only the last
    counts."""
    by_rounds = (Trigger.ITERATIONS, Trigger.MESSAGES, Trigger.TOOL)
    turns = set()
    for row in rows:
        if row.status == Compaction.Status.COMPLETED and row.trigger in by_rounds:
            if row.turn_id in turns:
                continue
            turns.add(row.turn_id)
        yield row


def is_breaker_open(state: RequestState, *, unseen: bool = False) -> bool:
    """Whether the circuit breaker stops automatic compactions now. Preparations that failed stop
    only other preparations, which nobody sees: what a turn waits for ends in an extract at the
    worst."""
    conversation = state.conversation
    ended = Compaction.objects.filter(conversation=conversation, finished_at__isnull=False).exclude(
        Q(trigger=Trigger.MANUAL) | Q(origin__in=(Origin.EDIT, Origin.REWRITE))
    )
    ended = ended.exclude(status=Compaction.Status.CANCELLED)
    ended = ended.exclude(origin=Origin.REBUILT, status=Compaction.Status.COMPLETED)
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
        for row in islice(
            _skip_repeats_in_a_turn(ended.order_by("-pk")), state.policy.breaker_failures
        )
    ]
    return find_breaker_end(attempts, state.policy, timezone.now()) is not None
