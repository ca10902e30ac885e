"""Ending what nobody keeps alive any more."""

from django.utils import timezone
from django.utils.translation import gettext_noop

from agent.errors import AgentError
from chat.models import Compaction, Message, Turn
from chat.services import attachments, compactions, conversations, memories
from chat.services.endings import Ending

INTERRUPTED = AgentError(
    "interrupted",
    gettext_noop(
        "The answer was interrupted because the server stopped. What was written is kept."
    ),
    retryable=True,
)


def sweep() -> int:
    """End turns and compactions whose lease has run out: a turn is interrupted with its text kept,
    a compaction fails. Delete temporary conversations and unsent files after a day,
    and proposals for the memory after two weeks. Safe to run
    anywhere at any time; returns how many it ended."""
    now = timezone.now()
    ended = 0
    stale = Compaction.objects.filter(status=Compaction.Status.RUNNING, lease_expires__lt=now)
    for compaction_id in stale.values_list("pk", flat=True):
        ended += compactions.fail(compaction_id, compactions.WORKER_STOPPED)
    for turn in Turn.objects.filter(status__in=Turn.ACTIVE, lease_expires__lt=now):
        ended += interrupt(turn)
    return ended + conversations.sweep_temporary() + attachments.sweep() + memories.sweep()


def interrupt(turn: Turn) -> bool:
    """End one turn as interrupted, with the text of its last checkpoint."""
    message = Message.objects.filter(turn=turn, status=Message.Status.STREAMING).first()
    blocks = message.blocks if message else ()
    ending = Ending(Turn.Status.INTERRUPTED, blocks=blocks, error=INTERRUPTED)
    return compactions.end_turn(turn.pk, ending) is not None
