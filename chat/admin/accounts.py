"""Accounts in the admin panel: what they cost and may do, and their deletion with all that they
own."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Role, User
from accounts.roles import (
    LastAdministrator,
    is_administrator,
    require_administrator_without,
    set_role,
)
from chat.admin.base import add_totals, column
from chat.admin.budgets import Scope, link_budgets
from chat.admin.handing_over import HandsOver
from chat.admin.holds import HoldingAdmin
from chat.html.figures import format_money
from chat.models import Attachment, Conversation, Memory, Message
from chat.services.people import accounts
from spending.spans import begin_of, month_of

LAST = "This is the last administrator. Make somebody else an administrator first."
# What only an administrator changes: nobody raises themselves or others.
OF_ADMINISTRATORS = ("role", "groups", "user_permissions")


class AccountForm(UserChangeForm):
    """An account with its role in one field; the last administrator stays one."""

    role = forms.ChoiceField(choices=Role.choices, widget=forms.RadioSelect, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["role"] = self.instance.role

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        role = values.get("role") or self.instance.role
        if role != Role.ADMINISTRATOR or not values.get("is_active"):
            try:
                require_administrator_without([self.instance.pk])
            except LastAdministrator:
                raise forms.ValidationError(LAST) from None
        return values


class AccountChangeList(ChangeList):
    """With what each account on the page has cost in this month as `total`: the calls of all years
    would be the whole table."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: list[Any] = list(self.result_list)
        month = month_of(timezone.localdate())
        add_totals(self.result_list, "user", since=begin_of(month.first))


@admin.register(User)
class AccountAdmin(HandsOver, HoldingAdmin, UserAdmin):
    """Accounts, with what each has cost in this month."""

    form = AccountForm
    actions = (*HandsOver.actions, *HoldingAdmin.actions)
    list_display = (
        "username",
        "email",
        "role_name",
        "is_active",
        "total_cost",
        "compaction_cost",
        "last_login",
    )
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    readonly_fields = ("last_login", "date_joined", "budgets")
    # Django's pair of boxes breaks rules of ARIA; the browser's own list does not.
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Access", {"fields": ("is_active", "role", "groups", "budgets")}),
        (
            "Single permissions",
            {
                "fields": ("user_permissions",),
                "classes": ("collapse",),
                "description": "For staff who may more than an operator. An administrator needs "
                "none.",
            },
        ),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return AccountChangeList

    role_name = column("Role", lambda row: row.role.label.partition(":")[0])
    total_cost = column("Cost this month", lambda row: format_money(row.total.dollars))
    compaction_cost = column(
        "Of that, compactions", lambda row: format_money(row.total.summary_dollars)
    )

    budgets = column("Budgets", lambda row: link_budgets(Scope(user=row)))

    # --- Roles ------------------------------------------------------------------------------------

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fields = self.readonly_fields
        return fields if is_administrator(request.user) else (*fields, *OF_ADMINISTRATORS)

    role = column("Role", lambda row: row.role.label)  # where it is only shown

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _may_touch(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _may_touch(request, obj) and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        role = form.cleaned_data.get("role")
        # Who only sees the field can post it all the same.
        if role and is_administrator(request.user):
            set_role(obj, Role(role))
        super().save_model(request, obj, form, change)

    # --- Deletion ---------------------------------------------------------------------------------

    def get_deleted_objects(
        self, objs: Iterable[User], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """The accounts, and how much is deleted with them. Django would list every message, and
        refuse because single messages cannot be deleted here."""
        users = list(objs)
        owned = {
            User: len(users),
            Conversation: Conversation.objects.filter(owner__in=users).count(),
            Message: Message.objects.filter(conversation__owner__in=users).count(),
            Attachment: Attachment.objects.filter(owner__in=users).count(),
            Memory: Memory.objects.filter(owner__in=users).count(),
        }
        counts = {str(model._meta.verbose_name_plural): n for model, n in owned.items()}
        return [str(user) for user in users], counts, set(), _list_kept(request, users)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        self._delete([obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._delete(list(queryset))

    @staticmethod
    def _delete(users: Sequence[User]) -> None:
        try:
            accounts.delete_accounts(users)
        except LastAdministrator as error:  # the page has said so, but others may have gone since
            raise PermissionDenied(LAST) from error


def _may_touch(request: HttpRequest, user: User | None) -> bool:
    """Whether an account is one that the person of a request may change, as far as roles go:
    otherwise they could set an administrator's password."""
    return is_administrator(request.user) or user is None or user.role != Role.ADMINISTRATOR


def _list_kept(request: HttpRequest, users: Sequence[User]) -> list[str]:
    """Those that may not be deleted, with the reason."""
    kept = [f"{user}: an administrator" for user in users if not _may_touch(request, user)]
    with transaction.atomic():
        try:
            require_administrator_without([user.pk for user in users])
        except LastAdministrator:
            kept += [f"{user}: {LAST}" for user in users if user.role == Role.ADMINISTRATOR]
    return kept
