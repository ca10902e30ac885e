"""What waits to be sent: the queued prompts of conversations."""

from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.expressions import NegatedExpression

from chat.models import QueuedPrompt, Turn

# Why a prompt is set aside: it waits for its author, and those that came later do not.
PAUSED = "paused"
SET_ASIDE = (PAUSED, "nothing_to_compact")
# What was to go in between two rounds of tools and came too late for that is the next one.
IN_ORDER = ("-send_now", "position")


def list_queue(conversation_id: UUID) -> list[QueuedPrompt]:
    """The queued prompts of a conversation, in the order in which they go out."""
    rows = QueuedPrompt.objects.filter(conversation=conversation_id).order_by(*IN_ORDER)
    return list(rows.prefetch_related("attachments"))


def find_next(conversation_id: UUID) -> QueuedPrompt | None:
    """The prompt that goes out next, with its conversation and that one's owner; None where the
    conversation is not free, or its queue waits for its author."""
    rows = _select_sendable().filter(_is_free(), conversation=conversation_id)
    return rows.select_related("conversation__owner").order_by(*IN_ORDER).first()


def list_steering(conversation_id: UUID) -> list[QueuedPrompt]:
    """What is to go in between two rounds of tools, in order."""
    rows = _select_sendable().filter(conversation=conversation_id, send_now=True, command="")
    return list(rows.select_related("conversation__owner").order_by("position"))


def list_waiting() -> dict[UUID, bool]:
    """The conversations whose queues go on by themselves, and whether they are free now."""
    rows = _select_sendable().annotate(free=_is_free())
    return dict(rows.order_by().values_list("conversation", "free").distinct())


def _select_sendable() -> QuerySet[QueuedPrompt]:
    """Those without a problem, where none is before them. Nothing of a deleted conversation goes
    out, nor for a person who is disabled."""
    behind = QueuedPrompt.objects.filter(
        conversation=OuterRef("conversation"), problem__isnull=False
    ).exclude(problem__code__in=SET_ASIDE)
    return QueuedPrompt.objects.filter(
        ~Exists(behind),
        problem__isnull=True,
        conversation__deleted_at=None,
        conversation__owner__is_active=True,
    )


def _is_free() -> NegatedExpression:
    """Whether no turn is active in a prompt's conversation."""
    return ~Exists(
        Turn.objects.filter(conversation=OuterRef("conversation"), status__in=Turn.ACTIVE)
    )
