"""Tool servers in the admin panel, and what the model remembers of each user."""

from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db import models, transaction
from django.http import HttpRequest

from chat.admin.base import column
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
class MemoryAdmin(admin.ModelAdmin):
    """To look at: users change their own."""

    list_display = ("text", "owner", "source", "updated_at")
    list_select_related = ("owner",)
    search_fields = ("text", "owner__username")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        return False
