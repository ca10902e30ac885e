"""An MCP server to test with, which wants a key.

python -m tests.support.mcp_server PORT [broken | named]
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Tool
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tests.support.job_board import KEY, offers

BARRED = "Bearer somebody"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)

server = MCPServer("library")


@server.tool()
def find_book(title: str, limit: int = 3) -> str:
    """Find books by their title."""
    return f"{limit} books like “{title}”"


@server.tool()
def cover() -> list[str | Image]:
    """The cover of the newest book."""
    return ["A pixel:", Image(data=PIXEL, format="png")]


@server.tool()
def find_jobs(page: int) -> str:
    """A page of offers."""
    return offers(page)


@server.tool()
def burn() -> str:
    """Fails."""
    raise ToolError("Books are not burnt here.")


@server.tool()
async def read_slowly() -> str:
    """Takes longer than anybody waits."""
    await asyncio.sleep(60)
    return "The end."


named = MCPServer("named")
# As servers name their tools; the API takes none of the first four, and the fifth looks like one.
NAMES = [
    "files.read",
    "files/read",
    "files read",
    "x" * 120 + ".one",
    "files_x2e_read",
    "files_read",
]


def reader(name: str) -> Callable[[str], str]:
    def read(path: str) -> str:
        return f"{name} of {path}"

    return read


for name in NAMES:
    named.add_tool(reader(name), name=name, description="Reads.")

Schema = dict[str, Any]


class Broken(MCPServer):
    """A server whose listing no request could declare as it is."""

    async def list_tools(self) -> list[Tool]:
        choice: Schema = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
        listed: dict[str, Schema] = {
            "good": {"type": "object", "properties": {"a": {"type": "string"}}},
            "choice": choice,
            "nonsense": {"type": "object", "properties": {"a": {"type": "words"}}},
            "odd": {"type": "object", "properties": {"a b": {}}},
            "": {"type": "object"},
        }
        tools = [Tool(name=name, input_schema=schema) for name, schema in listed.items()]
        return [*tools, Tool(name="good", description="Again.", input_schema=choice)]


broken = Broken("broken")


@broken.tool()
def good() -> list[str | Image]:
    """Returns something that is not a picture."""
    return ["Look:", Image(data=b"no picture", format="png")]


class Door(BaseHTTPMiddleware):
    """Lets in whoever has the key, and knows one whom it never does."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        if request.headers.get("authorization") == BARRED:
            return PlainTextResponse("not you", status_code=403)
        if request.headers.get("authorization") != KEY:
            return PlainTextResponse("no key", status_code=401)
        return await call_next(request)


if __name__ == "__main__":
    port, *names = sys.argv[1:]
    servers = {"broken": broken, "named": named}
    application = servers.get("".join(names), server).streamable_http_app()
    application.add_middleware(Door)
    uvicorn.run(application, host="127.0.0.1", port=int(port), log_level="info")
