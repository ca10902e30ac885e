"""From the name of a tool to what it does."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from agent.context.shortening.previews import result_room
from agent.loop import Content, RunnableTool
from agent.tools import Tool
from agent.tools.context import COMPACT_CONTEXT
from agent.tools.history import READ_MESSAGES, SEARCH_HISTORY
from agent.tools.memory import FORGET, RECALL, REMEMBER
from chat.engine.state import RequestState
from chat.engine.tools import list_built_in
from chat.tools import mcp
from chat.tools.context import compact_context
from chat.tools.history import read_messages, search_history
from chat.tools.memory import forget, recall, remember
from chat.tools.scope import Scope

Handler = Callable[[Scope, dict[str, Any]], Awaitable[Content]]

HANDLERS: tuple[tuple[Tool, Handler], ...] = (
    (SEARCH_HISTORY, search_history),
    (READ_MESSAGES, read_messages),
    (COMPACT_CONTEXT, compact_context),
    (REMEMBER, remember),
    (RECALL, recall),
    (FORGET, forget),
)


def bind_tools(state: RequestState, calls: int, ask: mcp.AskUser) -> dict[str, RunnableTool]:
    """The tools that may run in a conversation, by name, for a round of so many calls; `ask` is
    for those of other servers."""
    conversation = state.conversation
    scope = Scope(conversation.pk, conversation.owner_id, result_room(state.limits, calls))
    allowed = list_built_in(conversation)
    ours = {
        tool.name: RunnableTool(tool, partial(handler, scope))
        for tool, handler in HANDLERS
        if tool in allowed
    }
    return ours | mcp.bind_mcp_tools(conversation, ask)
