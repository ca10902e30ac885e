"""Tools of the MCP servers that a conversation uses."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog
from django.conf import settings

from agent.errors import ToolError
from agent.loop import RunnableTool
from agent.messages import Block
from agent.tools import mcp
from chat.db.threads import in_db
from chat.engine.tools import list_mcp_tools, may_call
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, McpServer
from chat.models.notices import Notice
from chat.services.library.file_types import inspect_file
from chat.services.site import mcp_servers
from chat.services.turns.turns import set_notice

log = structlog.get_logger(__name__)

NOT_ALLOWED = (
    "This server may not be used any more; the call was not made. Go on without it, and say what "
    "is missing."
)

AskUser = Callable[[str, Block], Awaitable[None]]


async def refresh_tools(conversation: Conversation, turn_id: int) -> bool:
    """Before a turn: ask the chosen servers for their tools, if what is known about them is old.
    A dead one costs MCP_LIST_TIMEOUT once, and is left out with a notice. True: something may have
    changed."""
    if not conversation.tool_settings.get("mcp"):
        return False
    stale = await in_db(mcp_servers.find_stale, conversation)
    await asyncio.gather(*map(try_server, stale))
    if down := await in_db(mcp_servers.find_down, conversation):
        names = ", ".join(server.name for server in down)
        await in_db(set_notice, turn_id, Notice.SERVERS_LEFT_OUT, names)
    return bool(stale)


async def try_server(server: McpServer) -> str:
    """Ask a server for its tools and store what it says, or that it is down; why it is, or ""."""
    seconds = min(server.timeout, settings.MCP_LIST_TIMEOUT)
    try:
        tools = await mcp.list_tools(_endpoint(server, seconds))
    except ToolError as error:
        log.warning("MCP server is down", server=server.name, reason=str(error))
        await in_db(mcp_servers.mark_down, server, str(error))
        return str(error)
    await in_db(mcp_servers.store_listing, server, tools)
    return ""


def bind_mcp_tools(conversation: Conversation, ask: AskUser) -> dict[str, RunnableTool]:
    """The tools of the chosen servers that are up, by name. `ask` is awaited before each call,
    unless the user lets the server act without asking. What a server says of its own tools, such
    as that they only read, does not count here."""
    allowed = conversation.tool_settings.get("mcp_allowed") or []
    return {
        tool.name: RunnableTool(
            tool,
            partial(_call, conversation.owner_id, server, own_name),
            None if server.name in allowed else partial(ask, server.name),
        )
        for server, own_name, tool in list_mcp_tools(conversation)
    }


async def _call(
    owner_id: int, server: McpServer, name: str, arguments: dict[str, Any]
) -> list[Block]:
    if not await in_db(may_call, owner_id, server.name):  # consent may have taken a while
        raise ToolError(NOT_ALLOWED)
    blocks = await mcp.call_tool(_endpoint(server, server.timeout), name, arguments)
    return [await asyncio.to_thread(_checked, block, owner_id) for block in blocks]


def _checked(block: Block, owner_id: int) -> Block:
    """An image as the API takes it, like an attachment's; a text in place of one that it
    would refuse, now and in every later request."""
    if block["type"] != "image":
        return block
    try:
        file = inspect_file("The image", b64decode(block["source"]["data"]), owner_id=owner_id)
        if file.kind != "image":
            raise Refused(RefusalCode.FILE_TYPE, "The image is not a PNG, JPEG, GIF or WebP file.")
    except (ValueError, Refused) as error:
        return {"type": "text", "text": f"[An image was left out: {error}]"}
    data = b64encode(file.data).decode()
    source = {"type": "base64", "media_type": file.media_type, "data": data}
    return {"type": "image", "source": source}


def _endpoint(server: McpServer, timeout: float) -> mcp.McpEndpoint:
    """Raises ToolError where the key is missing."""
    variable = server.secret_variable
    if not variable:
        return mcp.McpEndpoint(server.name, server.url, {}, timeout, proxies=settings.PROXIES)
    secret = settings.MCP_SECRETS.get(variable)
    if not secret:
        raise ToolError(
            f"{variable} is not set: put the key of {server.name} into the environment of the web "
            "process, and restart it."
        )
    headers = {server.header: secret} if server.header else {}
    return mcp.McpEndpoint(server.name, server.url, headers, timeout, variable, settings.PROXIES)
