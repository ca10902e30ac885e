"""Every change of a conversation's messages is noted here, in the transaction that makes it: what
processes keep of the messages (`chat.engine.recent_messages`) counts no more. Who changes a message
has to know nothing else of that."""

from typing import Any

from django.db.models import QuerySet

from chat.db.rows import Values, update_row
from chat.engine.recent_messages import extend_recent_messages, new_version
from chat.models import Conversation, Message


def change_history(
    conversation: Conversation,
    appended: Message | None = None,
    *,
    added: Values | None = None,
    **values: Any,
) -> None:
    """Give a conversation a new version of its history, and with it the `values` of other columns
    and what is `added` to them.

    `appended`: the message whose storing was the whole change, with its turn. Where nobody else has
    changed the history since the row was read, what this process keeps goes on with it.
    """
    before, after = conversation.history_version, new_version()
    values["history_version"] = after
    unchanged = update_row(Conversation, values, added, pk=conversation.pk, history_version=before)
    if not unchanged:
        update_row(Conversation, values, added, pk=conversation.pk)
    conversation.history_version = after
    if unchanged and appended:
        extend_recent_messages(conversation, before, appended)


def update_messages(conversation: Conversation, messages: QuerySet[Message], **values: Any) -> None:
    """Change stored messages of a conversation."""
    messages.update(**values)
    change_history(conversation)
