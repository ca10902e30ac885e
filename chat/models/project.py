"""Conversations that belong together, with what all of them are told."""

import uuid

from django.conf import settings
from django.db import models
from django.urls import reverse

from accounts.models import User


class ProjectSet(models.QuerySet["Project"]):
    def of(self, owner: User | int) -> "models.QuerySet[Project]":
        """What somebody has, archived ones too."""
        return self.filter(owner=owner)


class Project(models.Model):
    """A flat folder of conversations. Its instructions and files are sent with each of them, its
    facts are told in none but these, and its model and budget are their defaults."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects"
    )
    name = models.CharField(max_length=100)
    instructions = models.TextField(blank=True)
    model = models.CharField(
        max_length=200, blank=True, help_text="Of its new conversations; empty: the site's default."
    )
    context_budget = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tokens, of conversations without one of their own; empty: the site's default.",
    )
    archived = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = ProjectSet.as_manager()

    class Meta:
        ordering = ["name", "created_at"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("project", args=[self.pk])
