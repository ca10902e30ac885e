"""Conversations, with the summary that is sent."""

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import User
from chat.models.project import Project


class ConversationSet(models.QuerySet["Conversation"]):
    def of(self, owner: User | int) -> "models.QuerySet[Conversation]":
        """What somebody has: not what they deleted and might still restore."""
        return self.filter(owner=owner, deleted_at=None)


class Conversation(models.Model):
    """One thread. The `compressed_*` fields describe the active branch and are written together
    with the `Compaction` they come from."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations"
    )
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.SET_NULL, related_name="conversations"
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
    held = models.BooleanField(
        default=False, db_default=False, help_text="Never deleted for being old."
    )
    deleted_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="By its owner, who can restore it until a sweep removes it. In the future: an "
        "import is storing it, and the sweep removes it then if it never arrives.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True, help_text="The last message.")
    imported_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When messages came with an import last: retention counts from then on.",
    )

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
        help_text="Fields of agent.compaction.policy.Policy that differ from the site's.",
    )
    pruned_through = models.PositiveIntegerField(
        default=0, help_text="Large tool results up to this number are sent as previews."
    )
    tool_settings = models.JSONField(
        default=dict,
        blank=True,
        help_text="{web: bool, mcp: [names of servers], mcp_allowed: [names], "
        "off: [history, memory]}: what the user has switched.",
    )
    reply_settings = models.JSONField(
        default=dict,
        blank=True,
        help_text="{effort, thinking: on or off, temperature, max_tokens}: what the user has "
        "chosen of them. Sent where the model has it; what is missing is left to the model.",
    )
    memory_text = models.TextField(
        blank=True, help_text="What the model was told of the user when the last turn began."
    )
    project_parts = models.JSONField(
        default=dict,
        blank=True,
        help_text="{instructions, files, budget}: what it has of its project since its last turn "
        "began; see agent.attachments for the files.",
    )
    next_number = models.PositiveIntegerField(default=1, help_text="Of the next message.")
    history_version = models.BigIntegerField(
        default=0,
        help_text="Changed by every write to its messages, so that a process knows whether what it "
        "keeps of them is current.",
    )
    meter_valid_from = models.PositiveIntegerField(
        default=0,
        help_text="Usage reported by messages numbered below this no longer describes the context.",
    )
    long_pause = models.FloatField(
        null=True,
        blank=True,
        help_text="Seconds: the newest pause before the last compaction that outlived the shorter "
        "lifetime of the prompt cache.",
    )
    pauses_covered = models.PositiveIntegerField(
        default=0, help_text="Pauses under the summary that an hour's prompt cache bridges."
    )
    tokens_covered = models.PositiveBigIntegerField(
        default=0, help_text="Estimated tokens of the messages under the summary."
    )

    compactions_completed = models.PositiveIntegerField(default=0)
    record_through = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Up to this number the messages came from elsewhere, and are recorded by rule "
        "until their owner agrees that a model reads them; 0: none.",
    )
    record_agreed_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when a model may read them."
    )

    objects = ConversationSet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "archived", "-updated_at"], name="conversation_sidebar"),
            models.Index(fields=["-updated_at"], name="conversation_recent"),
            # What a sweep looks for.
            models.Index(
                fields=["updated_at"],
                condition=models.Q(temporary=True),
                name="conversation_temporary",
            ),
            models.Index(
                fields=["deleted_at"],
                condition=models.Q(deleted_at__isnull=False),
                name="conversation_deleted",
            ),
        ]

    def __str__(self) -> str:
        return self.title or gettext("New conversation")

    def get_absolute_url(self) -> str:
        return reverse("conversation", args=[self.pk])
