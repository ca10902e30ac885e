"""What is known of the MCP servers: their tools, and which are down."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from agent.mcp import usable
from chat.models import Conversation, McpServer
from chat.toolbox import mcp_servers


def stale(conversation: Conversation) -> list[McpServer]:
    """The chosen servers that are to be asked for their tools again."""
    now = timezone.now()
    old = now - timedelta(seconds=settings.MCP_LIST_SECONDS)
    return [
        server
        for server in mcp_servers(conversation)
        if (server.down_until <= now if server.down_until else True)
        and (server.listed_at is None or server.listed_at < old)
    ]


def down(conversation: Conversation) -> list[McpServer]:
    """The chosen servers that are left out for now."""
    now = timezone.now()
    return [s for s in mcp_servers(conversation) if s.down_until and s.down_until > now]


def store_listing(server: McpServer, listed: list[dict[str, Any]]) -> None:
    """A server has told its tools: it is up. What no request can declare is left out, and
    `error` says why."""
    tools, faults = usable(listed)
    error = f"Left out: {'; '.join(faults)}." if faults else ""
    McpServer.objects.filter(pk=server.pk).update(
        tools=tools, listed_at=timezone.now(), down_until=None, error=error
    )


def mark_down(server: McpServer, error: str) -> None:
    """Leave a server out for a while; its tools are listed anew after that."""
    until = timezone.now() + timedelta(seconds=settings.MCP_DOWN_SECONDS)
    McpServer.objects.filter(pk=server.pk).update(listed_at=None, down_until=until, error=error)
