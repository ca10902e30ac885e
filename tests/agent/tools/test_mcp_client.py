"""What an MCP server and a proxy before it get, and what comes back of it."""

import json
import zlib

import pytest

from agent.errors import ToolError
from agent.tools import mcp
from agent.wire.proxies import NONE, Proxies
from tests.agent.model.asked import answer, asked

KEY = "library/key+that=no-pattern/knows"


def endpoint(url: str, proxies: Proxies = NONE) -> mcp.McpEndpoint:
    headers = {"Authorization": f"Bearer {KEY}"}
    return mcp.McpEndpoint("library", url, headers, 5.0, "MCP_SECRET_LIBRARY", proxies)


async def fail(server: mcp.McpEndpoint) -> str:
    with pytest.raises(ToolError) as raised:
        await mcp.list_tools(server)
    return str(raised.value)


@pytest.mark.parametrize("status", ["400 Bad Request", "403 No", "500 Failed"])
async def test_a_key_that_a_server_repeats_is_in_no_error(status: str) -> None:
    error = {"code": -32600, "message": f"Bearer {KEY} lacks a scope"}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "error": error}).encode()
    async with asked(lambda head: answer(body, status=f"{status} {KEY}")) as server:
        said = await fail(endpoint(f"{server.url}/mcp"))
    assert KEY.encode() in server.heads[0]
    assert "no-pattern" not in said


async def test_a_key_does_not_follow_a_redirect_to_another_server() -> None:
    async with asked() as other:
        moved = answer(status="307 Moved", more=f"location: {other.url}/mcp\r\n")
        async with asked(lambda head: moved) as server:
            said = await fail(endpoint(f"{server.url}/mcp"))
    assert other.heads == []
    assert f"{other.url}/mcp" in said


async def test_this_machine_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "socks5://127.0.0.1:1"}
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    async with asked(lambda head: answer(status="403 No")) as server:
        said = await fail(endpoint(f"{server.url}/mcp", Proxies.read(named)))
    assert server.heads
    assert "refused by library (HTTP 403)" in said


@pytest.mark.parametrize("proxy", ["http://u:pass-1@127.0.0.1:1", "socks5://u:pass-1@127.0.0.1:1"])
async def test_an_error_through_a_proxy_names_its_variable(proxy: str) -> None:
    said = await fail(endpoint("http://mcp.example/mcp", Proxies.read({"ALL_PROXY": proxy})))
    assert "ALL_PROXY" in said
    assert "pass-1" not in said


async def test_a_server_elsewhere_is_asked_through_the_proxy() -> None:
    async with asked(lambda head: answer(status="500 Failed")) as proxy:
        named = Proxies.read({"http_proxy": proxy.url})
        assert "http_proxy" in await fail(endpoint("http://mcp.example/mcp", named))
    assert proxy.heads[0].startswith(b"POST http://mcp.example/mcp ")


async def test_an_answer_that_unpacks_to_too_much_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp, "LARGEST_RESULT", 100_000)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = packer.compress(b" " * 5_000_000) + packer.flush()
    made = answer(packed, more="content-encoding: gzip\r\n")
    async with asked(lambda head: made) as server:
        assert "cannot be used" in await fail(endpoint(f"{server.url}/mcp"))
