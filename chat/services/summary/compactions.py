"""Compactions: begun by a turn or in the background, ended exactly once. The worker's side is
`chat.services.summary.compaction_jobs`.

Every status change is a conditional update, so that worker, canceller and sweep can race; whoever
comes first decides. The hooks get one beginning and one end for each compaction. The page gets them
for those that a turn waits for, and for prepared ones when they are swapped in.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_noop

from agent.compaction.failures import Failure
from agent.compaction.plan import Plan, list_verbatim
from agent.compaction.policy import Origin, Trigger
from agent.compaction.skills import SKILLS
from agent.context.request import count_bridged, find_long_pause
from chat import metrics
from chat.engine.recent_messages import find_pauses
from chat.engine.state import RequestState, load_state
from chat.models import Compaction, Conversation, Message, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.queries import records
from chat.queries.summary_versions import find_ready, load_covered
from chat.services.calls import lose_open_of_compaction
from chat.services.turns import leases
from chat.services.turns.turns import TurnEnded, next_lease_end
from chat.signals import compaction_ended, compaction_started
from spending.totals import load_total

log = structlog.get_logger(__name__)

# Stored in English; `chat.protocol.from_rows` translates them.
GIVEN_UP = gettext_noop("What waited for it has ended. Nothing was lost.")
UNHEARD = gettext_noop(
    "The worker that wrote it has not been heard of for too long. Nothing was lost."
)
NOT_TAKEN_UP = gettext_noop(
    "No worker took it up. Nothing was lost; check that a worker is running."
)
NO_QUEUE = gettext_noop(
    "The task queue cannot be reached. Nothing was lost; check that Redis is running."
)
CANCELLED = gettext_noop("Cancelled. Nothing was changed.")
DISCARDED = "Discarded by an administrator."
SUPERSEDED = "Superseded before it was used."  # only the admin shows it
CHANGED = gettext_noop("The conversation changed meanwhile. Nothing was lost.")


def choose_writer(conversation: Conversation, model: str = "") -> str:
    """The model that writes a conversation's summaries, `model` or else its own, unless the site
    has one for that."""
    return settings.SUMMARY_MODEL or model or conversation.model


def begin(
    state: RequestState,
    planned: Plan,
    trigger: Trigger | None = None,
    *,
    origin: Origin = Origin.COMPACTION,
    turn_id: int | None,
    previous: Compaction | None,
    focus: str = "",
    model: str = "",
    tokens_before: int | None = None,
) -> Compaction:
    """Record a compaction that a worker may now claim; `previous` is the version to extend. There
    is no `trigger` where the `origin` is not a compaction, unless its owner asked to have what was
    recorded by rule read.

    With a turn the page is locked; without one it is a preparation. Raises TurnEnded.
    """
    conversation = state.conversation
    first, last = planned.summarise[0].number, planned.summarise[-1].number
    ids = dict(
        Message.objects.filter(conversation=conversation, number__in=(first, last)).values_list(
            "number", "pk"
        )
    )
    with transaction.atomic():
        if turn_id is not None:
            _mark_compacting(turn_id)
            discard_preparations(conversation)
        if records.is_record_due(state):
            _mark_record(state)
        compaction = Compaction.objects.create(
            conversation=conversation,
            turn_id=turn_id,
            previous=previous,
            replaces=conversation.compaction,
            first_id=ids[first],
            through_id=ids[last],
            messages=len(planned.summarise),
            trigger=trigger or "",
            origin=origin,
            focus=focus,
            model=choose_writer(conversation, model),
            prompt_version=SKILLS[state.policy.summary_form].version,
            tokens_before=state.used if tokens_before is None else tokens_before,
            messages_before=len(list_verbatim(state.context, planned)),
            lease_expires=next_lease_end(),
        )
        transaction.on_commit(
            lambda: compaction_started.send(Compaction, compaction=compaction), robust=True
        )
        if turn_id is not None:
            _tell_start(compaction)
    log.info("compaction begun", **_describe_begin(compaction))
    return compaction


def _mark_record(state: RequestState) -> None:
    """Remember up to where a giant came from elsewhere. Its first message would cost more with each
    request than the record of it says, where it is long."""
    conversation = state.conversation
    conversation.record_through = records.find_by_rule_through(state)
    conversation.keep_first_message &= records.keeps_first(state)
    conversation.save(update_fields=["record_through", "record_agreed_at", "keep_first_message"])


def adopt(compaction: Compaction, turn_id: int) -> bool:
    """Let a turn wait for a preparation that is still running: from now on it locks the page and
    becomes current as soon as it is written. False: it has just ended. Raises TurnEnded."""
    unseen = Compaction.objects.filter(
        pk=compaction.pk, status=Compaction.Status.RUNNING, turn=None
    )
    with transaction.atomic():
        if not unseen.update(turn_id=turn_id):
            return False
        _mark_compacting(turn_id)
        compaction.turn_id = turn_id
        _tell_start(compaction)
    return True


def commit_ready(state: RequestState) -> RequestState | None:
    """Make a prepared version the current one: no model call, so nobody waits. The conversation
    as it is then; None where there is none, or what it covers has changed."""
    conversation = state.conversation
    compaction = find_ready(conversation)
    if compaction is None:
        return None
    with transaction.atomic():
        if not covers_what_it_read(compaction):
            discard_preparations(conversation)
            return None
        if not end(compaction, Compaction.Status.COMPLETED, of=(Compaction.Status.READY,)):
            return None
        make_current(conversation, compaction, written_for=state)
        after = load_state(conversation.pk)
        compaction.tokens_before, compaction.tokens_after = state.used, after.used
        compaction.messages_before = state.context.message_count
        compaction.messages_after = after.context.message_count
        compaction.save(
            update_fields=["tokens_before", "tokens_after", "messages_before", "messages_after"]
        )
        _tell_start(compaction)
        announce_end(compaction)
        emit(conversation_group(conversation.pk), from_rows.context_usage(after))
    return after


def is_writing(conversation: Conversation) -> bool:
    """Whether anything is being written: there is one at a time."""
    running = Compaction.objects.filter(conversation=conversation, status=Compaction.Status.RUNNING)
    return running.exists()


def covers_what_it_read(compaction: Compaction) -> bool:
    """Whether a version's range still holds the messages that it was written from."""
    numbers = list(load_covered(compaction).values_list("number", flat=True))
    # A message that took another's place since then has a newer number.
    newest = max(numbers, default=0)
    return len(numbers) == compaction.messages and newest == compaction.through.number


def discard_preparations(conversation: Conversation) -> None:
    """End what was prepared: something newer takes its place."""
    prepared = (Compaction.Status.RUNNING, Compaction.Status.READY)
    with transaction.atomic():
        rows = Compaction.objects.filter(conversation=conversation, turn=None, status__in=prepared)
        for compaction in rows.select_for_update():
            end(compaction, Compaction.Status.CANCELLED, of=prepared, error=SUPERSEDED)
            announce_end(compaction)


def end(
    compaction: Compaction,
    status: Compaction.Status,
    *,
    of: Collection[Compaction.Status] = (Compaction.Status.RUNNING,),
    **values: object,
) -> bool:
    """Move a compaction to another status, if it still has one of those before it. The caller
    announces it in the same transaction."""
    finished_at = compaction.finished_at or timezone.now()  # written is finished
    values = {"status": status, "finished_at": finished_at} | values
    if not Compaction.objects.filter(pk=compaction.pk, status__in=of).update(**values):
        return False
    for name, value in values.items():
        setattr(compaction, name, value)
    return True


def announce_end(compaction: Compaction) -> None:
    """Tell the page, the hooks and the log of an end. What replaces a version and was no turn's is
    a summary that has changed; a chapter that was written again says so itself."""
    swapped_in = (
        compaction.status == Compaction.Status.COMPLETED and compaction.origin != Origin.REBUILT
    )
    if compaction.turn_id is None and swapped_in and compaction.origin == Origin.REWRITE:
        tell_change(compaction)
    elif compaction.turn_id is not None or swapped_in:
        group = conversation_group(compaction.conversation_id)
        emit_later(group, lambda: from_rows.compression_completed(compaction))
    if swapped_in and (left := compaction.audit.get("left")):
        metrics.STATEMENTS_LEFT.inc(len(left))
    transaction.on_commit(
        lambda: compaction_ended.send(Compaction, compaction=compaction), robust=True
    )
    log.info("compaction ended", **describe_for_log(compaction))


def tell_change(current: Compaction) -> None:
    """Tell the page that the current version says something else."""
    group = conversation_group(current.conversation_id)
    emit_later(group, lambda: from_rows.summary_changed(current))


def describe_for_log(compaction: Compaction) -> dict[str, Any]:
    """A compaction that is written or ended, for the log."""
    after = compaction.tokens_after
    return _describe_begin(compaction) | {
        "status": str(compaction.status),
        "engine": str(compaction.method),  # the logs' names for both
        "engine_reason": str(compaction.method_reason),
        "messages_after": compaction.messages_after,
        "tokens_after": after,
        "freed": max(0, compaction.tokens_before - after) if after else 0,
        "cost": round(float(load_total("compaction", compaction.pk).dollars), 6),
        "seconds": round(compaction.duration or 0, 2),
        "cut": len(compaction.audit.get("cut") or ()),
        "left": len(compaction.audit.get("left") or ()),
        "unwritten": len(compaction.audit.get("unwritten") or ()),
        "ended": len(compaction.audit.get("ended") or ()),
        "error": compaction.error,
    }


def _describe_begin(compaction: Compaction) -> dict[str, Any]:
    return {
        "compaction": compaction.pk,
        "conversation": str(compaction.conversation_id),
        "trigger": compaction.occasion,
        "messages": compaction.messages,
        "messages_before": compaction.messages_before,
        "tokens_before": compaction.tokens_before,
    }


def fail(
    compaction_id: int,
    error: str,
    *,
    cancelled: bool = False,
    abandoned: bool = False,
    failures: Sequence[Failure] = (),
) -> bool:
    """End a running compaction without a summary, after what its worker has tried; False where it
    had ended already, and for one that looked `abandoned`, where its lease has been extended after
    all."""
    with transaction.atomic():
        # Locked, so that no turn adopts it between this check and the end.
        compaction = Compaction.objects.select_for_update().filter(pk=compaction_id).first()
        if compaction is None or (abandoned and compaction.lease_expires >= timezone.now()):
            return False
        status = Compaction.Status.CANCELLED if cancelled else Compaction.Status.FAILED
        audit = {"failures": [asdict(each) for each in failures]} if failures else {}
        if not end(compaction, status, error=error, audit=audit):
            return False
        announce_end(compaction)
        if abandoned:  # a worker that is alive ends its calls itself
            lose_open_of_compaction(compaction_id)
    return True


def fail_if_abandoned(compaction_id: int, *, pickup_over: bool) -> Compaction:
    """The row, after failing it where no worker has taken it up in time, or its worker is not heard
    of any more. Not where this process was held up itself."""
    compaction = Compaction.objects.get(pk=compaction_id)
    if compaction.status == Compaction.Status.RUNNING and leases.keeper.may_end_others():
        if compaction.worker_pid is None:
            failed = pickup_over and fail(compaction_id, NOT_TAKEN_UP)
        else:
            over = compaction.lease_expires < timezone.now()
            failed = over and fail_abandoned(compaction_id)
        if failed:
            compaction.refresh_from_db()
    return compaction


def fail_abandoned(compaction_id: int) -> bool:
    """End a running compaction whose lease is over, unless this process is at work on it."""
    if compaction_id in leases.keeper.list_held(Compaction):
        return False
    unclaimed = Compaction.objects.filter(pk=compaction_id, worker_pid=None).exists()
    return fail(compaction_id, NOT_TAKEN_UP if unclaimed else UNHEARD, abandoned=True)


def cancel(conversation_id: UUID) -> bool:
    """Cancel the running compaction; its worker notices at its next heartbeat."""
    waiting = Compaction.objects.filter(
        conversation=conversation_id, status=Compaction.Status.RUNNING, turn__isnull=False
    ).first()
    return waiting is not None and fail(waiting.pk, CANCELLED, cancelled=True)


def fail_all_of(turn_id: int) -> None:
    """Fail the compaction of a turn that is ending without success: no turn waits for it any more,
    and it would keep the next one from beginning. The caller ends the turn in the same
    transaction."""
    # Locked, so that a compaction which is just being begun finds the turn ended.
    Turn.objects.select_for_update().filter(pk=turn_id).first()
    left = Compaction.objects.filter(turn=turn_id, status=Compaction.Status.RUNNING)
    for compaction_id in left.values_list("pk", flat=True):
        fail(compaction_id, GIVEN_UP)


def make_current(
    conversation: Conversation,
    compaction: Compaction | None,
    *,
    written_for: RequestState | None = None,
) -> None:
    """Point a conversation at a version of its summary, or at none. A new one comes with the state
    that it was `written_for`: it counts, and the pauses that it hides are remembered."""
    new = written_for is not None
    remembered = _remember_pauses(written_for, compaction) if written_for and compaction else {}
    Conversation.objects.filter(pk=conversation.pk).update(
        **_as_compressed(compaction),
        compaction_held=False,
        compactions_completed=F("compactions_completed") + int(new),
        **remembered,
    )


def _remember_pauses(state: RequestState, compaction: Compaction) -> dict[str, Any]:
    """What decides for how long requests are cached (`agent.context.request.choose_cache_ttl`), of
    the messages that a new summary hides."""
    through = compaction.through.number if compaction.through else 0
    covered = [row for row in state.recent.rows if row.number <= through]
    before_next = state.recent.rows[: len(covered) + 1]  # the pause after them is hidden too
    return {
        "long_pause": find_long_pause(state.pauses),
        "pauses_covered": F("pauses_covered") + count_bridged(find_pauses(before_next)),
        "tokens_covered": F("tokens_covered") + sum(row.tokens for row in covered),
    }


def restate_current(conversation: Conversation) -> Compaction | None:
    """Say again what a conversation's summary is, after its versions lost or got back a part: the
    current one, or if nothing is left of that, the newest before it that holds something."""
    current = conversation.compaction
    if current is not None:
        current.refresh_from_db()
    while current is not None and not current.chapters:
        current = current.previous
    Conversation.objects.filter(pk=conversation.pk).update(**_as_compressed(current))
    return current


def _as_compressed(compaction: Compaction | None) -> dict[str, Any]:
    return {
        "compaction": compaction,
        "compressed_context": compaction.summary if compaction else None,
        "compressed_at": compaction.finished_at if compaction else None,
        "compressed_through": compaction.through if compaction else None,
        # Usage reported so far was of another context.
        "meter_valid_from": F("next_number"),
    }


def _mark_compacting(turn_id: int) -> None:
    active = Turn.objects.filter(pk=turn_id, status__in=Turn.ACTIVE)
    if not active.update(status=Turn.Status.COMPACTING):
        raise TurnEnded(turn_id)


def _tell_start(compaction: Compaction) -> None:
    emit(conversation_group(compaction.conversation_id), from_rows.compression_started(compaction))
