"""Compactions by what became of them, in the lists of the administration."""

from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest

from agent.compaction.policy import Engine
from chat.models import Compaction, Conversation
from chat.queries.site import SLOW_COMPACTION, SLOW_SECONDS

COMPLETED = Q(status=Compaction.Status.COMPLETED)
_CURRENT = Q(pk=F("conversation__compaction"))
# A completed version is current, or was reverted, or gave way to another: a newer one, or that of
# another branch.
STATES = {
    "current": COMPLETED & _CURRENT,
    "superseded": COMPLETED & Q(reverted=False) & ~_CURRENT,
    "reverted": COMPLETED & Q(reverted=True) & ~_CURRENT,
} | {
    str(status): Q(status=status)
    for status in Compaction.Status
    if status != Compaction.Status.COMPLETED
}
# How a summary came to be written, from the best way to the last resort.
WRITTEN = [engine for engine in Engine if engine != Engine.AUTO]


def describe_state(compaction: Compaction, conversation: Conversation) -> str:
    """The status, with `completed` told apart as in `STATES`."""
    if compaction.status != Compaction.Status.COMPLETED:
        return compaction.status
    if compaction.pk == conversation.compaction_id:
        return "current"
    return "reverted" if compaction.reverted else "superseded"


class StateFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state.capitalize()) for state in STATES]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        condition = STATES.get(self.value() or "")
        return queryset.filter(condition) if condition else None


class EngineFilter(admin.SimpleListFilter):
    """By the way the summary was written: all known ways, so that not every row has to be read."""

    title = "engine"
    parameter_name = "engine"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(engine, engine.capitalize()) for engine in WRITTEN]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        return queryset.filter(method=self.value()) if self.value() else None


class DurationFilter(admin.SimpleListFilter):
    title = "duration"
    parameter_name = "duration"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("slow", f"Over {SLOW_SECONDS} s")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        return queryset.filter(SLOW_COMPACTION) if self.value() == "slow" else None
