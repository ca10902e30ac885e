"""Conversations, their messages, and the turns that answer them."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext

from chat.models.notices import Notice, notice_text


class Conversation(models.Model):
    """One thread. The `compressed_*` fields describe the active branch and are written together
    with the `Compaction` they come from."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations"
    )
    title = models.CharField(max_length=200, blank=True)
    title_edited = models.BooleanField(
        default=False, help_text="Named by the user: never replaced."
    )
    model = models.CharField(max_length=200)
    system_prompt = models.TextField(blank=True)
    pinned = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    temporary = models.BooleanField(
        default=False, help_text="Not listed; deleted when it is left, at the latest after a day."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True, help_text="The last message.")

    compressed_context = models.TextField(
        null=True, blank=True, help_text="Exactly the text that is injected into the system prompt."
    )
    compressed_at = models.DateTimeField(null=True, blank=True)
    compressed_through = models.ForeignKey(
        "Message",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The last message that the summary covers.",
    )
    compaction = models.ForeignKey(
        "Compaction",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The current version; newer completed ones were reverted, older ones superseded.",
    )
    compaction_held = models.BooleanField(
        default=False,
        help_text="Set by a revert: automatic compaction waits until the window itself is full.",
    )
    compaction_enabled = models.BooleanField(default=True)
    context_budget = models.PositiveIntegerField(
        null=True, blank=True, help_text="Tokens; empty: the site's default."
    )
    keep_first_message = models.BooleanField(
        default=True, help_text="The first user message is always sent verbatim."
    )
    compaction_settings = models.JSONField(
        default=dict,
        blank=True,
        help_text="Fields of agent.compaction.plan.Policy that differ from the site's.",
    )
    pruned_through = models.PositiveIntegerField(
        default=0, help_text="Large tool results up to this number are sent as previews."
    )
    tool_settings = models.JSONField(
        default=dict,
        blank=True,
        help_text="{web: bool, mcp: [names of servers]}: what the user has switched on.",
    )
    memory_text = models.TextField(
        blank=True, help_text="What the model was told of the user when the last turn began."
    )
    next_number = models.PositiveIntegerField(default=1, help_text="Of the next message.")
    meter_valid_from = models.PositiveIntegerField(
        default=0,
        help_text="Usage reported by messages numbered below this no longer describes the context.",
    )

    # Running totals: nothing adds up 10,000 messages to show a meter.
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.FloatField(default=0.0, help_text="US dollars, compactions included.")
    compactions_completed = models.PositiveIntegerField(default=0)
    compaction_cost = models.FloatField(default=0.0, help_text="US dollars.")

    class Meta:
        indexes = [
            models.Index(fields=["owner", "archived", "-updated_at"], name="conversation_sidebar"),
            models.Index(fields=["-updated_at"], name="conversation_recent"),
        ]

    def __str__(self) -> str:
        return self.title or gettext("New conversation")

    def get_absolute_url(self) -> str:
        return reverse("conversation", args=[self.pk])


class Turn(models.Model):
    """A user message through its final reply, or one manual compaction: the only lock.

    A row is alive while its lease is. Whoever owns it extends it; the sweep ends the others.
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
    owner = models.CharField(max_length=64, help_text="The web process that runs it.")
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
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} turn {self.pk} ({self.status})"

    @property
    def notice_text(self) -> str:
        """Its notice in the reader's language; "" where it has none."""
        return notice_text(Notice(self.notice), self.notice_about) if self.notice else ""


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

    # The stop reason of an answer that the model declined. What it had written until then is shown,
    # and goes into no later request: the API would decline that one too.
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
        "null: nobody saw.",
    )
    tokens = models.PositiveIntegerField(
        default=0, help_text="Raw cl100k_base count, before the model's factor."
    )
    calls = models.JSONField(
        default=dict,
        blank=True,
        help_text="How its tool calls ended, by id: {text, omitted, failed, seconds}.",
    )
    status = models.CharField(max_length=12, choices=Status, default=Status.COMPLETE)
    stop_reason = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(null=True, blank=True, help_text="As reported by the API.")
    cost = models.FloatField(default=0.0, help_text="US dollars.")
    client_id = models.CharField(max_length=64, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

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
        ]

    def __str__(self) -> str:
        return f"#{self.number} {self.role}: {self.text[:60]}"
