"""Tools of MCP servers over Streamable HTTP. The only module that imports `mcp`, an optional extra.

Each operation has a connection of its own: a server that dies takes nothing with it, and no
connection outlives a turn.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx2

from agent.errors import ToolError
from agent.messages import Block
from agent.wire.bounded import PLAIN, bound
from agent.wire.masking import mask, remember_secret
from agent.wire.proxies import NONE, Proxies, Proxy

if TYPE_CHECKING:
    from mcp import Client

NOT_INSTALLED = "MCP is not installed here: pip install -r requirements/mcp.txt."
IMAGE_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
LARGEST_RESULT = 40_000_000  # bytes; a picture takes 13 MB
MAX_PAGES = 20  # of a list of tools
REFUSED = (401, 403)  # HTTP
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINED = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """Where a server is, and the headers it wants. `timeout` is seconds for one operation,
    `secret` the variable that the key in the headers comes from, "" where there is none. It is
    asked through what `proxies` name for it."""

    name: str
    url: str
    headers: dict[str, str]
    timeout: float
    secret: str = ""
    proxies: Proxies = NONE


async def list_tools(server: McpEndpoint) -> list[dict[str, Any]]:
    """The server's tools as {name, description, input_schema}. Raises ToolError."""
    listed: list[dict[str, Any]] = []
    async with _connected(server) as client:
        cursor = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            listed += [
                {
                    "name": tool.name,
                    "description": tool.description or tool.title or tool.name,
                    "input_schema": tool.input_schema,
                }
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if cursor is None:
                break
    return listed


def filter_usable(listed: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The listed tools that a request may declare, and why others are left out: with a single tool
    that the API does not take, every turn would be refused."""
    kept: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for tool in listed:
        name, schema = tool["name"], tool["input_schema"] | {"type": "object"}
        fault = "is listed twice" if name in kept else _fault(name, schema)
        if fault:
            faults.append(f"{name[:100] or 'a tool without a name'} {fault}")
        else:
            kept[name] = tool | {"input_schema": schema}
    return list(kept.values()), faults


def _fault(name: str, schema: dict[str, Any]) -> str:
    """Why the API would refuse a tool, or "". `jsonschema` comes with `mcp`."""
    from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

    if not name:
        return "cannot be called"
    if combined := next((key for key in _COMBINED if key in schema), None):
        return f"has {combined} at the top of its schema"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"has an invalid schema: {error.message[:100]}"
    if odd := next((p for p in schema.get("properties", ()) if not _PROPERTY.fullmatch(p)), None):
        return f"has a property whose name the API does not take: {odd[:100]!r}"
    return ""


async def call_tool(server: McpEndpoint, name: str, arguments: dict[str, Any]) -> list[Block]:
    """What a tool returns, as content blocks. Raises ToolError, also with the tool's own error."""
    async with _connected(server) as client:
        result = await client.call_tool(name, arguments)
    blocks = [_block(part.model_dump(mode="json", by_alias=True)) for part in result.content]
    if result.is_error:
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        raise ToolError("\n".join(texts) or "The tool failed without saying why.")
    return blocks


@asynccontextmanager
async def _connected(server: McpEndpoint) -> AsyncIterator["Client"]:
    try:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
    except ImportError as error:
        raise ToolError(NOT_INSTALLED) from error
    answered: list[int] = []
    proxy = _find_proxy(server)
    for value in server.headers.values():
        remember_secret(value.rpartition(" ")[2])

    async def note(response: httpx2.Response) -> None:
        answered.append(response.status_code)
        await bound(response, LARGEST_RESULT)

    try:
        async with asyncio.timeout(server.timeout):
            http = httpx2.AsyncClient(
                headers=PLAIN | server.headers,
                timeout=None,
                event_hooks={"response": [note]},
                trust_env=False,
                verify=_tls(),
                proxy=proxy.url if proxy else None,
            )
            transport = streamable_http_client(server.url, http_client=http)
            async with http, Client(transport) as client:
                yield client
    except ToolError:
        raise
    except TimeoutError as error:
        late = f"{server.name} did not answer within {server.timeout:g} s{_through(proxy)}."
        raise ToolError(late) from error
    except Exception as error:  # its transports raise errors of many kinds, and groups of them
        if answered and answered[-1] in REFUSED:  # the transports do not report it
            raise ToolError(_refusal(server, answered[-1])) from error
        reason = f"{_cause(error)}{_through(proxy)}"
        raise ToolError(f"{server.name} cannot be used: {reason}") from error


@cache
def _tls() -> ssl.SSLContext:
    """With the certificates of SSL_CERT_FILE, which a company's proxy may need."""
    return httpx2.create_ssl_context()


def _find_proxy(server: McpEndpoint) -> Proxy | None:
    proxy = server.proxies.find(server.url)
    if proxy and proxy.fault:
        raise ToolError(
            f"{server.name} cannot be used: {proxy.fault}. Only those of http:// and https:// can "
            "be used; an administrator may name the server in NO_PROXY."
        )
    return proxy


def _through(proxy: Proxy | None) -> str:
    return f" (asked through the proxy that {proxy.variable} names)" if proxy else ""


def _refusal(server: McpEndpoint, status: int) -> str:
    if not server.secret:
        return (
            f"{server.name} requires a key (HTTP {status}), but the admin panel names no variable "
            "for it."
        )
    return f"The key in {server.secret} was refused by {server.name} (HTTP {status})."


def _cause(error: BaseException) -> str:
    """The innermost message of an error or a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return mask(str(error))[:300] or type(error).__name__


def _block(part: dict[str, Any]) -> Block:
    """A content block of MCP as one of the Messages API."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": part["text"] or "(empty)"}
    if kind == "image" and part.get("mimeType") in IMAGE_TYPES:
        source = {"type": "base64", "media_type": part["mimeType"], "data": part["data"]}
        return {"type": "image", "source": source}
    resource = part.get("resource") or part
    text = resource.get("text") or f"[{kind}: {resource.get('uri') or resource.get('mimeType')}]"
    return {"type": "text", "text": text}
