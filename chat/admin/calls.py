"""Model calls in the admin panel: a list of them, and the addresses of what they add up to."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agent.model_names import join_name, split_name
from chat.admin import spending
from chat.admin.base import ModelFilter, OwnerFilter, ReadOnlyAdmin, column, list_url, moment_column
from chat.html.figures import format_money, format_tokens
from spending.calls import read_usage
from spending.models import ModelCall
from spending.queries import opened_in


class SpanFilter(admin.SimpleListFilter):
    """By when a call was opened. One is always chosen, so that no list reads the calls of years,
    whatever else it is filtered by."""

    title = "time"
    parameter_name = "span"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.chosen, self.span = spending.choose_span(request)
        spans = spending.list_spans()
        if self.chosen not in dict(spans):  # a day, or a month long ago
            spans.insert(0, (self.chosen, self.chosen))
        return spans

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        return queryset.filter(opened_in(self.span))

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Without one for all."""
        for key, words in self.lookup_choices:
            yield {
                "selected": key == self.chosen,
                "query_string": changelist.get_query_string({self.parameter_name: key}),
                "display": words,
            }


class PersonFilter(OwnerFilter):
    title = "person"
    parameter_name = "person"
    field = "user__username"


class CallModelFilter(ModelFilter):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """With the one that is chosen: it may have no profile any more."""
        chosen = [(name, name)] if (name := self.value()) else []
        return list(dict(super().lookups(request, model_admin) + chosen).items())

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Any, Any]
    ) -> QuerySet[Any, Any] | None:
        if not self.value():
            return None
        provider, model = split_name(str(self.value()))
        return queryset.filter(provider=provider, model=model)


def _link_person(call: ModelCall) -> SafeString | str:
    if call.user is None:
        return "deleted account"
    name = call.user.get_username()
    return format_html('<a href="{}">{}</a>', list_url(ModelCall, person=name), name)


def _show_tokens(call: ModelCall) -> str:
    used = read_usage(call)
    return f"{format_tokens(used.request_tokens)} / {format_tokens(used.output_tokens)}"


def _show_cost(call: ModelCall) -> str:
    match call.state:
        case ModelCall.State.OPEN:
            return f"up to {format_money(call.bound)}"
        case ModelCall.State.LOST:
            return f"≈ {format_money(call.cost)}"
    return format_money(call.cost)


@admin.register(ModelCall)
class CallAdmin(ReadOnlyAdmin):
    change_list_template = "admin/spending/modelcall/change_list.html"
    list_display = ("opened", "person", "centre", "model_name", "kind", "state", "tokens", "money")
    list_select_related = ("user", "group")
    list_only = (
        *("opened_at", "user__username", "group__name", "provider", "model", "kind", "state"),
        *("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens"),
        *("output_tokens", "web_searches", "bound", "cost"),
    )
    list_filter = (SpanFilter, PersonFilter, CallModelFilter, "kind", "state", "group")
    ordering = ("-opened_at",)
    fieldsets = (
        (None, {"fields": (("opened_at", "ended_at"), ("user", "group"), ("kind", "state"))}),
        ("Model", {"fields": (("provider", "model"), "request_id")}),
        (
            "Tokens",
            {
                "fields": (
                    ("input_tokens", "output_tokens"),
                    ("cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens"),
                    ("web_searches", "bound_tokens"),
                )
            },
        ),
        ("US dollars", {"fields": (("cost", "search_cost", "bound"),)}),
        ("Of", {"fields": (("conversation", "turn", "message", "compaction"),)}),
    )

    def get_urls(self) -> list[URLPattern]:
        charts = self.admin_site.admin_view(spending.show_charts)
        cost_centre = self.admin_site.admin_view(spending.send_cost_centre)
        return [
            path("charts/", charts, name="spending_charts"),
            path("cost-centre/<int:pk>.csv", cost_centre, name="cost_centre"),
            *super().get_urls(),
        ]

    opened = moment_column("Opened", "opened_at")
    person = column("Person", _link_person, "user__username")
    centre = column("Cost centre", lambda call: call.group or "–", "group__name")
    model_name = column("Model", lambda call: join_name(call.provider, call.model), "model")
    tokens = column("Tokens read / written", _show_tokens)
    money = column("Cost", _show_cost, "cost")
