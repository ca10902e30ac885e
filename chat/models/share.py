"""Conversations that their owners show to other people of the site."""

import uuid

from django.db import models

from chat.models.conversation import Conversation
from chat.models.message import Message


class Share(models.Model):
    """A link by which people who are signed in may read a conversation: as it is, or up to one
    message, along the branch that leads to it. Its id is what the link names."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="shares")
    through = models.ForeignKey(
        Message,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="The last message that is shown; empty: all of the active branch.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"share {self.pk}"
