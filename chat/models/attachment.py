"""Files that go with messages."""

import uuid

from django.conf import settings
from django.db import models

from chat.models.message import Message
from chat.models.project import Project


class Attachment(models.Model):
    """A file that a user sends along, or keeps with a project. Messages refer to it from their
    blocks by its id; the bytes are read only when a request goes out."""

    class Kind(models.TextChoices):
        IMAGE = "image"
        PDF = "pdf"
        TEXT = "text"
        OFFICE = "office"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="attachments"
    )
    messages = models.ManyToManyField(
        Message, related_name="attachments", help_text="None: not sent yet. An edit shares them."
    )
    project = models.ForeignKey(
        Project,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="files",
        help_text="It is sent with all conversations of this project, and belongs to no message.",
    )
    kind = models.CharField(max_length=6, choices=Kind)
    name = models.CharField(max_length=200, help_text="As the user's file was called.")
    media_type = models.CharField(max_length=40, help_text="Of what is sent.")
    size = models.PositiveIntegerField(help_text="Bytes of what is sent.")
    width = models.PositiveIntegerField(default=0, help_text="Pixels of an image.")
    height = models.PositiveIntegerField(default=0)
    tokens = models.PositiveIntegerField(help_text="Raw estimate, before the model's factor.")
    file = models.FileField(upload_to="attachments/%Y/%m/", help_text="What is sent.")
    original = models.FileField(
        upload_to="attachments/%Y/%m/",
        blank=True,
        help_text="The user's file, where its text is sent in its place.",
    )
    original_type = models.CharField(max_length=80, blank=True)
    original_size = models.PositiveIntegerField(default=0, help_text="Bytes.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="attachment_age")]

    def __str__(self) -> str:
        return self.name

    @property
    def encoding(self) -> str:
        """By which encoding a text was read that is not in UTF-8; else empty."""
        return self.original_type.partition("charset=")[2]
