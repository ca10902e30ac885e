"""Turns: each is begun here, kept alive, and ended exactly once by `endings.end_turn`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext

from accounts.policies import load_all_rights
from agent.authorship.quoted import Range
from agent.messages import Block, plain_text, sanitise_text
from chat.db.rows import Values, insert_row, read_row, update_row
from chat.db.threads import UNAVAILABLE
from chat.engine.model_server import get_counter
from chat.engine.recent_messages import load_recent_messages
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Conversation, Message, Turn
from chat.models.notices import Notice, notice_text
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.protocol.events import TurnNotice
from chat.protocol.pasted import convert_to_stored
from chat.services.library import search_index
from chat.services.people.rate_limit import count_turn
from chat.services.turns.message_changes import change_history
from chat.services.turns.times import tell_time

log = structlog.get_logger(__name__)

LEASE_SHARE = 0.8  # share of LEASE_SECONDS


# An answer that is being written: the id of its message, its text, what counts its usage so far.
Unstored = tuple[int, str, Callable[[], dict[str, Any] | None]]


class TurnEnded(Exception):
    """The turn is no longer active: it was ended by somebody else, or deleted."""


def next_lease_end() -> Any:
    """Until when a holder counts as alive without a heartbeat: short enough that a sweep, which
    may be a second late, ends a dead holder's turn within LEASE_SECONDS."""
    return timezone.now() + timedelta(seconds=LEASE_SHARE * settings.LEASE_SECONDS)


@dataclass(frozen=True, slots=True)
class NewMessage:
    """What a user sends: a text with the attachments whose ids are `files`. `pasted`: see
    `chat.protocol.pasted`; `client_id`: by which a repeated one is known; `zone`: the time zone
    that it was written in, "": the site's; `source`: through which door it came."""

    text: str
    files: Sequence[str] = ()
    pasted: Sequence[Range] | None = None
    client_id: str | None = None
    zone: str = ""
    source: Message.Source = Message.Source.WEB


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user's message that is ready to be stored; `text` is what was typed. The others: see
    `NewMessage`."""

    text: str
    blocks: Sequence[Block]
    tokens: int
    pasted: list[list[int]] | None
    files: Sequence[Attachment]
    client_id: str | None = None
    zone: str = ""
    source: Message.Source = Message.Source.WEB


def make_prompt(
    text: str,
    pasted: Sequence[Range] | None,
    others: Sequence[Block],
    files: Sequence[Attachment],
    *,
    client_id: str | None = None,
    zone: str = "",
    source: Message.Source = Message.Source.WEB,
) -> Prompt:
    """What a user wrote, after `others`, the blocks of what goes along. Refused where it is empty
    or too long. Not inside a transaction: counting a long text takes a while."""
    parts = convert_to_stored(sanitise_text(text), pasted)
    text = _checked_text(text, needed=not others)
    blocks = list(others)
    if text:
        blocks.append({"type": "text", "text": text})
    tokens = get_counter().count_blocks(blocks)
    return Prompt(text, blocks, tokens, parts, files, client_id, zone, source)


def _checked_text(text: str, *, needed: bool) -> str:
    """What the user typed, fit to be stored; Refused where it is too long, or empty but needed."""
    text = sanitise_text(text).strip()
    if needed and not text:
        raise Refused(RefusalCode.EMPTY_MESSAGE, gettext("Write a message first."))
    if len(text) > settings.MAX_MESSAGE_CHARACTERS:
        raise Refused(
            RefusalCode.MESSAGE_TOO_LONG,
            gettext(
                "The message has {count:,} characters; at most {most:,} can be sent at once."
            ).format(count=len(text), most=settings.MAX_MESSAGE_CHARACTERS),
        )
    return text


def begin_turn(
    conversation: Conversation,
    kind: Turn.Kind,
    holder: str,
    *,
    prompt: Prompt | None = None,
    after: Message | None = None,
    focus: str = "",
    model: str = "",
    by: int | None = None,
) -> Turn:
    """A queued turn, with the `prompt` that it answers if that is new, stored after the message
    `after`. `model` answers in this turn alone; "": the conversation's. It is counted for the user
    who asked for it: `by`, or else the conversation's owner.

    Every turn begins here, and every model call belongs to a turn or follows one: nothing that
    costs goes uncounted. The caller's transaction holds the conversation. Refused above the limits.
    """
    count_turn(by or conversation.owner_id)
    turn = Turn(
        conversation=conversation,
        kind=kind,
        model=model,
        holder=holder,
        focus=focus,
        lease_expires=next_lease_end(),
    )
    insert_row(turn)
    group = conversation_group(conversation.pk)
    if prompt:
        store_prompt(prompt, conversation, after, turn)
    emit(group, from_rows.turn_started(turn))
    return turn


def store_prompt(
    prompt: Prompt, conversation: Conversation, after: Message | None, turn: Turn
) -> Message:
    """A user's message of a turn, after the message `after`. The caller's transaction holds the
    conversation."""
    zone = prompt.zone or settings.TIME_ZONE
    message = append_message(
        conversation,
        after,
        turn,
        role=Message.Role.USER,
        blocks=list(prompt.blocks),
        text=plain_text(prompt.blocks),
        pasted=prompt.pasted,
        client_id=prompt.client_id,
        source=prompt.source,
        **tell_time(conversation, after, zone, prompt.tokens),
    )
    if prompt.files:
        message.attachments.set(prompt.files)
    emit_later(conversation_group(conversation.pk), lambda: from_rows.message_created(message))
    return message


def set_notice(turn_id: int, notice: Notice, about: str = "") -> None:
    """Store a degraded mode, and what it concerns, and show it."""
    with transaction.atomic():
        turn = lock_turn(turn_id)
        Turn.objects.filter(pk=turn_id).update(notice=notice, notice_about=about)
        emit(
            conversation_group(turn.conversation_id),
            TurnNotice(turn_id, notice, notice_text(notice, about)),
        )


def mark_trimmed(turn_id: int, notice: Notice = Notice.TRIMMED) -> None:
    """Note that a request went out without the oldest messages, or otherwise shortened: the usage
    reported for it is not the context's size."""
    with transaction.atomic():
        set_notice(turn_id, notice)
        Conversation.objects.filter(turns=turn_id).update(meter_valid_from=F("next_number"))


def void_thinking(turn_id: int) -> None:
    """Do not send the thinking again that there is by now: the API does not take it back."""
    Conversation.objects.filter(turns=turn_id).update(meter_valid_from=F("next_number"))


def checkpoint(turn_ids: Sequence[int], texts: Sequence[Unstored]) -> set[int]:
    """Store the text of the answers of the turns that a process runs, and what those have used so
    far.

    Returns the ids of turns that must stop: they were asked to, their owner was disabled or may not
    use the model any more, or they were deleted. A turn that a sweep took for dead goes on, and its
    whole answer will be stored; but not beside the next turn of its conversation.
    """
    mine = Turn.objects.filter(pk__in=turn_ids)
    if texts:
        _store_texts([_checkpoint_row(*each) for each in texts])
    others = Turn.objects.filter(conversation=OuterRef("conversation"), status__in=Turn.ACTIVE)
    wanted = mine.filter(
        Q(status__in=Turn.ACTIVE) | ~Exists(others),
        stop_requested=False,
        conversation__owner__is_active=True,
    )
    rows = [*wanted.values_list("pk", "conversation__owner", "model", "conversation__model")]
    rights = load_all_rights({owner_id for _, owner_id, _, _ in rows})
    going_on = {
        pk for pk, owner_id, once, usual in rows if rights[owner_id].may_use_model(once or usual)
    }
    return set(turn_ids) - going_on


# Once a second for every running answer: the ORM would take 0.3 ms more for each.
_CHECKPOINT = (
    "UPDATE chat_message SET blocks = %s, text = %s, usage = %s "
    "WHERE id = %s AND status = 'streaming'"
)


# The blocks, the text, the usage and the message's id.
_Checkpoint = tuple[str, str, str | None, int]


def _store_texts(rows: Sequence[_Checkpoint]) -> None:
    """Store what can be stored: a text that the database does not take is logged and left out. Its
    turn goes on, and ends with the text that was stored last."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(_CHECKPOINT, rows)
    except UNAVAILABLE:
        raise
    except (DatabaseError, ValueError, OverflowError) as error:
        if len(rows) == 1:
            [(_, text, _, message_id)] = rows
            log.error(
                "text not checkpointed",
                message=message_id,
                characters=len(text),
                reason=str(error)[:300],
            )
            return
        for each in rows:
            _store_texts([each])


def _checkpoint_row(
    message_id: int, text: str, estimate: Callable[[], dict[str, Any] | None]
) -> _Checkpoint:
    usage = estimate()
    stored = json.dumps(usage) if usage else None
    return json.dumps(text_blocks(text)), sanitise_text(text), stored, message_id


def text_blocks(text: str) -> list[Block]:
    """What a checkpoint keeps of an answer."""
    sound = sanitise_text(text)
    return [{"type": "text", "text": sound}] if sound.strip() else []


def request_stop(turn_id: int) -> None:
    """Ask the owning process, whichever it is, to stop a turn at its next checkpoint."""
    Turn.objects.filter(pk=turn_id, status__in=Turn.ACTIVE).update(stop_requested=True)


def lock_turn(turn_id: int) -> Turn:
    """The active turn, locked for this transaction."""
    turn = read_row(Turn, lock=True, pk=turn_id, status=Turn.ACTIVE)
    if turn is None:
        raise TurnEnded(turn_id)
    return turn


def find_open_answer(turn_id: int) -> Message | None:
    """The row that a turn's answer is written into, with its turn and conversation; None before
    there is one."""
    message = read_row(Message, turn=turn_id, status=Message.Status.STREAMING)
    turn = read_row(Turn, pk=turn_id) if message else None
    conversation = read_row(Conversation, pk=turn.conversation_id) if turn else None
    if not (message and turn and conversation):
        return None
    message.turn, message.conversation, turn.conversation = turn, conversation, conversation
    return message


def find_head(conversation: Conversation) -> Message | None:
    """The last message of the branch of a conversation whose row was just read, where none is
    being written."""
    if rows := load_recent_messages(conversation).rows:
        return rows[-1]
    return (
        Message.objects.filter(conversation=conversation, active=True)
        .only("number", "position", "role", "status", "created_at", "time_zone")
        .order_by("-position")
        .first()
    )


def append_message(
    conversation: Conversation, head: Message | None, turn: Turn, **values: Any
) -> Message:
    """A new message of a turn, after `head`. The caller's transaction holds the conversation or
    the turn."""
    number = conversation.next_number
    if head:  # answers and results of tools are where the prompt was written
        values.setdefault("time_zone", head.time_zone)
    message = Message(
        conversation=conversation,
        turn=turn,
        parent_id=head.pk if head else None,
        number=number,
        position=head.position + 1 if head else 0,
        **values,
    )
    insert_row(message)
    conversation.next_number = number + 1
    changed: Values = {"next_number": number + 1, "updated_at": timezone.now()}
    if message.status == Message.Status.STREAMING:
        update_row(Conversation, changed, pk=conversation.pk)
    else:
        change_history(conversation, message, **changed)
        search_index.index_messages(conversation.owner_id, [message])
    return message


def append_answer(conversation: Conversation, head: Message | None, turn: Turn) -> Message:
    """The empty row of an answer."""
    return append_message(
        conversation,
        head,
        turn,
        role=Message.Role.ASSISTANT,
        status=Message.Status.STREAMING,
        model=turn.model or conversation.model,
    )
