"""Which tools a conversation's model is offered. What they do: `chat.tools`."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils import timezone

from agent.loop import declare_tool
from agent.tools import Tool
from agent.tools.context import COMPACT_CONTEXT
from agent.tools.history import READ_MESSAGES, SEARCH_HISTORY
from agent.tools.mcp_names import declare_name
from agent.tools.memory import FORGET, RECALL, REMEMBER
from chat.models import Conversation, McpServer, ModelProfile

BUILT_IN = (SEARCH_HISTORY, READ_MESSAGES, COMPACT_CONTEXT, REMEMBER, RECALL, FORGET)
# What a user can switch off in a conversation.
GROUPS: dict[str, tuple[Tool, ...]] = {
    "history": (SEARCH_HISTORY, READ_MESSAGES),
    "memory": (REMEMBER, RECALL, FORGET),
}


def declare_tools(
    conversation: Conversation, profile: ModelProfile, *, automatic: bool
) -> list[dict[str, Any]]:
    """The tools as a request declares them, always in the same order, so that the prompt cache
    holds. `automatic`: compaction is on."""
    if not (settings.TOOLS and profile.tools):
        return []
    built_in = list_built_in(conversation)
    built_in = [tool for tool in built_in if automatic or tool is not COMPACT_CONTEXT]
    ours = [*built_in, *(tool for _, _, tool in list_mcp_tools(conversation))]
    return [*map(declare_tool, ours), *_web_tools(conversation, profile)]


def list_built_in(conversation: Conversation) -> list[Tool]:
    """Our own tools but those that the user has switched off."""
    groups = [group for name, group in GROUPS.items() if is_off(conversation, name)]
    off = [tool for group in groups for tool in group]
    return [tool for tool in BUILT_IN if tool not in off]


def is_off(conversation: Conversation, name: str) -> bool:
    """Whether the user has switched a group of our own tools off."""
    return name in conversation.tool_settings.get("off", ())


def _web_tools(conversation: Conversation, profile: ModelProfile) -> list[dict[str, Any]]:
    """Anthropic's own, which its server runs. Called directly: by default only code may."""
    if not (profile.web_tools and conversation.tool_settings.get("web")):
        return []
    return [
        {
            "type": f"{name}_{settings.WEB_TOOLS_VERSION}",
            "name": name,
            "max_uses": settings.WEB_TOOLS_USES,
            "allowed_callers": ["direct"],
        }
        for name in ("web_search", "web_fetch")
    ]


def list_mcp_servers(conversation: Conversation) -> list[McpServer]:
    """The enabled ones that the user has chosen for a conversation."""
    chosen = conversation.tool_settings.get("mcp") or []
    return list(McpServer.objects.filter(enabled=True, name__in=chosen)) if chosen else []


def list_mcp_tools(conversation: Conversation) -> Iterator[tuple[McpServer, str, Tool]]:
    """The tools of the chosen servers that are up, declared as `server__tool`, each with the name
    that its server knows it by."""
    for server in list_mcp_servers(conversation):
        if server.down_until and server.down_until > timezone.now():
            continue
        for listed in server.tools:
            yield (
                server,
                listed["name"],
                Tool(
                    f"{server.name}__{declare_name(listed['name'])}",
                    listed["description"],
                    listed["input_schema"],
                    server.timeout,
                ),
            )
