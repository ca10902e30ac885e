"""The beginning of a request: what it consists of, and the row that its answer goes into."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from accounts.models import User
from agent.compaction.plan import Trigger
from agent.compaction.quoted import Range
from chat.models import Message, Turn
from chat.models.notices import Notice
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit
from chat.queries import summaries
from chat.queries.conversation import (
    Loaded,
    load_for,
)
from chat.services import (
    memories,
    preparations,
)
from chat.services.turns import append_answer, head_of, lock, open_answer, post_message, set_notice


@dataclass(frozen=True)
class Opening:
    """A context to send, with the row of its answer; or, with a trigger, to compact first, and
    what to keep then in particular."""

    turn: Turn
    loaded: Loaded
    message: Message | None = None
    compact: Trigger | None = None
    focus: str = ""


def send_message(
    user: User,
    conversation_id: UUID,
    *,
    text: str,
    client_id: str | None,
    expected_head: int | None,
    owner: str,
    files: Sequence[str] = (),
    pasted: Sequence[Range] | None = None,
) -> Opening | None:
    """`post_message` and the beginning of its answer in one transaction."""
    with transaction.atomic():
        turn = post_message(
            user,
            conversation_id,
            text=text,
            client_id=client_id,
            expected_head=expected_head,
            owner=owner,
            files=files,
            pasted=pasted,
        )
        return _open(turn) if turn else None


def begin_answer(turn_id: int, *, may_compact: bool = True) -> Opening:
    """Load the context, make room in it where that takes no wait, and unless it needs a
    compaction first, open the row of the answer.

    A row that the turn opened before is used again. Raises TurnEnded.
    """
    with transaction.atomic():
        return _open(lock(turn_id), may_compact=may_compact)


def _open(turn: Turn, *, may_compact: bool = True) -> Opening:
    loaded = load_for(turn.conversation)
    if turn.status == Turn.Status.QUEUED:
        loaded = memories.told(loaded)
    if may_compact and turn.compaction_wanted:
        Turn.objects.filter(pk=turn.pk).update(compaction_wanted=False)
        if not preparations.rests(loaded):
            return Opening(turn, loaded, compact="tool", focus=turn.focus)
        set_notice(turn.pk, Notice.COMPACTION_RESTS)
    if may_compact and loaded.policy.enabled:
        loaded = preparations.relieve(loaded)
        if (trigger := loaded.due()) and not _can_wait(loaded):
            if not preparations.rests(loaded):
                return Opening(turn, loaded, compact=trigger)
            set_notice(turn.pk, Notice.COMPACTION_RESTS)
    message = None if turn.status == Turn.Status.QUEUED else open_answer(turn.pk)
    if message is None:
        head = loaded.rows[-1] if loaded.rows else head_of(loaded.conversation)
        message = append_answer(loaded.conversation, head, turn)
        group = conversation_group(turn.conversation_id)
        emit(group, from_rows.message_created(message))
        if turn.status == Turn.Status.RUNNING:  # between two rounds of tools
            emit(group, from_rows.context_usage(loaded))
    Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.RUNNING)
    return Opening(turn, loaded, message)


def _can_wait(loaded: Loaded) -> bool:
    """Whether a preparation is being written and the request still fits without it."""
    return loaded.fits and summaries.running(loaded.conversation) is not None
