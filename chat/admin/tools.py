"""Tool servers in the admin panel, and what is remembered of whom."""

from django.contrib import admin
from django.http import HttpRequest

from chat.models import McpServer, Memory


@admin.register(McpServer)
class McpServerAdmin(admin.ModelAdmin):
    list_display = ("name", "url", "enabled", "tool_names", "listed_at", "down_until")
    readonly_fields = ("tool_names", "listed_at", "down_until", "error")

    @admin.display(description="Tools")
    def tool_names(self, server: McpServer) -> str:
        return ", ".join(tool["name"] for tool in server.tools) or "–"


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
