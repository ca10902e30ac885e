"""What an administrator tells everybody."""

from django.db import models


class Announcement(models.Model):
    """One line above every page, while it is shown."""

    class Level(models.TextChoices):
        INFO = "info"
        WARNING = "warning"

    text = models.CharField(max_length=300)
    level = models.CharField(max_length=8, choices=Level, default=Level.INFO)
    begins = models.DateTimeField(null=True, blank=True, help_text="Empty: at once.")
    ends = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.text
