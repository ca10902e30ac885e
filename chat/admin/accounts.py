"""Accounts in the admin panel: what they cost, and their deletion with all that they own."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from accounts.deletion import leave_nobody
from accounts.models import User
from chat.admin.base import column
from chat.admin.holds import HoldingAdmin
from chat.html.figures import format_money
from chat.models import Attachment, Conversation, Memory, Message
from chat.services.people import accounts


def _sum_of(column: str) -> Coalesce:
    """Of an account's conversations, by their index: a join would read those of all accounts."""
    owned = Conversation.objects.filter(owner=OuterRef("pk")).order_by()
    return Coalesce(Subquery(owned.values("owner").annotate(sum=Sum(column)).values("sum")), 0.0)


@admin.register(User)
class AccountAdmin(HoldingAdmin, UserAdmin):
    """Accounts, with the cost of the conversations that each still has."""

    list_display = ("username", "email", "is_staff", "total_cost", "compaction_cost", "last_login")
    readonly_fields = ("last_login", "date_joined")
    # Django's pair of boxes breaks rules of ARIA; the browser's own list does not.
    filter_horizontal = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return (
            super()
            .get_queryset(request)
            .annotate(total_cost=_sum_of("cost"), compaction_cost=_sum_of("compaction_cost"))
        )

    total_cost = column("Cost", lambda row: format_money(row.total_cost), "total_cost")
    compaction_cost = column(
        "Of that, compactions", lambda row: format_money(row.compaction_cost), "compaction_cost"
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
        kept = (
            ["the last administrator: make somebody else one first"] if leave_nobody(users) else []
        )
        return [str(user) for user in users], counts, set(), kept

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        accounts.delete_accounts([obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        accounts.delete_accounts(list(queryset))
