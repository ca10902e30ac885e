"""Servers of tools."""

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models


class McpServer(models.Model):
    """A server of tools that an administrator has registered; users choose it for a conversation.

    `tools`, `listed_at`, `down_until` and `error` are what it said last.
    """

    name = models.SlugField(
        max_length=30, unique=True, help_text="Its tools are called name__tool."
    )
    url = models.URLField(help_text="The address of its Streamable HTTP endpoint.")
    header = models.CharField(
        max_length=100,
        blank=True,
        default="Authorization",
        help_text="The header that carries the secret.",
    )
    secret_variable = models.CharField(
        max_length=100,
        blank=True,
        validators=[
            RegexValidator(
                r"^MCP_SECRET_\w+$",
                "Its name begins with MCP_SECRET_, so that no other secret can be sent to it.",
            )
        ],
        help_text="The environment variable, MCP_SECRET_…, whose value the header gets.",
    )
    timeout = models.FloatField(default=30.0, help_text="Seconds for one call.")
    enabled = models.BooleanField(default=True)
    tools = models.JSONField(default=list, editable=False)
    listed_at = models.DateTimeField(null=True, editable=False)
    down_until = models.DateTimeField(null=True, editable=False)
    error = models.TextField(blank=True, editable=False)

    class Meta:
        verbose_name = "MCP server"
        ordering = ["name"]

    def clean(self) -> None:
        """Two servers must not lead to the same `name__tool`."""
        if "__" in self.name or self.name.endswith("_"):
            raise ValidationError(
                {"name": "A name cannot have two underscores in a row, or one at the end."}
            )

    def __str__(self) -> str:
        return self.name
