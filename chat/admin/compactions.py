"""Compactions in the admin panel: what each replaced, what it cost, and undoing it."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from agent.compaction.policy import REASON_WORDS, Origin
from chat.admin.actions import (
    DISCARD,
    REPLACE,
    RERUN,
    REVERT,
    do_action,
    make_put_back,
    menu_action,
)
from chat.admin.base import (
    CONVERSATION,
    ConversationFilter,
    ConversationOwnerFilter,
    ModelFilter,
    admin_link,
    column,
    format_duration,
    list_url,
    moment_column,
    page_url,
)
from chat.admin.compaction_filters import (
    DurationFilter,
    MethodFilter,
    StateFilter,
    describe_state,
)
from chat.admin.compaction_page import describe_compaction
from chat.admin.explanations import (
    METHOD_EXPLANATIONS,
    OCCASION_EXPLANATIONS,
    STATE_EXPLANATIONS,
    explain,
    list_words,
)
from chat.admin.reading import PrivateAdmin
from chat.html.figures import format_cost, format_money, format_tokens
from chat.html.moments import format_moment
from chat.models import Compaction, Conversation
from spending.totals import load_total

# The columns of a compaction in a table.
SUMMARY_ROW = (
    "conversation",
    "trigger",
    "origin",
    "status",
    "reverted",
    "method",
    "model",
    "messages",
    "tokens_before",
    "tokens_after",
    "worker_pid",
    "created_at",
    "finished_at",
)


def make_table_row(row: Any, conversation: Conversation) -> dict[str, Any]:
    """One line of a table of compactions, which have their totals."""
    return {
        "link": admin_link(row, f"#{row.pk}"),
        "occasion": _occasion(row),
        "state": describe_state(row, conversation),
        "method": row.method or "–",
        "model": row.model,
        "messages": row.messages,
        "tokens": _tokens(row),
        "saved": _saved(row),
        "cost": format_cost(row.total.dollars, about=row.total.is_estimated),
        "duration": format_duration(row.duration),
        "created_at": format_moment(row.created_at),
    }


def _price(row: Any) -> str:
    """Of a row of the list, or of the one that a page is about."""
    total = row.total if hasattr(row, "total") else load_total("compaction", row.pk)
    return format_cost(total.dollars, about=total.is_estimated)


def _occasion(row: Compaction) -> str:
    return row.get_trigger_display() or row.get_origin_display()


def _tokens(row: Compaction) -> str:
    if row.status != Compaction.Status.COMPLETED:
        return format_tokens(row.tokens_before)
    return f"{format_tokens(row.tokens_before)} → {format_tokens(row.tokens_after)}"


def _saved(row: Compaction) -> str:
    frees_nothing = row.origin != Origin.COMPACTION
    if row.status != Compaction.Status.COMPLETED or not row.tokens_before or frees_nothing:
        return "–"
    return f"{1 - row.tokens_after / row.tokens_before:.0%}"


@admin.register(Compaction)
class CompactionAdmin(PrivateAdmin):
    list_display = (
        "label",
        "conversation_link",
        "began",
        "state",
        "method",
        "model",
        "messages_count",
        "tokens",
        "saved",
        "price",
        "took",
        "worker_pid",
        "created",
    )
    list_select_related = ("conversation",)
    totals_by = "compaction"
    list_only = (*SUMMARY_ROW, "conversation__compaction")
    list_filter = (
        ConversationFilter,
        StateFilter,
        "trigger",
        "origin",
        MethodFilter,
        DurationFilter,
        "created_at",
        ConversationOwnerFilter,
        ModelFilter,
    )
    search_fields = ("conversation__owner__username", "conversation__id")
    search_help_text = "Owner or id of the conversation."
    ordering = ("-created_at",)
    actions = ("rerun", "replace", "discard", "revert")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("conversation", "state_explained", "created_at"),
                    ("occasion_explained", "focus", "turn"),
                    ("messages_count", "first", "through"),
                    ("exact_tokens", "sent_messages", "saved"),
                    ("price",),
                    ("error",),
                )
            },
        ),
        (
            "How it was made",
            {
                "fields": (
                    ("model", "method_explained", "reason"),
                    ("prompt_version", "previous", "replaces"),
                    ("took", "started_at", "finished_at"),
                    ("worker_pid", "lease_expires"),
                )
            },
        ),
    )

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may write again, decide on it and revert: nothing else can be changed here."""
        return request.user.has_perm("chat.change_compaction")

    rerun = menu_action(RERUN)
    replace = menu_action(REPLACE)
    discard = menu_action(DISCARD)
    revert = menu_action(REVERT)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.put_back))
        return [
            path("<int:pk>/put-back/", view, name="chat_compaction_put_back"),
            *super().get_urls(),
        ]

    def put_back(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Put a statement that left the summary back; its page then shows the new version."""
        if not self.has_operate_permission(request):
            raise PermissionDenied
        row = get_object_or_404(Compaction, pk=pk)
        shown = do_action(self, request, row, make_put_back(request.POST.get("key", "")))
        return redirect(page_url(Compaction(pk=shown)))

    # --- Columns ----------------------------------------------------------------------------------

    label = column("Compaction", lambda row: f"#{row.pk}", "pk")
    conversation_link = CONVERSATION

    @admin.display(description="Status", ordering="status")
    def state(self, row: Compaction) -> SafeString:
        state = describe_state(row, row.conversation)
        return format_html('<span class="state {}">{}</span>', state, state)

    @admin.display(description="Status")
    def state_explained(self, row: Compaction) -> SafeString:
        state = describe_state(row, row.conversation)
        return explain(state, STATE_EXPLANATIONS, f"state {state}")

    began = column("Trigger", _occasion, "trigger")
    occasion_explained = column("Trigger", lambda row: explain(row.occasion, OCCASION_EXPLANATIONS))
    method_explained = column("Method", lambda row: explain(row.method, METHOD_EXPLANATIONS))
    messages_count = column("Messages", lambda row: f"{row.messages:,}", "messages")
    tokens = column("Tokens", _tokens, "tokens_before")
    saved = column("Saved", _saved)
    price = column("Cost", _price)
    took = column(
        "Duration", lambda row: format_duration(row.duration), F("finished_at") - F("created_at")
    )
    created = moment_column("Created", "created_at")

    @admin.display(description="Tokens before → after")
    def exact_tokens(self, row: Compaction) -> str:
        after = f"{row.tokens_after:,}" if row.status == Compaction.Status.COMPLETED else "–"
        return f"{row.tokens_before:,} → {after}"

    @admin.display(description="Messages sent word for word, before → after")
    def sent_messages(self, row: Compaction) -> str:
        after = f"{row.messages_after:,}" if row.status == Compaction.Status.COMPLETED else "–"
        return f"{row.messages_before:,} → {after}" if row.messages_before else "–"

    @admin.display(description="Method reason")
    def reason(self, row: Compaction) -> str:
        why = REASON_WORDS.get(row.method_reason, row.method_reason)
        compared = row.audit.get("dollars") or {}
        prices = [f"{method} {format_money(dollars)}" for method, dollars in compared.items()]
        return f"{why} Estimated: {', '.join(prices)}." if prices else why

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        extra = {"word_groups": list_words(), **(extra_context or {})}
        return super().changelist_view(request, extra)

    # --- One compaction ---------------------------------------------------------------------------

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = kwargs["obj"]
        context |= {
            "operate": self.has_operate_permission(request),
            "current": describe_state(obj, obj.conversation) == "current",
            "checkbox": ACTION_CHECKBOX_NAME,
            "list_url": list_url(Compaction),
            **describe_compaction(obj),
        }
        return super().render_change_form(request, context, *args, **kwargs)
