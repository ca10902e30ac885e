"""Storing a conversation that was held elsewhere."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from agent.errors import ErrorCode
from agent.messages import plain_text, sanitise_text
from chat.engine.model_profiles import find_default_name, is_offered
from chat.engine.model_server import get_counter
from chat.errors import RefusalCode, Refused
from chat.importers.pi import Session, SessionMessage
from chat.models import Conversation, Message, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import emit, user_group
from chat.services.library import search_index
from chat.services.library.conversations import TITLE_LENGTH, make_first_title

BATCH = 500
PROGRESS_EVERY = 50  # messages
HOLDER = "import"  # of the turns: no process runs them

Progress = Callable[[int, int], None]


def import_session(
    user: User,
    session: Session,
    *,
    title: str = "",
    model: str = "",
    progress: Progress = lambda done, total: None,
) -> Conversation:
    """Store a session as one conversation of a user, or nothing.

    It goes on with `model`; without one, with the session's own where it is offered, else with the
    default. Refused where the session has no messages.
    """
    if not session.messages:
        raise Refused(RefusalCode.EMPTY_SESSION, "The file holds no messages.")
    own = session.model if is_offered(user.pk, session.model) else find_default_name(user.pk)
    model = model or own
    rows = _rows(session.messages, progress)
    times = [row.created_at for row in rows]  # Django puts its own time into new rows
    title = " ".join(sanitise_text(title).split())[:TITLE_LENGTH]
    with transaction.atomic():
        conversation = Conversation.objects.create(
            owner=user,
            model=model,
            title=title or _title(session),
            title_edited=bool(title),
            next_number=len(rows) + 1,
            # What was reported there was of other requests: other tools, another system prompt, and
            # after a compaction of theirs not all the messages.
            meter_valid_from=len(rows) + 1,
        )
        _store(conversation, rows, session.messages)
        _date(conversation, rows, times)
        search_index.index_messages(user.pk, rows)
        emit(user_group(user.pk), from_rows.conversation_updated(conversation))
    return conversation


def _title(session: Session) -> str:
    """The first line that a person wrote."""
    asked = (plain_text(m.blocks) for m in session.messages if not m.holds_results)
    return next(
        (line for text in asked if (line := make_first_title(text))), "Imported conversation"
    )


def _rows(messages: Sequence[SessionMessage], progress: Progress) -> list[Message]:
    """Unsaved rows. Counting is the slow part, so it is done before the transaction."""
    rows: list[Message] = []
    latest = timezone.now()
    for position, message in enumerate(messages):
        if position % PROGRESS_EVERY == 0:
            progress(position, len(messages))
        latest = message.at or (rows[-1].created_at if rows else latest)
        rows.append(
            Message(
                number=position + 1,
                position=position,
                role=message.role,
                blocks=message.blocks,
                text=plain_text(message.blocks),
                tokens=get_counter().count_blocks(message.blocks),
                status=message.status,
                stop_reason=message.stop_reason[:40],
                model=message.model[:200],
                usage=message.usage,
                created_at=latest,
            )
        )
    progress(len(messages), len(messages))
    return rows


def _store(
    conversation: Conversation, rows: Sequence[Message], messages: Sequence[SessionMessage]
) -> None:
    """Messages, and a turn for each answer that did not end well: it says how it ended."""
    for row, message in zip(rows, messages, strict=True):
        row.conversation = conversation
        if message.status == "complete":
            continue
        stopped = message.status == "interrupted"
        error = {"code": ErrorCode.IMPORTED, "message": message.error[:300], "retryable": False}
        row.turn = Turn(
            conversation=conversation,
            kind=Turn.Kind.ANSWER,
            status=Turn.Status.CANCELLED if stopped else Turn.Status.FAILED,
            holder=HOLDER,
            lease_expires=row.created_at,
            finished_at=row.created_at,
            error=None if stopped else error,
        )
    Turn.objects.bulk_create([row.turn for row in rows if row.turn], batch_size=BATCH)
    Message.objects.bulk_create(rows, batch_size=BATCH)


def _date(conversation: Conversation, rows: Sequence[Message], times: Sequence[datetime]) -> None:
    """Set what only stored rows can have: their own times, and the ids of their parents."""
    for row, before, time in zip(rows, [None, *rows], times, strict=False):
        row.parent = before
        row.created_at = time
    Message.objects.bulk_update(rows, ["parent", "created_at"], batch_size=BATCH)
    conversation.created_at = min(times)
    conversation.updated_at = timezone.now()  # where its owner looks for it: on top
    conversation.save(update_fields=["created_at", "updated_at"])
