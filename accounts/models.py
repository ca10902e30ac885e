"""People, what their groups allow them, how they come in, and the record of administration."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser, Group
from django.db import models


class Role(models.TextChoices):
    """What somebody is here. Django's two flags hold it: an administrator is a superuser, an
    operator is staff and no superuser."""

    USER = "user", "User"
    OPERATOR = "operator", "Operator: sees usage, summaries and failures"
    ADMINISTRATOR = "administrator", "Administrator: may do everything"


class User(AbstractUser):
    """A person with an account. Our own class, because a user model cannot be swapped later."""

    language = models.CharField(
        max_length=20, blank=True, default="", db_default="", help_text="Empty: the browser's."
    )
    appearance = models.CharField(
        max_length=5,
        blank=True,
        default="",
        db_default="",
        choices=[("light", "light"), ("dark", "dark")],
        help_text="Empty: the system's.",
    )
    default_model = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Of new conversations; empty: the group's, or the site's.",
    )
    held = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Nothing of this account is deleted for being old.",
    )

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.email = self.email.lower()  # as django-allauth looks for it
        super().save(*args, **kwargs)

    @property
    def role(self) -> Role:
        if self.is_superuser:
            return Role.ADMINISTRATOR
        return Role.OPERATOR if self.is_staff else Role.USER

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Django's, and what every operator may; see `OPERATOR_PERMISSIONS` in the settings."""
        may_operate = self._is_operator and perm in settings.OPERATOR_PERMISSIONS
        return may_operate or super().has_perm(perm, obj)

    def has_module_perms(self, app_label: str) -> bool:
        apps = {name.partition(".")[0] for name in settings.OPERATOR_PERMISSIONS}
        return (self._is_operator and app_label in apps) or super().has_module_perms(app_label)

    @property
    def _is_operator(self) -> bool:
        return self.is_active and self.role == Role.OPERATOR


class GroupPolicy(models.Model):
    """What the members of a group may use. Somebody of several groups with a policy may use what
    any of them allows; somebody of none, everything. Names are plain values: the rows that they
    name belong to another package."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="policy")
    model_names = models.JSONField(null=True, blank=True, help_text="Null: all.")
    tool_groups = models.JSONField(null=True, blank=True, help_text="Such as web; null: all.")
    mcp_servers = models.JSONField(null=True, blank=True, help_text="Their names; null: all.")
    default_model = models.CharField(
        max_length=200, blank=True, help_text="Of new conversations; empty: the site's."
    )
    retention_days = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Conversations without a message for so long are deleted; empty: as the site "
        "says. Of several groups the longest counts.",
    )

    class Meta:
        verbose_name_plural = "group policies"

    def __str__(self) -> str:
        return f"policy of {self.group}"


class Invitation(models.Model):
    """A link by which one person may make an account. Only the token's hash is kept."""

    token_hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 in hexadecimal.")
    group = models.ForeignKey(
        Group, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    email = models.EmailField(blank=True, help_text="Whom it is for; empty: whoever has it.")
    created_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class AccessToken(models.Model):
    """A key by which a person's own programs read what is theirs. Only its hash is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 in hexadecimal.")
    shown = models.CharField(max_length=12, help_text="How it begins, to be known by.")
    scopes = models.JSONField(default=list, help_text="What it may be used for.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"access token {self.shown}…"


class PushSubscription(models.Model):
    """A browser that is told when an answer ends while its person looks elsewhere. `endpoint`,
    `p256dh` and `auth` are what the browser gave (W3C Push API)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="push_subscriptions")
    endpoint = models.URLField(max_length=1000)
    endpoint_hash = models.CharField(max_length=64, unique=True, help_text="SHA-256.")
    p256dh = models.CharField(max_length=200)
    auth = models.CharField(max_length=100)
    browser = models.CharField(max_length=200, blank=True, help_text="As it names itself.")
    language = models.CharField(max_length=20, blank=True)
    session_key = models.CharField(
        max_length=40,
        default="",
        db_default="",
        help_text="Of the session in which the browser asked: it is told as long as that lasts.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"push subscription {self.pk}"


class AppendOnly(TypeError):
    """A stored entry of the audit was to be changed or deleted."""


class AuditEntrySet(models.QuerySet["AuditEntry"]):
    """Entries to read. That an account is gone empties `actor` and `owner` without passing here."""

    def update(self, **values: Any) -> int:
        raise AppendOnly("Audit entries are not changed.")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AppendOnly("Audit entries are not deleted.")


class AuditEntry(models.Model):
    """One act of administration, or one reading of another person's conversation. Rows are only
    added, by `accounts.audit`. They hold ids and names of fields, no titles and no contents."""

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    act = models.CharField(max_length=40)
    target_kind = models.CharField(max_length=40, blank=True)
    target_id = models.CharField(max_length=64, blank=True)
    owner = models.ForeignKey(
        User,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Whose account or conversation it concerns.",
    )
    reason = models.CharField(max_length=500, blank=True)
    changed = models.JSONField(default=list, blank=True, help_text="Names of fields.")

    objects = AuditEntrySet.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["-at"], name="audit_time"),
            models.Index(fields=["owner", "-at"], name="audit_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.target_kind} {self.target_id}"

    def save(self, *args: Any, **options: Any) -> None:
        if not self._state.adding:
            raise AppendOnly("Audit entries are not changed.")
        super().save(*args, **options)

    def delete(self, *args: Any, **options: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnly("Audit entries are not deleted.")


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
