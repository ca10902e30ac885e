"""Prompts that go into a conversation by themselves, at a time or again and again."""

from django.db import models
from django.db.models import Q

from chat.models.conversation import Conversation


class ScheduledPrompt(models.Model):
    """What is to be said when. `first_date` and `time` are those of `time_zone`, where it was
    written: they hold in it all the year."""

    class Repeat(models.TextChoices):
        ONCE = "once"
        DAILY = "daily"
        WEEKDAYS = "weekdays"
        WEEKLY = "weekly"
        MONTHLY = "monthly"

    class Pause(models.TextChoices):
        BY_OWNER = "by owner"
        FAILURES = "failures"

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="scheduled_prompts"
    )
    text = models.TextField()
    repeat = models.CharField(max_length=8, choices=Repeat)
    first_date = models.DateField()
    time = models.TimeField()
    time_zone = models.CharField(max_length=64)
    next_at = models.DateTimeField(null=True, blank=True, help_text="Empty: it is over.")
    pause = models.CharField(
        max_length=8, choices=Pause, blank=True, help_text="Why it rests; empty: it does not."
    )
    failures = models.PositiveSmallIntegerField(default=0, help_text="In a row.")
    running = models.CharField(
        max_length=64,
        blank=True,
        help_text="The client_id of the last prompt, while nobody knows yet how its turn ends.",
    )
    problem = models.TextField(
        blank=True, help_text="Why the last one was not answered, in words; empty: it was."
    )
    last_at = models.DateTimeField(null=True, blank=True, help_text="When it was sent last.")
    missed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="The last time that nobody was there for and that was too long ago.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=Q(pause="", next_at__isnull=False),
                name="scheduled_due",
            ),
            models.Index(fields=["running"], condition=~Q(running=""), name="scheduled_running"),
        ]

    def __str__(self) -> str:
        return f"scheduled prompt {self.pk} ({self.repeat})"
