"""Compactions: begun by a turn, claimed and kept alive by a worker, ended exactly once.

Every status change is a conditional update on `running`, so that worker, canceller and sweep can
race; whoever comes first decides, and exactly one `CompressionCompleted` goes out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import User
from agent.compaction import Chapter, Plan, plan
from agent.messages import Usage
from agent.summary import PROMPT_VERSION, Result
from chat import events
from chat.broadcast import conversation_group, emit
from chat.contexts import Loaded, agent_message, load, usage_event
from chat.errors import Refused
from chat.models import Compaction, Conversation, Message, ModelProfile, Turn
from chat.profiles import profile_for
from chat.services.conversations import refuse_if_busy
from chat.services.turns import TurnEnded, lease

log = structlog.get_logger(__name__)

SERVER_STOPPED = "The server stopped before it was done. Nothing was lost."
WORKER_STOPPED = "The worker stopped before it was done. Nothing was lost."
NOT_TAKEN_UP = "No worker took it up. Nothing was lost; check that a worker is running."
CANCELLED = "Cancelled. Nothing was changed."
CHANGED = "The conversation changed meanwhile. Nothing was lost."


@dataclass(frozen=True)
class Job:
    """What a worker needs to write a summary."""

    compaction: Compaction
    loaded: Loaded
    plan: Plan
    chapters: Sequence[Chapter]
    model: ModelProfile


def plan_for(loaded: Loaded, *, manual: bool = False) -> Plan | None:
    """What a compaction would summarise and keep now; None: too little to summarise."""
    fixed = loaded.size.system + loaded.size.summary
    return plan(loaded.context.messages, loaded.policy, loaded.limits, fixed=fixed, manual=manual)


def open_turn(user: User, conversation_id: UUID, *, focus: str, owner: str) -> tuple[Turn, int]:
    """Start `/compact`: a turn that locks the conversation, and its compaction's id.

    Refused while another turn runs, and where there is too little to summarise.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id, owner=user)
        refuse_if_busy(conversation)
        loaded = load(conversation_id)
        planned = plan_for(loaded, manual=True)
        if planned is None:
            reason = (
                "There is nothing to compact yet: the conversation is empty."
                if not loaded.rows and not loaded.context.summary
                else "There is nothing to compact yet: the last exchange always stays as it is."
            )
            raise Refused("nothing_to_compact", reason)
        turn = Turn.objects.create(
            conversation=conversation,
            kind=Turn.Kind.COMPACT,
            owner=owner,
            focus=focus,
            lease_expires=lease(),
        )
        emit(conversation_group(conversation_id), events.turn_started(turn))
        compaction = begin(
            turn.pk,
            loaded,
            planned,
            Compaction.Trigger.MANUAL,
            previous=loaded.conversation.compaction,
            focus=focus,
        )
    return turn, compaction.pk


def open_rerun(compaction_id: int, *, owner: str) -> tuple[Turn, int]:
    """Write a current summary's newest version again, from the same messages.

    Refused for versions that are not current.
    """
    with transaction.atomic():
        old = Compaction.objects.select_related("conversation").get(pk=compaction_id)
        conversation = Conversation.objects.select_for_update().get(pk=old.conversation_id)
        refuse_if_busy(conversation)
        if conversation.compaction_id != old.pk:
            raise Refused("not_current", "Only the current summary can be written again.")
        loaded = load(conversation.pk)
        covered = [agent_message(row) for row in _covered(old)]
        # The new version is measured against the context without the old one.
        freed = sum(loaded.limits.factor.apply(message.tokens) for message in covered)
        turn = Turn.objects.create(
            conversation=conversation,
            kind=Turn.Kind.COMPACT,
            owner=owner,
            focus=old.focus,
            lease_expires=lease(),
        )
        emit(conversation_group(conversation.pk), events.turn_started(turn))
        compaction = begin(
            turn.pk,
            loaded,
            Plan(covered, loaded.context.messages),
            Compaction.Trigger.MANUAL,
            previous=old.previous,
            focus=old.focus,
            tokens_before=loaded.used + freed,
        )
    return turn, compaction.pk


def begin(
    turn_id: int,
    loaded: Loaded,
    planned: Plan,
    trigger: Compaction.Trigger,
    *,
    previous: Compaction | None,
    focus: str = "",
    tokens_before: int | None = None,
) -> Compaction:
    """Record a compaction that a worker may now claim, and lock the page; `previous` is the version
    to extend. Raises TurnEnded."""
    conversation = loaded.conversation
    first, last = planned.summarise[0].number, planned.summarise[-1].number
    ids = dict(
        Message.objects.filter(conversation=conversation, number__in=(first, last)).values_list(
            "number", "pk"
        )
    )
    with transaction.atomic():
        updated = Turn.objects.filter(pk=turn_id, status__in=Turn.ACTIVE).update(
            status=Turn.Status.COMPACTING
        )
        if not updated:
            raise TurnEnded(turn_id)
        compaction = Compaction.objects.create(
            conversation=conversation,
            turn_id=turn_id,
            previous=previous,
            replaces=conversation.compaction,
            first_id=ids[first],
            through_id=ids[last],
            messages=len(planned.summarise),
            trigger=trigger,
            focus=focus,
            engine="serialised",
            engine_reason="the only request builder so far",
            model=settings.SUMMARY_MODEL or conversation.model,
            prompt_version=PROMPT_VERSION,
            tokens_before=loaded.used if tokens_before is None else tokens_before,
            lease_expires=lease(),
        )
        emit(conversation_group(conversation.pk), events.compaction_started(compaction))
    return compaction


def claim(compaction_id: int, pid: int) -> Job | None:
    """Take up a compaction; None where it has ended or somebody else has it."""
    claimed = Compaction.objects.filter(
        pk=compaction_id, status=Compaction.Status.RUNNING, worker_pid=None
    ).update(worker_pid=pid, started_at=timezone.now(), lease_expires=lease())
    if not claimed:
        return None
    compaction = Compaction.objects.select_related("first", "through", "previous").get(
        pk=compaction_id
    )
    loaded = load(compaction.conversation_id)
    covered = [agent_message(row) for row in _covered(compaction)]
    through = compaction.through.number
    kept = [m for m in loaded.context.messages if m.number > through]
    return Job(
        compaction=compaction,
        loaded=loaded,
        plan=Plan(covered, kept),
        chapters=compaction.previous.chapters if compaction.previous else [],
        model=profile_for(compaction.model),
    )


def _covered(compaction: Compaction) -> QuerySet[Message]:
    """The messages that a compaction reads: those of the branch in its range."""
    return Message.objects.filter(
        conversation=compaction.conversation_id,
        active=True,
        position__range=(compaction.first.position, compaction.through.position),
    ).order_by("position")


def beat(compaction_id: int) -> bool:
    """Extend a running compaction's lease; False where it has been ended."""
    running = Compaction.objects.filter(pk=compaction_id, status=Compaction.Status.RUNNING)
    return bool(running.update(lease_expires=lease()))


def look_after(compaction_id: int, *, pickup_over: bool) -> Compaction:
    """The row, after failing it where no worker has taken it up in time or its worker is dead."""
    compaction = Compaction.objects.get(pk=compaction_id)
    if compaction.status == Compaction.Status.RUNNING:
        error = ""
        if compaction.worker_pid is None and pickup_over:
            error = NOT_TAKEN_UP
        elif compaction.worker_pid is not None and compaction.lease_expires < timezone.now():
            error = WORKER_STOPPED
        if error:
            fail(compaction_id, error)
            compaction.refresh_from_db()
    return compaction


def report(compaction: Compaction, text: str) -> None:
    """Show a step of a compaction in the page."""
    emit(
        conversation_group(compaction.conversation_id),
        events.compaction_progress(compaction, text),
    )


def complete(job: Job, result: Result, *, tokens_after: int) -> bool:
    """Make the new version the current one. Where the conversation's current version or the
    covered messages changed meanwhile, the compaction fails instead: False."""
    compaction = job.compaction
    cost = job.model.price(result.usage)
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=compaction.conversation_id)
        unchanged = conversation.compaction_id == compaction.replaces_id and [
            row.number for row in _covered(compaction).only("number")
        ] == [message.number for message in job.plan.summarise]
        if unchanged and _end(
            compaction,
            Compaction.Status.COMPLETED,
            chapters=result.chapters,
            audit=result.audit,
            tokens_after=tokens_after,
            usage=result.usage.as_dict(),
            cost=cost,
        ):
            _make_current(conversation, compaction)
            _charge(conversation, result.usage, cost)
            _announce(compaction)
            emit(conversation_group(conversation.pk), usage_event(load(conversation.pk)))
            return True
    fail(compaction.pk, CHANGED)
    return False


def fail(compaction_id: int, error: str, *, cancelled: bool = False) -> bool:
    """End a running compaction without a summary; False where it had ended already."""
    with transaction.atomic():
        compaction = Compaction.objects.filter(pk=compaction_id).first()
        if compaction is None:
            return False
        status = Compaction.Status.CANCELLED if cancelled else Compaction.Status.FAILED
        if not _end(compaction, status, error=error):
            return False
        _announce(compaction)
    return True


def cancel(conversation_id: UUID) -> bool:
    """Cancel the running compaction; its worker notices at its next heartbeat."""
    running = Compaction.objects.filter(
        conversation=conversation_id, status=Compaction.Status.RUNNING
    ).first()
    return running is not None and fail(running.pk, CANCELLED, cancelled=True)


def abandon(turn_id: int) -> None:
    """Fail what a turn still has running when it ends itself: nobody waits for it any more, and it
    would keep the next compaction from beginning."""
    running = Compaction.objects.filter(turn=turn_id, status=Compaction.Status.RUNNING)
    for compaction_id in running.values_list("pk", flat=True):
        fail(compaction_id, SERVER_STOPPED)


def revert(compaction_id: int) -> None:
    """Go back to the version before the current one.

    Refused for versions that are not current, and where the longer request would not fit the
    model's window. Automatic compaction then waits until the window itself is full.
    """
    with transaction.atomic():
        current = Compaction.objects.select_related("previous__through").get(pk=compaction_id)
        conversation = Conversation.objects.select_for_update().get(pk=current.conversation_id)
        refuse_if_busy(conversation)
        if conversation.compaction_id != current.pk:
            raise Refused("not_current", "Only the current summary can be reverted.")
        _make_current(conversation, current.previous)
        Conversation.objects.filter(pk=conversation.pk).update(compaction_held=True)
        loaded = load(conversation.pk)
        if loaded.used > loaded.limits.prompt_limit:
            raise Refused(
                "does_not_fit",
                f"Without this summary the conversation has {loaded.used:,} tokens; the model "
                f"takes {loaded.limits.prompt_limit:,}. Choose a larger model first.",
            )
        emit(conversation_group(conversation.pk), {"type": "compaction.reverted", "id": current.pk})
        emit(conversation_group(conversation.pk), usage_event(loaded))


def _end(compaction: Compaction, status: Compaction.Status, **values: object) -> bool:
    """Move a running compaction to its final status, if it is still running."""
    values = {"status": status, "finished_at": timezone.now()} | values
    running = Compaction.objects.filter(pk=compaction.pk, status=Compaction.Status.RUNNING)
    if not running.update(**values):
        return False
    for name, value in values.items():
        setattr(compaction, name, value)
    return True


def _announce(compaction: Compaction) -> None:
    emit(conversation_group(compaction.conversation_id), events.compaction_completed(compaction))
    log.info(
        "compaction ended",
        compaction=compaction.pk,
        conversation=str(compaction.conversation_id),
        status=str(compaction.status),
        trigger=compaction.trigger,
        engine=compaction.engine,
        messages=compaction.messages,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
        freed=max(0, compaction.tokens_before - compaction.tokens_after),
        cost=round(compaction.cost, 6),
        seconds=round(compaction.duration or 0, 2),
        error=compaction.error,
    )


def _make_current(conversation: Conversation, compaction: Compaction | None) -> None:
    """Point a conversation at a version of its summary, or at none."""
    Conversation.objects.filter(pk=conversation.pk).update(
        compaction=compaction,
        compressed_context=compaction.summary if compaction else None,
        compressed_at=compaction.finished_at if compaction else None,
        compressed_through=compaction.through if compaction else None,
        compaction_held=False,
        # Usage reported so far was of another context.
        meter_valid_from=F("next_number"),
    )


def _charge(conversation: Conversation, usage: Usage, cost: float) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(
        input_tokens=F("input_tokens") + usage.prompt,
        output_tokens=F("output_tokens") + usage.output_tokens,
        cost=F("cost") + cost,
        compaction_cost=F("compaction_cost") + cost,
        compactions_completed=F("compactions_completed") + 1,
    )
