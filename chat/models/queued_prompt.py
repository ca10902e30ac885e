"""What people wrote for later: while an answer runs, or from where no turn can run."""

from django.db import models

from chat.models.attachment import Attachment
from chat.models.conversation import Conversation
from chat.models.message import Message


class QueuedPrompt(models.Model):
    """A message that is not sent yet, or a command. Those of a conversation go out one after the
    other, in the order of `position`, each when the conversation is free. Once it is a message, the
    row is gone: the message has its `client_id`."""

    class Command(models.TextChoices):
        """What is asked for in place of a message; `text` is what follows it."""

        COMPACT = "compact"

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="queued_prompts"
    )
    position = models.PositiveIntegerField(help_text="Counts up; removed ones leave gaps.")
    command = models.CharField(
        max_length=10, choices=Command, blank=True, default="", db_default=""
    )
    text = models.TextField(blank=True)
    pasted = models.JSONField(null=True, blank=True, help_text="As in Message.")
    attachments = models.ManyToManyField(Attachment, related_name="queued_prompts")
    client_id = models.CharField(
        max_length=64, help_text="By which a repeated one is known, in the queue and as a message."
    )
    source = models.CharField(max_length=8, choices=Message.Source, default=Message.Source.WEB)
    model = models.CharField(
        max_length=200, blank=True, help_text="Of its answer alone; empty: the conversation's."
    )
    time_zone = models.CharField(max_length=64, blank=True)
    send_now = models.BooleanField(
        default=False, help_text="Goes in between two tool rounds of the answer that runs."
    )
    problem = models.JSONField(
        null=True,
        blank=True,
        help_text="{code, message}: why it did not go out. It and those after it wait for their "
        "author.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "position"], name="one_queued_prompt_per_position"
            ),
            models.UniqueConstraint(
                fields=["conversation", "client_id"], name="queued_prompt_client_id"
            ),
        ]

    def __str__(self) -> str:
        return f"queued prompt {self.pk}"
