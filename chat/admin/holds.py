"""Holds: what retention must not delete. Administrators set and release them."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.audit import Act
from accounts.audited_admin import record_act
from accounts.roles import is_administrator
from chat.services.people import retention


class HoldingAdmin(admin.ModelAdmin):
    """Lists of rows that can be `held`: conversations, accounts."""

    actions: Any = ("hold", "release")

    def has_hold_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request.user)

    @admin.action(description="Hold: never delete for being old", permissions=["hold"])
    def hold(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._set(request, queryset, held=True)

    @admin.action(description="Release from a hold", permissions=["hold"])
    def release(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._set(request, queryset, held=False)

    def _set(self, request: HttpRequest, queryset: QuerySet[Any], *, held: bool) -> None:
        rows = list(queryset)
        with transaction.atomic():
            for row in rows:
                record_act(request, Act.HOLD if held else Act.RELEASE, row, changed=["held"])
            chosen = self.model._default_manager.filter(pk__in=[row.pk for row in rows])
            changed = retention.hold(chosen, held=held)
        words = f"{changed} held." if held else f"{changed} released."
        self.message_user(request, words, messages.SUCCESS)
