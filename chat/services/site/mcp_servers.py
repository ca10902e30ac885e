"""What is known about the MCP servers: their tools, and which are down."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agent.tools.mcp import filter_usable
from chat.engine.tools import list_mcp_servers
from chat.models import Conversation, McpServer


def find_stale(conversation: Conversation) -> list[McpServer]:
    """The chosen servers that are to be asked for their tools again."""
    now = timezone.now()
    old = now - timedelta(seconds=settings.MCP_LIST_SECONDS)
    return [
        server
        for server in list_mcp_servers(conversation)
        if (server.down_until <= now if server.down_until else True)
        and (server.listed_at is None or server.listed_at < old)
    ]


def find_down(conversation: Conversation) -> list[McpServer]:
    """The chosen servers that are left out for now."""
    now = timezone.now()
    return [s for s in list_mcp_servers(conversation) if s.down_until and s.down_until > now]


def store_listing(server: McpServer, listed: list[dict[str, Any]]) -> None:
    """Store the tools that a server listed: it is up. Tools that a request cannot declare are left
    out, and `error` says why."""
    tools, faults = filter_usable(listed)
    error = f"Left out: {'; '.join(faults)}." if faults else ""
    McpServer.objects.filter(pk=server.pk).update(
        tools=tools, listed_at=timezone.now(), down_until=None, error=error
    )


def always_allow(conversation_id: UUID, server: str) -> None:
    """From now on let a server's tools act in a conversation without asking."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().get(pk=conversation_id)
        allowed = {*row.tool_settings.get("mcp_allowed", ()), server}
        row.tool_settings = row.tool_settings | {"mcp_allowed": sorted(allowed)}
        row.save(update_fields=["tool_settings"])


def mark_down(server: McpServer, error: str) -> None:
    """Leave a server out for a while; afterwards it is asked for its tools again."""
    until = timezone.now() + timedelta(seconds=settings.MCP_DOWN_SECONDS)
    McpServer.objects.filter(pk=server.pk).update(listed_at=None, down_until=until, error=error)
