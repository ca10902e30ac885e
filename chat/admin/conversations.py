"""Conversations in the admin panel."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.admin.base import (
    OWNER,
    ConditionFilter,
    ModelFilter,
    NarrowChangeList,
    OwnerFilter,
    add_totals,
    column,
    list_url,
    moment_column,
    render_summary_html,
    short_id,
)
from chat.admin.compactions import SUMMARY_ROW, make_table_row
from chat.admin.handing_over import HandsOver
from chat.admin.holds import HoldingAdmin
from chat.admin.reading import PrivateAdmin
from chat.engine.state import load_state, load_states
from chat.html.figures import format_money, format_tokens
from chat.html.plot import render_context_plot
from chat.models import Compaction, Conversation, Message
from chat.queries.summary_versions import list_quotes
from spending.totals import load_total

MAX_COMPACTIONS = 50  # on a conversation's page
DOUBTED = "; the model's server reported far too few tokens"


class CompactedFilter(ConditionFilter):
    title = "compacted"
    parameter_name = "compacted"
    conditions = {
        "yes": ("Yes", Q(compaction__isnull=False)),
        "no": ("No", Q(compaction__isnull=True)),
    }


class MeteredChangeList(NarrowChangeList):
    """With the meter of each conversation on the page as `state`, which its own page shows too."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        states = load_states([row.pk for row in self.result_list])
        for row in self.result_list:
            row.state = states.get(row.pk)


@admin.register(Conversation)
class ConversationAdmin(HandsOver, HoldingAdmin, PrivateAdmin):
    actions = (*HandsOver.actions, *HoldingAdmin.actions)
    list_display = (
        "label",
        "owner_name",
        "model",
        "messages_count",
        "context",
        "tokens",
        "total_cost",
        "compactions_count",
        "compacted",
        "updated",
    )
    list_select_related = ("owner",)
    # The meter reads the messages after each summary, which mostly fit a context's budget.
    list_per_page = list_max_show_all = 25
    totals_by = "conversation"
    list_only = (
        "owner__username",
        "model",
        "next_number",
        "compactions_completed",
        "compaction",
        "updated_at",
    )
    list_filter = ("updated_at", CompactedFilter, "archived", "held", OwnerFilter, ModelFilter)
    search_fields = ("owner__username", "id")
    search_help_text = "Owner or id."
    ordering = ("-updated_at",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("title", "id"),
                    ("owner", "model"),
                    ("messages_link", "created_at", "updated_at"),
                    ("project", "pinned", "archived", "held"),
                )
            },
        ),
        (
            "Compaction",
            {
                "fields": (
                    ("compaction", "compressed_at", "compressed_through"),
                    ("compaction_enabled", "compaction_held", "keep_first_message"),
                    ("context_budget", "compaction_settings", "pruned_through"),
                )
            },
        ),
        ("System prompt", {"fields": ("system_prompt",), "classes": ("collapse",)}),
    )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return MeteredChangeList

    label = column("Conversation", lambda row: short_id(row.pk))
    owner_name = OWNER
    messages_count = column("Messages", lambda row: f"{row.next_number - 1:,}", "next_number")

    @admin.display(description="Context")
    def context(self, row: Any) -> str:
        if row.state is None:
            return "–"
        about = "about " if row.state.estimated else ""
        return f"{about}{format_tokens(row.state.used)} · {row.state.ratio:.0%}"

    tokens = column(
        "Tokens in / out",
        lambda row: (
            f"{format_tokens(row.total.request_tokens)} / {format_tokens(row.total.output_tokens)}"
        ),
    )
    total_cost = column("Cost", lambda row: format_money(row.total.dollars))
    compactions_count = column(
        "Compactions", lambda row: row.compactions_completed, "compactions_completed"
    )
    compacted = column(
        "Compacted", lambda row: "Yes" if row.compaction_id else "–", "compressed_at"
    )
    updated = moment_column("Updated", "updated_at")

    # --- One conversation -------------------------------------------------------------------------

    @admin.display(description="Messages")
    def messages_link(self, row: Conversation) -> SafeString:
        url = list_url(Message, conversation=row.pk)
        return format_html('<a href="{}">{} messages</a>', url, f"{row.next_number - 1:,}")

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = kwargs["obj"]
        rows = Compaction.objects.filter(conversation=obj).order_by("-pk").only(*SUMMARY_ROW)
        shown = list(rows[:MAX_COMPACTIONS])
        add_totals(shown, "compaction")
        context |= {
            "usage": _usage(obj),
            "plot": render_context_plot(load_state(obj.pk)),
            "summary": render_summary_html(
                obj.pk, obj.compressed_context or "", list_quotes(obj.compaction)
            ),
            "compactions": [make_table_row(row, obj) for row in shown],
            "compactions_url": list_url(Compaction, conversation=obj.pk),
            "messages_url": list_url(Message, conversation=obj.pk),
        }
        return super().render_change_form(request, context, *args, **kwargs)


def _usage(conversation: Conversation) -> list[tuple[str, str]]:
    """The meter, as the chat's own page shows it, and the totals, in words."""
    state = load_state(conversation.pk)
    used, size, limits = state.used, state.size, state.limits
    rest = max(0, used - size.fixed)
    total = load_total("conversation", conversation.pk)
    return [
        (
            "Context",
            f"{'about ' if state.estimated else ''}{used:,} tokens, "
            f"{state.ratio:.0%} of "
            f"the budget of {limits.budget:,} (window {limits.window:,})"
            f"{DOUBTED if state.doubted else ''}",
        ),
        (
            "Of that",
            f"system {size.system:,} · project {size.project:,} · tools {size.tools:,} · "
            f"summary {size.summary:,} · conversation {rest:,}",
        ),
        ("Tokens in / out", f"{total.request_tokens:,} / {total.output_tokens:,}"),
        (
            "Cost",
            f"{format_money(total.dollars)}, of that "
            f"{format_money(total.summary_dollars)} for compactions "
            f"({conversation.compactions_completed:,})",
        ),
    ]
