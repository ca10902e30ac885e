"""Messages that their user keeps out of the context, and puts back.

They stay where they are, with their text: requests, summaries and the model's tools do without
them. Chapters that rest on them are written again (`chat.services.summary.gaps`).
"""

from uuid import UUID

from django.db import transaction

from accounts.models import User
from chat.engine.state import load_state
from chat.models import Message
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.protocol.events import MessagesLeftOut
from chat.queries.exchanges import load_exchange, select_paired
from chat.services.library.conversations import lock_message, refuse_if_hidden
from chat.services.summary import gaps
from chat.services.turns.message_changes import update_messages


def leave_message_out(user: User, conversation_id: UUID, message_id: int, *, whole: bool) -> bool:
    """Keep a message of the shown branch out of the context, with the results of its tool calls or
    the calls of its results; `whole`: its exchange. Whether chapters have to be written again.

    Raises Refused (busy, on another branch) and DoesNotExist.
    """
    return _change(user, conversation_id, message_id, whole=whole, left_out=True)


def put_message_back(user: User, conversation_id: UUID, message_id: int, *, whole: bool) -> bool:
    """`leave_message_out` undone, for the same messages."""
    return _change(user, conversation_id, message_id, whole=whole, left_out=False)


def _change(
    user: User, conversation_id: UUID, message_id: int, *, whole: bool, left_out: bool
) -> bool:
    with transaction.atomic():
        conversation, message = lock_message(user, conversation_id, message_id)
        refuse_if_hidden(message)
        exchange = load_exchange(message)
        meant = exchange if whole else select_paired(exchange, message)
        rows = [row for row in meant if row.left_out != left_out]
        if not rows:  # another tab was first
            return False
        ids = [row.pk for row in rows]
        update_messages(conversation, Message.objects.filter(pk__in=ids), left_out=left_out)
        change_summaries = gaps.leave_out_of_summaries if left_out else gaps.put_back_into_summaries
        summarised = change_summaries(conversation, rows)
        group = conversation_group(conversation.pk)
        emit(group, MessagesLeftOut(ids, left_out))
        emit_later(group, lambda: from_rows.context_usage(load_state(conversation.pk)))
    return summarised
