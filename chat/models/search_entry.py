"""The search index of messages."""

from django.conf import settings
from django.db import models

from chat.models.conversation import Conversation
from chat.models.message import Message


class SearchEntry(models.Model):
    """What one message is found by; only finished messages have one.

    The full-text index over `terms` is the database's own, made by the first migration and kept by
    triggers or a generated column: it changes in the transaction that writes this row.
    """

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, db_index=False)
    position = models.PositiveIntegerField(help_text="The message's.")
    length = models.PositiveIntegerField(help_text="Tokens.")
    typed = models.BooleanField(help_text="A person wrote it.")
    terms = models.TextField(
        help_text="Tokens, each with its owner before it (chat.queries.fulltext)."
    )

    class Meta:
        verbose_name_plural = "search entries"
        indexes = [
            # Everything that the ranking reads of ten thousand messages.
            models.Index(
                fields=["conversation", "position", "message", "length", "typed"],
                name="search_scope",
            ),
            # Where the newest messages of all conversations begin.
            models.Index(fields=["owner", "message"], name="search_recent"),
        ]

    def __str__(self) -> str:
        return f"Message {self.message_id}"
