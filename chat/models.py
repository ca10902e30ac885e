"""The data. `docs/architecture.md` says how the rows of one turn and one compaction come about.

Message content is immutable: an edit or a retry makes a sibling and switches which one is `active`.
Only `chat.services` writes.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from agent.compaction import render_chapters
from agent.messages import Usage


class ModelProfile(models.Model):
    """What is known of a model: limits in tokens, prices in US dollars per million tokens.

    Filled from the server's model list or the built-in table; edited values are kept.
    """

    name = models.CharField(max_length=200, unique=True, help_text="The id sent to the API.")
    display_name = models.CharField(max_length=200, blank=True)
    context_window = models.PositiveIntegerField()
    max_output = models.PositiveIntegerField()
    input_price = models.FloatField(default=0.0)
    output_price = models.FloatField(default=0.0)
    cache_read_price = models.FloatField(default=0.0)
    cache_write_price = models.FloatField(default=0.0)
    token_factor = models.FloatField(
        default=1.5, help_text="Real tokens per cl100k_base token; learned from reported usage."
    )
    token_samples = models.PositiveIntegerField(
        default=0, help_text="Replies that the factor was learned from."
    )
    base_url = models.URLField(
        blank=True, help_text="The server that listed this model; the key is sent nowhere else."
    )
    enabled = models.BooleanField(default=True, help_text="Offered in the model picker.")
    edited = models.BooleanField(
        default=False, help_text="Changed by an administrator; a refresh leaves it alone."
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.display_name or self.name

    def price(self, usage: Usage) -> float:
        """US dollars for one call's usage."""
        return (
            usage.input_tokens * self.input_price
            + usage.output_tokens * self.output_price
            + usage.cache_read_input_tokens * self.cache_read_price
            + usage.cache_creation_input_tokens * self.cache_write_price
        ) / 1_000_000


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
        return self.title or "New conversation"

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
    focus = models.TextField(blank=True, help_text="What /compact asked to keep in particular.")
    error = models.JSONField(
        null=True, blank=True, help_text="{code, message, retryable, retry_after}"
    )
    notice = models.TextField(blank=True, help_text="A degraded mode, in words for the page.")
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
    position = models.PositiveIntegerField(help_text="Place on its branch, from 0.")
    active = models.BooleanField(default=True, help_text="On the branch that is shown and sent.")
    role = models.CharField(max_length=10, choices=Role)
    blocks = models.JSONField(default=list)
    text = models.TextField(blank=True, help_text="Plain text, for search, export and previews.")
    tokens = models.PositiveIntegerField(
        default=0, help_text="Raw cl100k_base count, before the model's factor."
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

    def __str__(self) -> str:
        return f"#{self.number} {self.role}: {self.text[:60]}"


class Compaction(models.Model):
    """One version of a conversation's summary, and how it was made.

    The current one is the newest completed whose `through` is on the active path;
    `Conversation.compressed_*` holds its rendered text.
    """

    class Trigger(models.TextChoices):
        AUTO = "auto"
        MANUAL = "manual"
        PREPARED = "prepared"
        IDLE = "idle"
        OVERFLOW = "overflow"
        ITERATIONS = "iterations"
        TOOL = "tool"
        MODEL_SWITCH = "model_switch"

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
    trigger = models.CharField(max_length=12, choices=Trigger)
    focus = models.TextField(blank=True)
    engine = models.CharField(max_length=20, blank=True, help_text="The request builder.")
    engine_reason = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=200)
    prompt_version = models.CharField(max_length=40, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    lease_expires = models.DateTimeField()
    chapters = models.JSONField(
        default=list,
        help_text="The full state of this version: [{text, first, through, depth}], oldest first.",
    )
    audit = models.JSONField(default=dict)
    tokens_before = models.PositiveIntegerField(default=0)
    tokens_after = models.PositiveIntegerField(default=0)
    usage = models.JSONField(null=True, blank=True)
    cost = models.FloatField(default=0.0, help_text="US dollars.")
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
        return f"{self.trigger} compaction {self.pk} ({self.status})"

    @property
    def duration(self) -> float | None:
        """Seconds from creation to the end, or None while it runs."""
        if self.finished_at is None:
            return None
        return (self.finished_at - self.created_at).total_seconds()

    @property
    def summary(self) -> str:
        """The rendered summary of this version; empty until it completed."""
        return render_chapters(self.chapters)
