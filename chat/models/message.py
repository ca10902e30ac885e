"""Messages, on every branch of a conversation."""

from datetime import datetime

from django.db import models
from django.db.models import Q

from chat.models.conversation import Conversation
from chat.models.turn import Turn


class Message(models.Model):
    """One message. `blocks` are exactly the API's content blocks."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    class Status(models.TextChoices):
        COMPLETE = "complete"
        STREAMING = "streaming"
        INTERRUPTED = "interrupted"
        FAILED = "failed"

    class Source(models.TextChoices):
        """Through which door it came. Answers that are written here are of the web."""

        WEB = "web"
        API = "api"
        SLACK = "slack"
        IMPORT = "import"
        SCHEDULE = "schedule"

    # When its turn ended: `chat.engine.recent_messages` reads it along. None for an imported
    # message, and where the turn had not ended when it was read.
    turn_ended_at: "datetime | None" = None

    # The stop reason of an answer that the model declined. What it had written until then is shown,
    # but is not sent again: the API would decline the next request too.
    REFUSED = "refusal"

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    turn = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.SET_NULL, related_name="messages"
    )
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="children"
    )
    number = models.PositiveIntegerField(help_text="Counts up in the conversation; never changes.")
    position = models.PositiveIntegerField(
        help_text="Counts up along its branch, from 0; a deleted message leaves a gap."
    )
    active = models.BooleanField(default=True, help_text="On the branch that is shown and sent.")
    role = models.CharField(max_length=10, choices=Role)
    blocks = models.JSONField(default=list)
    text = models.TextField(blank=True, help_text="Plain text, for search, export and previews.")
    pasted = models.JSONField(
        null=True,
        blank=True,
        help_text="Parts of its text that its author did not type: [start, end] in characters; "
        "null: unknown.",
    )
    tokens = models.PositiveIntegerField(
        default=0, help_text="Raw cl100k_base count, before the model's factor."
    )
    sent_in_part = models.BooleanField(
        default=False, help_text="It was too long for a request, which held a preview of it."
    )
    cut_factor = models.FloatField(
        default=0.0,
        db_default=0.0,
        help_text="The token factor by which it was decided how much of it is sent; 0: not yet.",
    )
    left_out = models.BooleanField(
        default=False, help_text="The user keeps it out of the context; it is shown and kept."
    )
    calls = models.JSONField(
        default=dict,
        blank=True,
        help_text="How its tool calls ended, by id: {text, omitted, failed, seconds}, or for one "
        "that was not made {made: false}. Those of a running round are in CallEnd.",
    )
    status = models.CharField(max_length=12, choices=Status, default=Status.COMPLETE)
    stop_reason = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(null=True, blank=True, help_text="As reported by the API.")
    source = models.CharField(
        max_length=8, choices=Source, default=Source.WEB, db_default=Source.WEB
    )
    client_id = models.CharField(max_length=64, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="Where its author was, as the IANA database names it; empty: unknown.",
    )
    time_line = models.CharField(
        max_length=250,
        blank=True,
        default="",
        db_default="",
        help_text="What requests say before it of the time; empty: nothing. Its tokens count.",
    )
    time_told = models.DateTimeField(
        null=True, blank=True, help_text="The moment that this line tells last."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="message_number"),
            models.UniqueConstraint(
                fields=["conversation", "position"],
                condition=Q(active=True),
                name="one_active_message_per_position",
            ),
            models.UniqueConstraint(
                fields=["conversation", "client_id"],
                condition=Q(client_id__isnull=False),
                name="message_client_id",
            ),
        ]
        indexes = [
            models.Index(
                fields=["conversation"], condition=Q(active=False), name="message_inactive"
            ),
            models.Index(
                fields=["conversation"], condition=Q(parent__isnull=True), name="message_roots"
            ),
            models.Index(
                fields=["conversation", "created_at"],
                condition=Q(active=True),
                name="message_active_times",
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.number} {self.role}: {self.text[:60]}"


class CallEnd(models.Model):
    """How a tool call of a message ended, until its round ends: `Message.calls` has it then."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="call_ends")
    call = models.TextField(help_text="Its id.")
    shown = models.JSONField(help_text="As in Message.calls.")

    def __str__(self) -> str:
        return f"end of call {self.call}"
