"""Messages and turns in the admin panel."""

import json
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.admin.base import (
    CONVERSATION,
    ConversationFilter,
    ConversationOwnerFilter,
    column,
    format_duration,
    list_details,
    moment_column,
    with_previews,
)
from chat.admin.reading import PrivateAdmin, may_read
from chat.html.figures import format_cost
from chat.html.message import render_message
from chat.models import Conversation, Message, Turn
from spending.models import ModelCall
from spending.queries import Sums, add_up_all

MAX_BLOCKS = 20_000  # characters of a message's JSON


def _price(row: Message) -> str:
    """Calls are found by their turn; what was imported has none, and cost nothing here."""
    calls = ModelCall.objects.filter(turn=row.turn_id, message=row.pk)
    sums = add_up_all(calls) if row.turn_id else Sums()
    return format_cost(sums.dollars, about=bool(sums.estimates))


@admin.register(Message)
class MessageAdmin(PrivateAdmin):
    list_display = (
        "place",
        "conversation_link",
        "position",
        "active",
        "role",
        "status",
        "tokens",
        "start",
        "created",
    )
    list_only = (
        "conversation",
        "number",
        "position",
        "active",
        "role",
        "status",
        "tokens",
        "created_at",
    )
    list_filter = (ConversationFilter, "role", "status", "active", "created_at")
    search_help_text = "Owner of the conversation; within one that you read, the text."
    ordering = ("-id",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("conversation", "number", "position", "active", "left_out"),
                    ("role", "status", "stop_reason"),
                    ("model", "tokens", "reply_cost"),
                    ("created_at", "turn", "parent"),
                )
            },
        ),
        ("Content blocks", {"fields": ("content_blocks",), "classes": ("collapse",)}),
    )

    def for_list(self, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
        return with_previews(queryset.only(*self.list_only))

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Texts are shown of a conversation only for which its reader has given a reason."""
        if _reads_one(request):
            return self.list_display
        return tuple(name for name in self.list_display if name != "start")

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Texts are searched within such a conversation too."""
        return ("text",) if _reads_one(request) else ("conversation__owner__username",)

    place = column("Number", lambda row: f"#{row.number}", "number")
    conversation_link = CONVERSATION
    created = moment_column("Created", "created_at")
    start = column("Text", lambda row: row.preview or "–")
    reply_cost = column("Cost", _price)

    @admin.display(description="As the API has them")
    def content_blocks(self, row: Message) -> SafeString:
        text = json.dumps(row.blocks, ensure_ascii=False, indent=2)
        more = f"\n… {len(text) - MAX_BLOCKS:,} more characters" if len(text) > MAX_BLOCKS else ""
        return format_html('<pre class="json">{}{}</pre>', text[:MAX_BLOCKS], more)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = kwargs["obj"]
        context |= {"message_html": render_message(obj), "usage": list_details(obj.usage)}
        return super().render_change_form(request, context, *args, **kwargs)


def _reads_one(request: HttpRequest) -> bool:
    """Whether the list is that of one conversation, which may be read."""
    try:
        pk = UUID(request.GET.get("conversation", ""))
    except ValueError:
        return False
    row = Conversation.objects.filter(pk=pk).only("owner").first()
    return row is not None and may_read(request, row)


@admin.register(Turn)
class TurnAdmin(PrivateAdmin):
    list_display = (
        "id",
        "conversation_link",
        "kind",
        "status",
        "process",
        "lease",
        "error_code",
        "created",
        "duration",
    )
    list_only = (
        "conversation",
        "kind",
        "status",
        "holder",
        "lease_expires",
        "error",
        "created_at",
        "finished_at",
    )
    list_filter = (ConversationFilter, "status", "kind", ConversationOwnerFilter, "created_at")
    search_fields = ("conversation__owner__username", "holder")
    search_help_text = "Owner of the conversation, or the web process."
    ordering = ("-id",)
    fields = (
        ("conversation", "kind", "status"),
        ("process", "lease_expires", "stop_requested"),
        ("created_at", "finished_at", "duration"),
        "focus",
        "notice_words",
        "error_words",
    )

    conversation_link = CONVERSATION
    process = column("Web process", lambda row: row.holder, "holder")
    lease = moment_column("Lease expires", "lease_expires")
    error_code = column("Error", lambda row: str((row.error or {}).get("code", "")) or "–")
    notice_words = column("Notice", lambda row: row.notice_text or "–")
    error_words = column(
        "Error", lambda row: "\n".join(map(": ".join, list_details(row.error))) or "–"
    )
    created = moment_column("Created", "created_at")
    duration = column("Duration", lambda row: format_duration(_count_seconds(row)))


def _count_seconds(turn: Turn) -> float | None:
    return (turn.finished_at - turn.created_at).total_seconds() if turn.finished_at else None
