"""The versions of a conversation's summary."""

from enum import StrEnum

from django.db import models
from django.db.models import F, Q

from agent.compaction.policy import Origin, Trigger
from chat.models.conversation import Conversation
from chat.models.message import Message
from chat.models.turn import Turn


def _choices(values: type[StrEnum]) -> list[tuple[str, str]]:
    """An enum of `agent/` as a field's choices."""
    return [(value.value, value.name.replace("_", " ").title()) for value in values]


class Compaction(models.Model):
    """One version of a conversation's summary, and how it was made.

    The current one is the newest completed whose `through` is on the active path and that was
    neither reverted nor blanked;
    `Conversation.compressed_*` holds its rendered text.
    """

    Trigger, Origin = Trigger, Origin

    class Status(models.TextChoices):
        RUNNING = "running"
        READY = "ready"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="compactions"
    )
    turn = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.SET_NULL, related_name="compactions"
    )
    previous = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The version that it extends.",
    )
    replaces = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The current version when it began; the commit is refused if it changed since.",
    )
    first = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    through = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="compactions")
    messages = models.PositiveIntegerField(help_text="How many messages it read.")
    trigger = models.CharField(
        max_length=12,
        choices=_choices(Trigger),
        blank=True,
        help_text="When it came; empty where its origin is not a compaction.",
    )
    origin = models.CharField(
        max_length=10,
        choices=_choices(Origin),
        default=Origin.COMPACTION.value,
        db_default=Origin.COMPACTION.value,
        help_text="What made this version.",
    )
    focus = models.TextField(blank=True)
    method = models.CharField(max_length=40, blank=True, help_text="How its text was written.")
    method_reason = models.CharField(
        max_length=200, blank=True, help_text="Why it was not written in the way before."
    )
    model = models.CharField(max_length=200)
    prompt_version = models.CharField(max_length=40, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    reverted = models.BooleanField(
        default=False, help_text="The user went back to the version before."
    )
    lease_expires = models.DateTimeField()
    chapters = models.JSONField(
        default=list,
        help_text="The full state of this version: [{text, first, through, depth, level, pins, "
        "index, gap, left_out, …}], oldest first; see agent.compaction.chapters.chapter.",
    )
    summary = models.TextField(
        blank=True, help_text="The chapters with pins and index, exactly as injected."
    )
    audit = models.JSONField(default=dict)
    tokens_before = models.PositiveIntegerField(default=0)
    tokens_after = models.PositiveIntegerField(default=0)
    messages_before = models.PositiveIntegerField(
        default=0, help_text="How many were sent word for word before it; 0: it compacted nothing."
    )
    messages_after = models.PositiveIntegerField(
        default=0, help_text="How many are sent word for word after it."
    )
    worker_pid = models.PositiveIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status="running"),
                name="one_running_compaction_per_conversation",
            )
        ]
        indexes = [
            models.Index(F("conversation"), F("created_at").desc(), name="compaction_history"),
            models.Index(F("created_at").desc(), name="compaction_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.occasion} compaction {self.pk} ({self.status})"

    @property
    def occasion(self) -> str:
        """Why there is this version, in one word, as clients, logs and metrics have it: the trigger
        of a compaction, else the origin."""
        return self.trigger or self.origin

    @property
    def duration(self) -> float | None:
        """Seconds from creation to the end, or None while it runs."""
        if self.finished_at is None:
            return None
        return (self.finished_at - self.created_at).total_seconds()
