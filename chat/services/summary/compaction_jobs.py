"""The worker's side of a compaction: taken up, kept alive, and handed in."""

from dataclasses import dataclass

import structlog
from django.db import transaction
from django.utils import timezone

from accounts.policies import load_rights
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.instructions.pins import Pin
from agent.compaction.plan import Plan
from agent.compaction.policy import BACKGROUND, Origin, Trigger
from agent.engine import CompactedContext
from chat.engine.recent_messages import to_agent_message
from chat.engine.state import RequestState, load_state
from chat.models import Compaction, Conversation
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.protocol.events import CompactionPrepared
from chat.queries.records import find_by_rule_through
from chat.queries.summary_versions import load_covered, read_chapters, read_chapters_before
from chat.services.summary.compactions import (
    CANCELLED,
    CHANGED,
    announce_end,
    describe_for_log,
    end,
    fail,
    make_current,
)
from chat.services.turns.turns import next_lease_end
from spending.calls import CallDetails
from spending.models import ModelCall

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SummaryTask:
    """What a worker needs to write a summary."""

    compaction: Compaction
    state: RequestState
    plan: Plan
    chapters: list[Chapter]
    edited: list[Pin]  # of the version that it replaces

    @property
    def is_by_rule(self) -> bool:
        """Whether all that it covers came from elsewhere, and no model reads it."""
        return self.plan.summarise[-1].number <= find_by_rule_through(self.state)


def claim(compaction_id: int, pid: int) -> SummaryTask | None:
    """Take up a compaction; None where it has ended or another worker has it."""
    _end_with_owner(compaction_id)
    claimed = Compaction.objects.filter(
        pk=compaction_id, status=Compaction.Status.RUNNING, worker_pid=None
    ).update(worker_pid=pid, started_at=timezone.now(), lease_expires=next_lease_end())
    if not claimed:
        return None
    compaction = Compaction.objects.select_related("first", "through", "previous", "replaces").get(
        pk=compaction_id
    )
    state = load_state(compaction.conversation_id)
    known = {message.number: message for message in state.context.messages}
    covered = load_covered(compaction).defer("text").iterator()  # of a giant, many megabytes
    through = compaction.through.number
    return SummaryTask(
        compaction=compaction,
        state=state,
        plan=Plan(
            [known.get(row.number) or to_agent_message(row) for row in covered],
            [m for m in state.context.messages if m.number > through],
        ),
        chapters=_read_chapters(compaction),
        edited=[
            pin
            for chapter in read_chapters(compaction.replaces)
            for pin in chapter.pins
            if pin.edited and pin.number not in chapter.left_out
        ],
    )


def _read_chapters(compaction: Compaction) -> list[Chapter]:
    if compaction.origin == Origin.REWRITE and compaction.replaces:
        return read_chapters_before(compaction.replaces)
    return read_chapters(compaction.previous)


def is_wanted(compaction_id: int) -> bool:
    """Whether a compaction that was claimed is still running, and not ended elsewhere."""
    _end_with_owner(compaction_id)
    running = Compaction.objects.filter(pk=compaction_id, status=Compaction.Status.RUNNING)
    return running.exists()


def _end_with_owner(compaction_id: int) -> None:
    """End a compaction whose owner has been disabled, or may not use the conversation's model any
    more."""
    rows = Compaction.objects.filter(pk=compaction_id, status=Compaction.Status.RUNNING)
    asked = "conversation__owner", "conversation__owner__is_active", "conversation__model"
    for owner_id, is_active, model in rows.values_list(*asked):
        if not (is_active and load_rights(owner_id).may_use_model(model)):
            fail(compaction_id, CANCELLED, cancelled=True)


def is_waited_for(compaction_id: int) -> bool:
    """Whether a turn waits for a compaction; it may have adopted it since it began."""
    return Compaction.objects.filter(pk=compaction_id, turn__isnull=False).exists()


def takes_extract(compaction_id: int) -> bool:
    """Whether a summary by rule is better than none: where somebody waits, and has none yet of
    these messages."""
    rows = Compaction.objects.exclude(origin=Origin.REWRITE)
    return rows.filter(pk=compaction_id, turn__isnull=False).exists()


def report_progress(compaction: Compaction, text: str) -> None:
    """Show a step of a compaction in the page; a preparation stays in the background."""
    if is_waited_for(compaction.pk):
        emit(
            conversation_group(compaction.conversation_id),
            from_rows.compaction_progress(compaction, text),
        )


def describe_calls(task: SummaryTask) -> CallDetails:
    """Who pays for the calls of a compaction: the owner of its conversation."""
    compaction = task.compaction
    asked = compaction.trigger == Trigger.MANUAL
    rebuilt = compaction.origin == Origin.REBUILT and not asked
    is_preparation = compaction.trigger in BACKGROUND or rebuilt
    return CallDetails(
        task.state.conversation.owner_id,
        ModelCall.Kind.PREPARATION if is_preparation else ModelCall.Kind.SUMMARY,
        compaction.model,
        conversation=compaction.conversation_id,
        compaction=compaction.pk,
    )


def complete(task: SummaryTask, written: CompactedContext) -> bool:
    """Store a written summary: as the current version where a turn waits for it, else as ready.

    Where the conversation's current version or the covered messages changed meanwhile, the
    compaction fails instead: False.
    """
    result = written.result
    with transaction.atomic():
        # No deadlock with a turn that is just beginning another one and has the compaction locked.
        conversations = Conversation.objects.select_for_update(no_key=True)
        conversation = conversations.get(pk=task.compaction.conversation_id)
        # Locked, so that no turn adopts it between this check and the end.
        rows = Compaction.objects.select_for_update(of=("self",)).select_related("first", "through")
        compaction = rows.get(pk=task.compaction.pk)
        is_waited_for = compaction.turn_id is not None
        unchanged = conversation.compaction_id == compaction.replaces_id and covers_the_same(task)
        if unchanged and end(
            compaction,
            Compaction.Status.COMPLETED if is_waited_for else Compaction.Status.READY,
            chapters=[chapter.as_dict() for chapter in result.chapters],
            summary=written.summary.text,
            method=result.method,
            method_reason=result.reason,
            audit=result.audit,
            tokens_after=written.tokens,
            messages_after=written.context.message_count,
        ):
            if is_waited_for:
                make_current(conversation, compaction, written_for=task.state)
                announce_end(compaction)
                group = conversation_group(conversation.pk)
                emit_later(group, lambda: from_rows.context_usage(load_state(conversation.pk)))
            else:
                log.info("compaction prepared", **describe_for_log(compaction))
                emit(conversation_group(conversation.pk), CompactionPrepared(compaction.pk))
            return True
    fail(task.compaction.pk, CHANGED)
    return False


def covers_the_same(task: SummaryTask) -> bool:
    """Whether the messages that were read are still those of the compaction's range."""
    now = [row.number for row in load_covered(task.compaction).only("number")]
    return now == [message.number for message in task.plan.summarise]
