"""Which tools a conversation's model is offered. What they do: `chat.tools`."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils import timezone

from accounts.policies import load_rights
from agent.loop import declare_tool
from agent.tools import Tool
from agent.tools.context import COMPACT_CONTEXT
from agent.tools.history import READ_MESSAGES, SEARCH_HISTORY
from agent.tools.mcp_names import declare_name
from agent.tools.memory import FORGET, RECALL, REMEMBER
from chat.models import Conversation, McpServer, ModelProfile

OWN_TOOLS = (SEARCH_HISTORY, READ_MESSAGES, COMPACT_CONTEXT, REMEMBER, RECALL, FORGET)
# What a user can switch off in a conversation, and a group's policy for all.
TOOL_GROUPS: dict[str, tuple[Tool, ...]] = {
    "history": (SEARCH_HISTORY, READ_MESSAGES),
    "memory": (REMEMBER, RECALL, FORGET),
}
WEB = "web"  # the group of the tools that a model's server runs


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
    """Our own tools but those that are off."""
    groups = [group for name, group in TOOL_GROUPS.items() if is_off(conversation, name)]
    off = [tool for group in groups for tool in group]
    return [tool for tool in OWN_TOOLS if tool not in off]


def is_off(conversation: Conversation, name: str) -> bool:
    """Whether a group of our own tools is off: switched off by the user, or not theirs to use."""
    if name in conversation.tool_settings.get("off", ()):
        return True
    return not load_rights(conversation.owner_id).may_use_tools(name)


def _web_tools(conversation: Conversation, profile: ModelProfile) -> list[dict[str, Any]]:
    """Anthropic's own, which its server runs. Called directly: by default only code may."""
    if not (profile.web_tools and conversation.tool_settings.get(WEB)):
        return []
    if not load_rights(conversation.owner_id).may_use_tools(WEB):
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
    """The enabled ones that the user has chosen for a conversation and may use."""
    chosen = conversation.tool_settings.get("mcp")
    if not chosen:
        return []
    rights = load_rights(conversation.owner_id)
    names = [name for name in chosen if rights.may_use_server(name)]
    return list(McpServer.objects.filter(enabled=True, name__in=names))


def may_call(owner_id: int, server: str) -> bool:
    """Whether a server's tools may be called for somebody now."""
    enabled = McpServer.objects.filter(enabled=True, name=server)
    return load_rights(owner_id).may_use_server(server) and enabled.exists()


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
