"""Tool servers in the admin panel, and what the model remembers of each user."""

from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db import models, transaction
from django.http import HttpRequest

from chat.admin.base import OWNER, OwnerFilter, column, moment_column
from chat.admin.reading import PrivateAdmin
from chat.models import McpServer, Memory
from chat.tools.mcp import try_server


@admin.register(McpServer)
class McpServerAdmin(admin.ModelAdmin):
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}
    list_display = ("name", "url", "enabled", "tool_names", "listed_at", "down_until")
    readonly_fields = ("tool_names", "listed_at", "down_until", "error")

    tool_names = column("Tools", lambda row: ", ".join(tool["name"] for tool in row.tools) or "–")

    def save_model(self, request: HttpRequest, obj: McpServer, form: Any, change: bool) -> None:
        """A saved server is tried, so that a wrong address or key is seen here and not in a chat.
        It is saved in any case."""
        super().save_model(request, obj, form, change)
        if obj.enabled:  # after the commit: no transaction waits for another server
            transaction.on_commit(partial(self._try, request, obj))

    def _try(self, request: HttpRequest, server: McpServer) -> None:
        if fault := async_to_sync(try_server)(server):
            self.message_user(request, f"Saved, but not usable now. {fault}", messages.WARNING)
            return
        server.refresh_from_db()
        answered = f"The server answered. Its tools: {self.tool_names(server)}."
        self.message_user(request, answered, messages.SUCCESS)
        if server.error:
            self.message_user(request, server.error, messages.WARNING)


@admin.register(Memory)
class MemoryAdmin(PrivateAdmin):
    """To look at: users change their own."""

    list_display = ("label", "owner_name", "source", "updated")
    list_select_related = ("owner",)
    list_only = ("owner__username", "source", "updated_at")
    list_filter = ("updated_at", OwnerFilter)
    search_fields = ("owner__username",)
    search_help_text = "Owner."
    ordering = ("-updated_at",)
    fields = ("text", "owner", "source", "created_at", "updated_at")

    label = column("Fact", lambda row: f"#{row.pk}", "pk")
    owner_name = OWNER
    updated = moment_column("Updated", "updated_at")

    def find_private(self, row: Memory) -> Memory:
        return row
