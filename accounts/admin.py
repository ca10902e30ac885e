"""Accounts in the admin panel."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet, Sum
from django.http import HttpRequest

from accounts.models import User
from chat.html.figures import format_money


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Accounts, with what the conversations that each still has have cost."""

    list_display = ("username", "email", "is_staff", "total_cost", "compaction_cost", "last_login")
    readonly_fields = ("last_login", "date_joined")
    # Django's pair of boxes breaks rules of ARIA; the browser's own list does not.
    filter_horizontal = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                total_cost=Sum("conversations__cost", default=0.0),
                compaction_cost=Sum("conversations__compaction_cost", default=0.0),
            )
        )

    @admin.display(description="Cost", ordering="total_cost")
    def total_cost(self, user: User) -> str:
        return format_money(user.total_cost)  # type: ignore[attr-defined]

    @admin.display(description="Of that for compactions", ordering="compaction_cost")
    def compaction_cost(self, user: User) -> str:
        return format_money(user.compaction_cost)  # type: ignore[attr-defined]


admin.site.unregister(Group)


@admin.register(Group)
class PlainGroupAdmin(GroupAdmin):
    """Groups, with the browser's own list of permissions too."""

    filter_horizontal = ()


# The admin's own login form has no rate limit: send people through the site's, which has one.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
