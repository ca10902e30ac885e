"""What a conversation leaves outside of its rows."""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from chat.db.scrubbing import scrubbing
from chat.html import kept


def forget_later(conversation_ids: Iterable[UUID]) -> None:
    """When this transaction, which deletes something of these conversations, is committed: forget
    their HTML, and have the database's file cleaned."""
    kept.forget_later(conversation_ids)
    transaction.on_commit(scrubbing.want)
