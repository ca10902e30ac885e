"""The worker's side of a compaction: taken up, kept alive, charged, and handed in."""

from dataclasses import dataclass

import structlog
from django.db import transaction
from django.utils import timezone

from agent.compaction.chapters import Chapter
from agent.compaction.plan import Plan
from agent.engine import Compacted
from agent.model.client import Spent
from chat.models import Compaction, Conversation
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.queries.conversation import Loaded, agent_message, load
from chat.queries.summaries import chapters_of, covered
from chat.services import conversations
from chat.services.compactions import (
    CANCELLED,
    CHANGED,
    announce_end,
    described,
    end,
    fail,
    make_current,
)
from chat.services.turns import lease

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Task:
    """What a worker needs to write a summary."""

    compaction: Compaction
    loaded: Loaded
    plan: Plan
    chapters: list[Chapter]


def claim(compaction_id: int, pid: int) -> Task | None:
    """Take up a compaction; None where it has ended or somebody else has it."""
    _end_with_owner(compaction_id)
    claimed = Compaction.objects.filter(
        pk=compaction_id, status=Compaction.Status.RUNNING, worker_pid=None
    ).update(worker_pid=pid, started_at=timezone.now(), lease_expires=lease())
    if not claimed:
        return None
    compaction = Compaction.objects.select_related("first", "through", "previous").get(
        pk=compaction_id
    )
    loaded = load(compaction.conversation_id)
    through = compaction.through.number
    return Task(
        compaction=compaction,
        loaded=loaded,
        plan=Plan(
            [agent_message(row) for row in covered(compaction)],
            [m for m in loaded.context.messages if m.number > through],
        ),
        chapters=chapters_of(compaction.previous),
    )


def beat(compaction_id: int) -> bool:
    """Extend a running compaction's lease; False where it has been ended."""
    _end_with_owner(compaction_id)
    alive = Compaction.objects.filter(pk=compaction_id, status=Compaction.Status.RUNNING)
    return bool(alive.update(lease_expires=lease()))


def _end_with_owner(compaction_id: int) -> None:
    """Cancel a compaction whose owner has been disabled."""
    disabled = Compaction.objects.filter(pk=compaction_id, conversation__owner__is_active=False)
    if disabled.exists():
        fail(compaction_id, CANCELLED, cancelled=True)


def is_waited_for(compaction_id: int) -> bool:
    """Whether a turn waits for a compaction; it may have adopted it since it began."""
    return Compaction.objects.filter(pk=compaction_id, turn__isnull=False).exists()


def report(compaction: Compaction, text: str) -> None:
    """Show a step of a compaction in the page; a preparation works unseen."""
    if is_waited_for(compaction.pk):
        emit(
            conversation_group(compaction.conversation_id),
            from_rows.compaction_progress(compaction, text),
        )


def charge(compaction: Compaction, spent: Spent) -> None:
    """Put what the model calls cost on the compaction and on its conversation, once, before it is
    handed in: they cost the same where it was cancelled or where nothing of use came of them."""
    if not spent:
        return
    with transaction.atomic():
        usage, cost = conversations.charge(compaction.conversation_id, spent, compaction=True)
        Compaction.objects.filter(pk=compaction.pk).update(usage=usage.as_dict(), cost=cost)
    log.info(
        "compaction charged",
        compaction=compaction.pk,
        conversation=str(compaction.conversation_id),
        calls=len(spent),
        cost=round(cost, 6),
    )


def complete(task: Task, written: Compacted) -> bool:
    """Store a written summary: as the current version where a turn waits for it, else as ready.

    Where the conversation's current version or the covered messages changed meanwhile, the
    compaction fails instead: False.
    """
    result = written.result
    with transaction.atomic():
        # Not against a turn that just begins another one and has the compaction locked.
        conversations = Conversation.objects.select_for_update(no_key=True)
        conversation = conversations.get(pk=task.compaction.conversation_id)
        # Locked, so that no turn adopts it between the look and the end.
        rows = Compaction.objects.select_for_update(of=("self",)).select_related("first", "through")
        compaction = rows.get(pk=task.compaction.pk)
        waited_for = compaction.turn_id is not None
        numbers = [message.number for message in task.plan.summarise]
        if _unchanged(compaction, conversation, numbers) and end(
            compaction,
            Compaction.Status.COMPLETED if waited_for else Compaction.Status.READY,
            chapters=[chapter.as_dict() for chapter in result.chapters],
            summary=written.summary.text,
            engine=result.engine,
            engine_reason=result.reason,
            audit=result.audit,
            tokens_after=written.tokens,
        ):
            if waited_for:
                make_current(conversation, compaction, new=True)
                announce_end(compaction)
                group = conversation_group(conversation.pk)
                emit_later(group, lambda: from_rows.context_usage(load(conversation.pk)))
            else:
                log.info("compaction prepared", **described(compaction))
            return True
    fail(task.compaction.pk, CHANGED)
    return False


def _unchanged(compaction: Compaction, conversation: Conversation, numbers: list[int]) -> bool:
    """Whether the version that it replaces and the messages that it read are still the same."""
    now = [row.number for row in covered(compaction).only("number")]
    return conversation.compaction_id == compaction.replaces_id and now == numbers
