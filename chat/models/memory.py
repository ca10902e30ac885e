"""What every conversation of a user is told."""

from django.conf import settings
from django.db import models


class Memory(models.Model):
    """One fact about a user, which every conversation of theirs is told."""

    class Source(models.TextChoices):
        AGENT = "agent"
        USER = "user"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories"
    )
    text = models.CharField(max_length=500)
    key = models.CharField(max_length=500, help_text="The text as duplicates are told by.")
    source = models.CharField(max_length=5, choices=Source)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "memories"
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="memory_key")]

    def __str__(self) -> str:
        return self.text
