"""Turns: what works on a conversation, one at a time."""

from django.db import models
from django.db.models import Q

from chat.models.conversation import Conversation
from chat.models.notices import Notice, notice_text


class Turn(models.Model):
    """A user message through its final reply, or one manual compaction: the only lock.

    A row is alive while its lease is. Its holder extends the lease; the sweep ends turns whose
    lease has run out.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer"
        COMPACT = "compact"

    class Status(models.TextChoices):
        QUEUED = "queued"
        COMPACTING = "compacting"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"
        INTERRUPTED = "interrupted"

    ACTIVE = (Status.QUEUED, Status.COMPACTING, Status.RUNNING)

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    kind = models.CharField(max_length=10, choices=Kind)
    status = models.CharField(max_length=12, choices=Status, default=Status.QUEUED)
    model = models.CharField(
        max_length=200, blank=True, help_text="Of this turn alone; empty: the conversation's."
    )
    holder = models.CharField(max_length=64, help_text="The web process that runs it.")
    lease_expires = models.DateTimeField()
    stop_requested = models.BooleanField(default=False)
    focus = models.TextField(blank=True, help_text="What a compaction is asked to keep.")
    compaction_wanted = models.BooleanField(
        default=False, help_text="The model asked for a compaction before its next request."
    )
    error = models.JSONField(
        null=True, blank=True, help_text="{code, message, retryable, retry_after}"
    )
    notice = models.CharField(
        max_length=20, blank=True, help_text="The code of a degraded mode: see chat.models.notices."
    )
    notice_about = models.TextField(blank=True, help_text="What the notice names.")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status__in=("queued", "compacting", "running")),
                name="one_active_turn_per_conversation",
            )
        ]
        indexes = [
            models.Index(
                fields=["lease_expires"],
                condition=Q(status__in=("queued", "compacting", "running")),
                name="turn_lease",
            ),
            models.Index(fields=["created_at"], condition=Q(status="failed"), name="turn_failed"),
            models.Index(fields=["created_at"], name="turn_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} turn {self.pk} ({self.status})"

    @property
    def answering_model(self) -> str:
        """The id of the model that answers."""
        return self.model or self.conversation.model

    @property
    def notice_text(self) -> str:
        """Its notice in the reader's language; "" where it has none."""
        return notice_text(Notice(self.notice), self.notice_about) if self.notice else ""
