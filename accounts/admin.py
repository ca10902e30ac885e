"""The admin panel's sign-in, invitations, and by what people sign in. `chat.admin` shows accounts
and groups."""

from typing import Any

import allauth.account.admin
import allauth.mfa.admin
import allauth.socialaccount.admin
import allauth.usersessions.admin  # noqa: F401 - they register what is taken out below
from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts import invitations
from accounts.audit import Act
from accounts.audited_admin import record_act
from accounts.models import Invitation, Role, User
from accounts.roles import is_administrator

# The settings name the provider, its tokens are not kept, and sessions are their owners' own.
admin.site.unregister([SocialApp, SocialToken, UserSession])
admin.site.unregister([Authenticator, EmailAddress, SocialAccount])  # below with less


class InvitationForm(forms.ModelForm):
    days = forms.IntegerField(
        label="Days",
        min_value=1,
        max_value=365,
        initial=invitations.DAYS,
        help_text="How long the link works.",
    )

    class Meta:
        model = Invitation
        fields = ("group", "email")


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):
    """Invitations. The link of a new one is shown once; afterwards it can be revoked."""

    form = InvitationForm
    list_display = ("id", "email", "group", "state", "created_by", "expires_at", "used_by")
    list_select_related = ("group", "created_by", "used_by")
    ordering = ("-id",)
    actions = ("revoke",)
    list_display_links = None

    @admin.display(description="State")
    def state(self, row: Invitation) -> str:
        if row.used_at:
            return "used"
        if row.revoked_at:
            return "revoked"
        return "open" if row.expires_at > timezone.now() else "too old"

    @admin.action(description="Revoke the selected invitations", permissions=["add"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        with transaction.atomic():
            revoked = invitations.revoke(queryset)
            for each in revoked:
                record_act(request, Act.REVOKE, each)
        messages.success(request, f"Revoked: {len(revoked)}.")

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        made, token = invitations.invite(
            request.user,
            group=form.cleaned_data["group"],
            email=form.cleaned_data["email"],
            days=form.cleaned_data["days"],
        )
        obj.pk = made.pk
        obj.token = token  # type: ignore[attr-defined]

    def response_add(
        self, request: HttpRequest, obj: Invitation, post_url_continue: str | None = None
    ) -> HttpResponse:
        path = reverse("invitation", args=[obj.token])  # type: ignore[attr-defined]
        context = {"title": "Invitation", "link": request.build_absolute_uri(path)}
        return render(
            request,
            "admin/accounts/invitation/made.html",
            self.admin_site.each_context(request) | context,
        )


class WaysIn(admin.ModelAdmin):
    """What an administrator may take away, for somebody who has lost it, and never sees."""

    list_select_related = ("user",)
    list_display_links = None
    search_fields = ("user__username",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Those of an administrator only by an administrator."""
        is_guarded = obj is not None and obj.user.role == Role.ADMINISTRATOR
        may_touch = is_administrator(request.user) or not is_guarded
        return bool(may_touch and super().has_delete_permission(request, obj))


@admin.register(EmailAddress)
class EmailAddressAdmin(WaysIn):
    """Nobody but its owner confirms an address: it opens the account."""

    fields = ("user", "email", "verified", "primary")
    list_display = ("user", "email", "verified", "primary")


@admin.register(Authenticator)
class AuthenticatorAdmin(WaysIn):
    fields = ("user", "type")  # not what it is checked by
    list_display = ("user", "type", "created_at", "last_used_at")


@admin.register(SocialAccount)
class SocialAccountAdmin(WaysIn):
    fields = ("user", "provider", "uid")
    list_display = ("user", "provider", "uid", "date_joined", "last_login")


# The admin's own login form has no rate limit: send people through the site's, which has one.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
