"""Facts about users, and proposed changes of them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from chat.models.project import Project


class _Kept(models.Manager["Memory"]):
    """Facts that are not deleted."""

    def get_queryset(self) -> models.QuerySet["Memory"]:
        return super().get_queryset().filter(deleted_at=None)


class Memory(models.Model):
    """One fact about a user, which every conversation of theirs is told, or with a project those of
    that project."""

    class Source(models.TextChoices):
        AGENT = "agent"
        USER = "user"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories"
    )
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.CASCADE, related_name="memories"
    )
    text = models.CharField(max_length=500)
    key = models.CharField(max_length=500, help_text="The text as duplicates are told by.")
    source = models.CharField(max_length=5, choices=Source)
    conversation = models.ForeignKey(
        "Conversation",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The conversation where it was said; empty: none, or a deleted one.",
    )
    message_number = models.PositiveIntegerField(
        null=True, blank=True, help_text="The user's message that was being answered."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="Deleted for now: it can be restored for some seconds."
    )

    objects = _Kept()
    everything: models.Manager["Memory"] = models.Manager()

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "key"], condition=Q(project=None), name="memory_key"
            ),
            models.UniqueConstraint(fields=["project", "key"], name="project_memory_key"),
        ]

    def __str__(self) -> str:
        return self.text


class MemoryProposal(models.Model):
    """A change of what is remembered that the model has asked for. It has no effect until the user
    allows it, and is deleted when they decide."""

    class Kind(models.TextChoices):
        REMEMBER = "remember"
        FORGET = "forget"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memory_proposals"
    )
    project = models.ForeignKey(
        Project, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    kind = models.CharField(max_length=8, choices=Kind)
    text = models.CharField(max_length=500)
    key = models.CharField(max_length=500, help_text="The text as duplicates are told by.")
    memory = models.ForeignKey(
        Memory, null=True, blank=True, on_delete=models.CASCADE, help_text="The fact to forget."
    )
    conversation = models.ForeignKey(
        "Conversation", on_delete=models.CASCADE, related_name="memory_proposals"
    )
    message_number = models.PositiveIntegerField(
        help_text="The user's message that was being answered."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "kind", "key"],
                condition=Q(project=None),
                name="memory_proposal_key",
            ),
            models.UniqueConstraint(
                fields=["project", "kind", "key"], name="project_memory_proposal_key"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"
