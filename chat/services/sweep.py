"""Ending what nobody keeps alive any more."""

from django.utils import timezone

from agent.errors import AgentError
from chat.models import Compaction, Message, Turn
from chat.services import compactions, turns

INTERRUPTED = AgentError(
    "interrupted",
    "The answer was interrupted because the server stopped. What was written is kept.",
    retryable=True,
)


def sweep() -> int:
    """End turns and compactions whose lease has run out: a turn is interrupted with its text kept,
    a compaction fails. Safe to run anywhere at any time; returns how many it ended."""
    now = timezone.now()
    ended = 0
    stale = Compaction.objects.filter(status=Compaction.Status.RUNNING, lease_expires__lt=now)
    for compaction_id in stale.values_list("pk", flat=True):
        ended += compactions.fail(compaction_id, compactions.WORKER_STOPPED)
    for turn in Turn.objects.filter(status__in=Turn.ACTIVE, lease_expires__lt=now):
        ended += interrupt(turn)
    return ended


def interrupt(turn: Turn) -> bool:
    """End one turn as interrupted, with the text of its last checkpoint."""
    compactions.abandon(turn.pk)
    message = Message.objects.filter(turn=turn, status=Message.Status.STREAMING).first()
    blocks = message.blocks if message else ()
    ending = turns.Ending(Turn.Status.INTERRUPTED, blocks=blocks, error=INTERRUPTED)
    return turns.finish(turn.pk, ending)
