"""Servers of models beside the one that the site was started for."""

from urllib.parse import urlsplit

from django.db import models

ANTHROPIC = "https://api.anthropic.com"


def find_origin(base_url: str) -> str:
    """The scheme, host and port of an address: what a key is bound to."""
    parts = urlsplit(base_url or ANTHROPIC)
    return f"{parts.scheme}://{parts.netloc}".lower()


class Provider(models.Model):
    """A server that speaks the Messages API, with its key. Its models are called `name::model`.

    The key is stored encrypted, together with the origin of the address that it was entered for, so
    that it can be sent nowhere else. `checked_at` and `error` are of the last check.
    """

    name = models.SlugField(
        max_length=30, unique=True, help_text="Its models are called name::model."
    )
    base_url = models.CharField(
        "address",
        max_length=200,
        blank=True,
        help_text="Without /v1 at the end. Empty: Anthropic's API.",
    )
    enabled = models.BooleanField(
        default=True, help_text="Its models are offered, and messages are sent to it."
    )
    encrypted_key = models.TextField(blank=True, editable=False)
    key_end = models.CharField(max_length=4, blank=True, editable=False)
    key_set_at = models.DateTimeField(null=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    error = models.TextField(blank=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def origin(self) -> str:
        return find_origin(self.base_url)
