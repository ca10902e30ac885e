"""The user model, and the link that creates the first account."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person with an account. Our own class, because a user model cannot be swapped later."""


class SetupLink(models.Model):
    """The one link that creates the administrator. Only the token's hash is kept.

    There is at most one row, always with the primary key 1, so that two processes that start at
    once cannot leave two links behind.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    token_hash = models.CharField(max_length=64, help_text="SHA-256 in hexadecimal.")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"Set-up link of {self.created_at:%Y-%m-%d %H:%M}"
