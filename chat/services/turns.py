"""Turns: a user message is stored with the turn that answers it; a turn ends exactly once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from agent.errors import AgentError
from agent.messages import Block, Usage, plain_text, sound_text
from agent.tokens import Factor
from chat import events
from chat.broadcast import conversation_group, emit, user_group
from chat.contexts import Loaded, load, usage_event
from chat.errors import Refused
from chat.llm import counter
from chat.models import Conversation, Message, ModelProfile, Turn
from chat.services.conversations import create, opening_title, refuse_if_busy


class TurnEnded(Exception):
    """The turn is no longer active: it was ended by somebody else, or deleted."""


def lease() -> Any:
    """The time until which an owner's silence is taken for life."""
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


def post_message(
    user: User,
    conversation_id: UUID,
    *,
    text: str,
    client_id: str | None,
    expected_head: int | None,
    owner: str,
) -> Turn | None:
    """Store a user message and the turn that will answer it; None for a repeated `client_id`.

    Raises Refused (empty, too long, busy, head changed) and Conversation.DoesNotExist.
    """
    text = sound_text(text).strip()
    if not text:
        raise Refused("empty_message", "Write a message first.")
    if len(text) > settings.MAX_MESSAGE_CHARACTERS:
        raise Refused(
            "message_too_long",
            f"The message has {len(text):,} characters; at most "
            f"{settings.MAX_MESSAGE_CHARACTERS:,} can be sent at once.",
        )
    blocks: list[Block] = [{"type": "text", "text": text}]
    tokens = counter().count_blocks(blocks)  # before the transaction: a long text takes a while
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=conversation_id, owner=user)
        sent = Message.objects.filter(conversation=conversation, client_id=client_id)
        if client_id is not None and sent.exists():
            return None
        refuse_if_busy(conversation)
        head = _head(conversation)
        if expected_head is not None and expected_head != (head.number if head else 0):
            raise Refused("head_changed", "This chat continued in another tab.")
        turn = Turn.objects.create(
            conversation=conversation, kind=Turn.Kind.ANSWER, owner=owner, lease_expires=lease()
        )
        message = _append(
            conversation,
            head,
            turn=turn,
            role=Message.Role.USER,
            blocks=blocks,
            text=text,
            tokens=tokens,
            client_id=client_id,
        )
        if not conversation.title:
            conversation.title = opening_title(text)
            Conversation.objects.filter(pk=conversation.pk).update(title=conversation.title)
        emit(user_group(user.pk), events.conversation_updated(conversation))
        emit(conversation_group(conversation_id), events.message_created(message))
        emit(conversation_group(conversation_id), events.turn_started(turn))
    return turn


def open_conversation(
    user: User, model: str, text: str, *, owner: str
) -> tuple[Conversation, Turn]:
    """A new conversation with its first message and the turn that answers it, or neither."""
    with transaction.atomic():
        conversation = create(user, model)
        turn = post_message(
            user, conversation.pk, text=text, client_id=None, expected_head=0, owner=owner
        )
    assert turn is not None
    return conversation, turn


def retry(conversation: Conversation, *, owner: str) -> Turn:
    """Answer the last user message again. An unfinished answer leaves the branch, not the
    database. Refused where the last message is a complete answer."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().get(pk=conversation.pk)
        refuse_if_busy(row)
        head = _head(row)
        if head is None or (
            head.role == Message.Role.ASSISTANT and head.status == Message.Status.COMPLETE
        ):
            raise Refused("nothing_to_retry", "There is no unfinished answer to retry.")
        if head.role == Message.Role.ASSISTANT:
            Message.objects.filter(pk=head.pk).update(active=False)
        turn = Turn.objects.create(
            conversation=row, kind=Turn.Kind.ANSWER, owner=owner, lease_expires=lease()
        )
        emit(conversation_group(row.pk), events.turn_started(turn))
    return turn


def begin_answer(turn_id: int, *, compact_first: bool = True) -> tuple[Loaded, Message | None]:
    """Load the context and, unless it needs a compaction first, open the row of the answer.

    A row that the turn opened before is used again. Raises TurnEnded.
    """
    with transaction.atomic():
        turn = _lock(turn_id)
        loaded = load(turn.conversation_id)
        if compact_first and loaded.due():
            return loaded, None
        message = None if turn.status == Turn.Status.QUEUED else _open_answer(turn_id)
        if message is None:
            head = loaded.rows[-1] if loaded.rows else _head(loaded.conversation)
            message = _append_answer(loaded.conversation, head, turn)
            emit(conversation_group(turn.conversation_id), events.message_created(message))
        Turn.objects.filter(pk=turn_id).update(status=Turn.Status.RUNNING)
    return loaded, message


def set_notice(turn_id: int, text: str) -> None:
    """Keep a degraded mode's words with the turn and show them."""
    with transaction.atomic():
        turn = _lock(turn_id)
        Turn.objects.filter(pk=turn_id).update(notice=text)
        emit(
            conversation_group(turn.conversation_id),
            {"type": "turn.notice", "turn_id": turn_id, "text": text},
        )


def note_trimmed(turn_id: int, text: str) -> None:
    """Tell that a request went out without the oldest messages. What will be reported for it is
    not the context's size."""
    with transaction.atomic():
        set_notice(turn_id, text)
        Conversation.objects.filter(turns=turn_id).update(meter_valid_from=F("next_number"))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ends. `usage` is as reported; `raw_prompt` the raw estimate of the prompt that it
    was reported for, for learning, 0 for none."""

    status: Turn.Status
    blocks: Sequence[Block] = ()
    stop_reason: str = ""
    usage: dict[str, Any] | None = None
    raw_prompt: int = 0
    error: AgentError | None = None


_MESSAGE_STATUS = {
    Turn.Status.COMPLETED: Message.Status.COMPLETE,
    Turn.Status.FAILED: Message.Status.FAILED,
    Turn.Status.CANCELLED: Message.Status.INTERRUPTED,
    Turn.Status.INTERRUPTED: Message.Status.INTERRUPTED,
}


def finish(turn_id: int, ending: Ending) -> bool:
    """End a turn: store its answer, learn from the usage, tell everybody. False where it had
    ended already (or its conversation is gone): then nothing is written."""
    tokens = counter().count_blocks(list(ending.blocks)) if ending.blocks else 0
    with transaction.atomic():
        ended = Turn.objects.filter(pk=turn_id, status__in=Turn.ACTIVE).update(
            status=ending.status,
            finished_at=timezone.now(),
            error=ending.error.as_dict() if ending.error else None,
        )
        if not ended:
            return False
        message = _open_answer(turn_id)
        turn = (message and message.turn) or Turn.objects.get(pk=turn_id)
        if turn.kind == Turn.Kind.ANSWER:
            if message is None:  # it failed before the request went out
                message = _append_answer(turn.conversation, _head(turn.conversation), turn)
            _store_answer(message, ending, tokens)
        group = conversation_group(turn.conversation_id)
        emit(group, events.turn_finished(turn, message))
        emit(group, usage_event(load(turn.conversation_id)))
    return True


def _store_answer(message: Message, ending: Ending, tokens: int) -> None:
    """Store how an answer ended, charge its usage and teach the model's token factor."""
    usage = Usage.from_api(ending.usage)
    message.status = _MESSAGE_STATUS[ending.status]
    message.stop_reason = ending.stop_reason
    message.usage = ending.usage
    if ending.blocks:
        message.blocks = list(ending.blocks)
        message.text = plain_text(ending.blocks)
        message.tokens = tokens
    if usage.total:
        profile = ModelProfile.objects.filter(name=message.model).first()
        if profile:
            message.cost = profile.price(usage)
            _learn(profile, ending.raw_prompt, usage)
        Conversation.objects.filter(pk=message.conversation_id).update(
            input_tokens=F("input_tokens") + usage.prompt,
            output_tokens=F("output_tokens") + usage.output_tokens,
            cost=F("cost") + message.cost,
        )
    message.save(
        update_fields=["status", "stop_reason", "usage", "blocks", "text", "tokens", "cost"]
    )


def _learn(profile: ModelProfile, raw_prompt: int, usage: Usage) -> None:
    factor = Factor(profile.token_factor, profile.token_samples)
    learned = factor.learn(raw_prompt, usage.prompt)
    if learned != factor:
        ModelProfile.objects.filter(pk=profile.pk).update(
            token_factor=learned.value, token_samples=learned.samples
        )


def checkpoint(turn_ids: Sequence[int], texts: Sequence[tuple[int, str]]) -> set[int]:
    """Extend the leases of the turns that a process runs and store the text of their answers.

    Returns the ids of turns that were asked to stop.
    """
    mine = Turn.objects.filter(pk__in=turn_ids, status__in=Turn.ACTIVE)
    with transaction.atomic():
        mine.update(lease_expires=lease())
        with connection.cursor() as cursor:
            cursor.executemany(_CHECKPOINT, [_checkpoint_row(*each) for each in texts])
    return set(mine.filter(stop_requested=True).values_list("pk", flat=True))


# Once a second for every running answer: the ORM would take 0.3 ms more for each.
_CHECKPOINT = (
    "UPDATE chat_message SET blocks = %s, text = %s WHERE id = %s AND status = 'streaming'"
)


def _checkpoint_row(message_id: int, text: str) -> tuple[str, str, int]:
    sound = sound_text(text)
    blocks = [{"type": "text", "text": sound}] if sound.strip() else []
    return json.dumps(blocks), sound, message_id


def request_stop(turn_id: int) -> None:
    """Ask the owning process, whichever it is, to stop a turn at its next checkpoint."""
    Turn.objects.filter(pk=turn_id, status__in=Turn.ACTIVE).update(stop_requested=True)


def _lock(turn_id: int) -> Turn:
    """The active turn, locked for this transaction."""
    turn = Turn.objects.select_for_update().filter(pk=turn_id, status__in=Turn.ACTIVE).first()
    if turn is None:
        raise TurnEnded(turn_id)
    return turn


def _open_answer(turn_id: int) -> Message | None:
    """The row that a turn's answer is written into, with its turn; None before there is one."""
    open_rows = Message.objects.filter(turn=turn_id, status=Message.Status.STREAMING)
    return open_rows.select_related("turn").first()


def _head(conversation: Conversation) -> Message | None:
    """The last message of the branch."""
    return (
        Message.objects.filter(conversation=conversation, active=True)
        .only("number", "position", "role", "status")
        .order_by("-position")
        .first()
    )


def _append(conversation: Conversation, head: Message | None, **values: Any) -> Message:
    """A new message after `head`. The caller's transaction holds the conversation or its turn."""
    number = conversation.next_number
    Conversation.objects.filter(pk=conversation.pk).update(
        next_number=number + 1, updated_at=timezone.now()
    )
    conversation.next_number = number + 1
    return Message.objects.create(
        conversation=conversation,
        parent=head,
        number=number,
        position=head.position + 1 if head else 0,
        **values,
    )


def _append_answer(conversation: Conversation, head: Message | None, turn: Turn) -> Message:
    """The empty row of an answer."""
    return _append(
        conversation,
        head,
        turn=turn,
        role=Message.Role.ASSISTANT,
        status=Message.Status.STREAMING,
        model=conversation.model,
    )
