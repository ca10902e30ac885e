"""Accounts in the admin panel: what they cost, and their deletion with all that they own."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import User
from chat.admin.base import PricedChangeList, column
from chat.html.figures import format_money
from chat.models import Attachment, Conversation, Memory, Message
from chat.services.people import accounts


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Accounts, with what each has cost."""

    list_display = ("username", "email", "is_staff", "total_cost", "compaction_cost", "last_login")
    readonly_fields = ("last_login", "date_joined")
    # Django's pair of boxes breaks rules of ARIA; the browser's own list does not.
    filter_horizontal = ()

    totals_by = "user"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return PricedChangeList

    total_cost = column("Cost", lambda row: format_money(row.total.dollars))
    compaction_cost = column(
        "Of that, compactions", lambda row: format_money(row.total.summary_dollars)
    )

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
        return [str(user) for user in users], counts, set(), []

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        accounts.delete_accounts([obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        accounts.delete_accounts(list(queryset))
