"""Messages and turns in the admin panel."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agent.model.unreported import is_estimated
from chat.admin.base import (
    ConversationFilter,
    ConversationOwnerFilter,
    ReadOnlyAdmin,
    admin_link,
    format_seconds,
    list_facts,
    with_previews,
)
from chat.html.figures import format_cost
from chat.html.message import render_message
from chat.html.moments import format_moment
from chat.models import Message, Turn

MAX_BLOCKS = 20_000  # characters of a message's JSON


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
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
    list_select_related = ("conversation",)
    list_only = (
        "conversation__title",
        "number",
        "position",
        "active",
        "role",
        "status",
        "tokens",
        "created_at",
    )
    list_filter = (ConversationFilter, "role", "status", "active", "created_at")
    search_help_text = "Title or owner of the conversation; within one, the text of its messages."
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

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Texts are searched within one conversation only: over all of them it would take long."""
        if request.GET.get("conversation"):
            return ("text",)
        return ("conversation__title", "conversation__owner__username")

    @admin.display(description="Number", ordering="number")
    def place(self, row: Message) -> str:
        return f"#{row.number}"

    @admin.display(description="Conversation", ordering="conversation__title")
    def conversation_link(self, row: Message) -> SafeString:
        return admin_link(row.conversation)

    @admin.display(description="Created", ordering="created_at")
    def created(self, row: Message) -> str:
        return format_moment(row.created_at)

    @admin.display(description="Text")
    def start(self, row: Any) -> str:
        return row.preview or "–"

    @admin.display(description="Cost")
    def reply_cost(self, row: Message) -> str:
        return format_cost(row.cost, about=is_estimated(row.usage))

    @admin.display(description="As the API has them")
    def content_blocks(self, row: Message) -> SafeString:
        text = json.dumps(row.blocks, ensure_ascii=False, indent=2)
        more = f"\n… {len(text) - MAX_BLOCKS:,} more characters" if len(text) > MAX_BLOCKS else ""
        return format_html('<pre class="json">{}{}</pre>', text[:MAX_BLOCKS], more)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = kwargs["obj"]
        context |= {"message_html": render_message(obj), "usage": list_facts(obj.usage)}
        return super().render_change_form(request, context, *args, **kwargs)


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
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
    list_select_related = ("conversation",)
    list_only = (
        "conversation__title",
        "kind",
        "status",
        "holder",
        "lease_expires",
        "error",
        "created_at",
        "finished_at",
    )
    list_filter = (ConversationFilter, "status", "kind", ConversationOwnerFilter, "created_at")
    search_fields = ("conversation__title", "conversation__owner__username", "holder")
    search_help_text = "Title or owner of the conversation, or the web process."
    ordering = ("-id",)
    fields = (
        ("conversation", "kind", "status"),
        ("process", "lease_expires", "stop_requested"),
        ("created_at", "finished_at", "duration"),
        "focus",
        "notice_words",
        "error_words",
    )

    @admin.display(description="Conversation", ordering="conversation__title")
    def conversation_link(self, row: Turn) -> SafeString:
        return admin_link(row.conversation)

    @admin.display(description="Web process", ordering="holder")
    def process(self, row: Turn) -> str:
        return row.holder

    @admin.display(description="Lease expires", ordering="lease_expires")
    def lease(self, row: Turn) -> str:
        return format_moment(row.lease_expires)

    @admin.display(description="Error")
    def error_code(self, row: Turn) -> str:
        return str((row.error or {}).get("code", "")) or "–"

    @admin.display(description="Notice")
    def notice_words(self, row: Turn) -> str:
        return row.notice_text or "–"

    @admin.display(description="Error")
    def error_words(self, row: Turn) -> str:
        return "\n".join(f"{label}: {value}" for label, value in list_facts(row.error)) or "–"

    @admin.display(description="Created", ordering="created_at")
    def created(self, row: Turn) -> str:
        return format_moment(row.created_at)

    @admin.display(description="Duration")
    def duration(self, row: Turn) -> str:
        return format_seconds(
            (row.finished_at - row.created_at).total_seconds() if row.finished_at else None
        )
