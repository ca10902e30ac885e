"""Imports of conversations from elsewhere, and where each came from."""

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse

from chat.models.conversation import Conversation
from chat.models.message import Message
from chat.models.project import Project


class ImportJob(models.Model):
    """One import of one or several files, from the first piece that is sent to its report."""

    class Status(models.TextChoices):
        UPLOADING = "uploading"
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ACTIVE = (Status.UPLOADING, Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="imports"
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.UPLOADING)
    cancel_requested = models.BooleanField(default=False)
    bytes_total = models.PositiveBigIntegerField(default=0, help_text="Of all its files.")
    bytes_read = models.PositiveBigIntegerField(default=0)
    report = models.JSONField(
        default=dict,
        blank=True,
        help_text="What was kept, hidden, dropped and why, and which files are missing: see "
        "chat.importers.report.",
    )
    error = models.TextField(blank=True, help_text="Why it failed, and the next step.")
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(
        auto_now_add=True, help_text="The last sign of life of what works on it."
    )
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="import_owner"),
            models.Index(
                fields=["seen_at"],
                condition=models.Q(status__in=("uploading", "queued", "running")),
                name="import_active",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["owner"],
                condition=models.Q(status__in=("uploading", "queued", "running")),
                name="one_active_import",
            )
        ]

    def __str__(self) -> str:
        return f"import {self.pk} ({self.status})"

    @property
    def is_active(self) -> bool:
        return self.status in self.ACTIVE

    def get_absolute_url(self) -> str:
        return reverse("import_job", args=[self.pk])


class ImportFile(models.Model):
    """A file of an import, which may come in pieces. Its bytes lie in DATA_DIR/imports until the
    import has ended."""

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=200, help_text="As the user's file was called.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    received = models.PositiveBigIntegerField(default=0, help_text="Bytes, from its beginning.")

    def __str__(self) -> str:
        return self.name


class ImportOffer(models.Model):
    """What an export holds of its user, such as custom instructions: nothing of it is used before
    its owner says so."""

    class Kind(models.TextChoices):
        INSTRUCTIONS = "instructions"
        MEMORY = "memory"

    job = models.ForeignKey(ImportJob, on_delete=models.CASCADE, related_name="offers")
    kind = models.CharField(max_length=12, choices=Kind)
    text = models.TextField()
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.CASCADE)
    accepted = models.BooleanField(null=True, help_text="Null: not decided yet.")

    def __str__(self) -> str:
        return f"offer {self.pk}: {self.kind}"


class Origin(models.Model):
    """Where something came from: the same file again adds only what is new. `account` is the
    export's own name of whose it was, "" where it has none. It goes with its conversation or
    project: what was deleted here for good leaves no trace, and another import brings it back. A
    message that was deleted does not come back: its `MessageOrigin` stays."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    format = models.CharField(max_length=20, help_text="Such as chatgpt: see chat.importers.")
    account = models.CharField(max_length=100, blank=True)
    conversation_origin = models.CharField(
        max_length=200, blank=True, help_text="The conversation's id there; empty: a project."
    )
    project_origin = models.CharField(max_length=200, blank=True)
    conversation = models.OneToOneField(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="origin"
    )
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.CASCADE, related_name="origins"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "format", "account", "conversation_origin", "project_origin"],
                name="one_origin",
            )
        ]

    def __str__(self) -> str:
        return f"{self.format} {self.conversation_origin or self.project_origin}"


class MessageOrigin(models.Model):
    """Which message holds what had that id there: several ids may have become one message."""

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="message_origins"
    )
    origin = models.CharField(max_length=200)
    message = models.ForeignKey(
        Message,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="origins",
        help_text="Empty: hidden or dropped there, or deleted here since.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "origin"], name="one_message_origin")
        ]

    def __str__(self) -> str:
        return self.origin
