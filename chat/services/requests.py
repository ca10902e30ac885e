"""The beginning of a request: what it consists of, and the row that its answer goes into."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_noop

from accounts.models import User
from agent.compaction.policy import Trigger
from agent.compaction.quoted import Range
from agent.engine import Compact, Prune, Rest, Send, Swap, Trim, next_step
from chat.models import Message, Turn
from chat.protocol import events
from chat.protocol.broadcast import (
    conversation_group,
    emit,
)
from chat.queries import model_server
from chat.queries.conversation import (
    Loaded,
    load_for,
    usage_event,
)
from chat.services import (
    compactions,
    memories,
    preparations,
)
from chat.services.turns import append_answer, head_of, lock, open_answer, post_message, set_notice

RESTS_NOTICE = gettext_noop(
    "Automatic compaction rests for a few minutes after it failed or came too often. "
    "/compact works at any time."
)


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
    if may_compact:
        loaded, trigger = _make_room(turn, loaded)
        if trigger:
            focus = turn.focus if trigger == Trigger.TOOL else ""
            return Opening(turn, loaded, compact=trigger, focus=focus)
    message = None if turn.status == Turn.Status.QUEUED else open_answer(turn.pk)
    if message is None:
        head = loaded.rows[-1] if loaded.rows else head_of(loaded.conversation)
        message = append_answer(loaded.conversation, head, turn)
        group = conversation_group(turn.conversation_id)
        emit(group, events.message_created(message))
        if turn.status == Turn.Status.RUNNING:  # between two rounds of tools
            emit(group, usage_event(loaded))
    Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.RUNNING)
    return Opening(turn, loaded, message)


def _make_room(turn: Turn, loaded: Loaded) -> tuple[Loaded, Trigger | None]:
    """Take the engine's steps that need no wait. The conversation as it is then, and why it has to
    be compacted before the request, if it has."""
    if turn.compaction_wanted:
        Turn.objects.filter(pk=turn.pk).update(compaction_wanted=False)
    while True:
        situation = preparations.TurnSituation(turn, loaded)
        match next_step(loaded.metered, loaded.policy, situation, model_server.counter()):
            case Swap():
                # None: what it covers has changed, and nothing is prepared any more.
                loaded = compactions.commit_ready(loaded) or loaded
            case Prune(pruning):
                loaded = preparations.prune(loaded, pruning)
            case Compact(trigger):
                return loaded, trigger
            case Rest():
                set_notice(turn.pk, RESTS_NOTICE)
                return loaded, None
            case Send() | Trim():
                return loaded, None
