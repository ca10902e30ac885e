"""A server gets its own key and nothing of the environment's; a proxy only what is meant for it."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.context.assemble import assemble
from agent.errors import AgentError, ErrorCode
from agent.model import client as client_module
from agent.model.client import Client
from agent.model.reply import Reply
from agent.wire.proxies import Proxies
from demo.api.protocol import Envelope, PromptUsage, ScriptedReply, encode_event, stream_events
from tests.agent.conversations import context, text, user
from tests.agent.model.asked import Asked, answer, asked, connected
from tests.support.proxies import certificate
from tests.support.services import free_port

REQUEST = assemble(context(user(1, "Hello")))
KEY = "sk-ant-of-this-server"
EVENTS = stream_events(ScriptedReply((text("Hi."),)), Envelope("m", "x", PromptUsage(1)))
STREAM = answer(b"".join(map(encode_event, EVENTS)), kind="text/event-stream")


def serve(head: bytes) -> bytes:
    if b"/models" in head:
        return answer(b'{"data": [{"id": "one"}]}')
    return answer(b'{"input_tokens": 3}') if b"/count_tokens" in head else STREAM


async def ask_all(client: Client) -> None:
    """Every way in which a client asks its server."""
    client.connect_ahead()
    assert (await client.complete(REQUEST)).complete
    assert [model.name for model in await client.models()] == ["one"]
    assert await client.count_tokens(REQUEST) == 3
    await client.probe(REQUEST)
    reply = Reply()
    async for events in client.stream(REQUEST):
        for event in events:
            reply.apply(event)
    assert reply.complete


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """What an environment may hold for the SDK and the libraries below it; where it leads."""
    elsewhere = f"http://127.0.0.1:{free_port()}"
    (tmp_path / "configs").mkdir()
    (tmp_path / "credentials").mkdir()
    profile = {"version": "1.0", "base_url": elsewhere, "authentication": {"type": "user_oauth"}}
    (tmp_path / "configs" / "default.json").write_text(json.dumps(profile))
    token = {"version": "1.0", "type": "oauth_token", "access_token": "leaked-token-1"}
    (tmp_path / "credentials" / "default.json").write_text(json.dumps(token))
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login leaked password leaked-password-1\n")
    for name, value in {
        "ANTHROPIC_BASE_URL": elsewhere,
        "ANTHROPIC_API_KEY": "leaked-key-1",
        "ANTHROPIC_AUTH_TOKEN": "leaked-token-2",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Leaked: leaked-1\nAuthorization: Bearer leaked-2",
        "ANTHROPIC_PROFILE": "default",
        "ANTHROPIC_CONFIG_DIR": str(tmp_path),
        "ANTHROPIC_IDENTITY_TOKEN": "leaked-identity",
        "ANTHROPIC_FEDERATION_RULE_ID": "leaked-rule",
        "ANTHROPIC_ORGANIZATION_ID": "leaked-organisation",
        "ANTHROPIC_WEBHOOK_SIGNING_KEY": "whsec_leaked",
        "NETRC": str(tmp_path / "netrc"),
        **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), elsewhere),
    }.items():
        monkeypatch.setenv(name, value)
    return elsewhere


@pytest.mark.usefixtures("hostile")
async def test_a_server_gets_its_own_key_and_nothing_of_the_environment() -> None:
    async with asked(serve) as server, connected(server.url, KEY) as client:
        await ask_all(client)
    assert len(server.heads) >= 5
    for head in server.heads:
        said = head.decode().lower()
        assert said.count(KEY) == 1
        assert "leaked" not in said
        assert "accept-encoding: identity" in said
        assert "traceparent" not in said


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("empty", ["", None])
async def test_no_address_is_anthropics_and_no_other(empty: str | None) -> None:
    async with asked(lambda head: answer(status="403 Forbidden")) as proxy:
        through = Proxies.read({"HTTPS_PROXY": proxy.url})
        async with connected(empty, KEY, through) as client:
            assert client._sdk.base_url == "https://api.anthropic.com"
            with pytest.raises(AgentError):
                await client.models()
    [head] = proxy.heads
    assert head.startswith(b"CONNECT api.anthropic.com:443 ")
    assert KEY.encode() not in head


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 T", "308 P"])
@pytest.mark.parametrize("way", ["models", "complete"])
async def test_a_redirect_is_not_followed_and_its_target_is_named(status: str, way: str) -> None:
    async with asked() as other:
        target = f"{other.url}/api/v1/{'models' if way == 'models' else 'messages'}?api_key=x"
        moved = answer(status=status, more=f"location: {target}\r\n")
        async with asked(lambda head: moved) as server, connected(server.url, KEY) as client:
            with pytest.raises(AgentError) as raised:
                await (client.models() if way == "models" else client.complete(REQUEST))
            assert await client.count_tokens(REQUEST) is None
    assert other.heads == []
    assert raised.value.said == f"{other.url}/api"
    assert "correct its address" in raised.value.message
    assert not raised.value.retryable


# --- Proxies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_server_elsewhere_is_asked_through_the_proxy(variable: str) -> None:
    async with asked(serve) as proxy:
        named = proxy.url.replace("://", "://somebody:pass@")
        async with connected("http://llm.example:8080", KEY, Proxies.read({variable: named})) as c:
            await ask_all(c)
    assert {head.split()[1].partition(b"/v1")[0] for head in proxy.heads} == {
        b"http://llm.example:8080"
    }
    for head in proxy.heads:
        assert b"\r\nproxy-authorization: basic c29tzwjvzhk6cgfzcw==\r\n" in head.lower()
        assert f"\r\nauthorization: bearer {KEY}\r\n".encode() in head.lower()


async def test_a_server_with_https_is_reached_through_the_proxys_tunnel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, key = certificate(tmp_path)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(made, key)
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    monkeypatch.setattr(client_module, "_tls", lambda: anyone)
    async with (
        asked(serve, tls=own) as server,
        tunnel(server.url) as proxy,
        connected("https://llm.example", KEY, Proxies.read({"ALL_PROXY": proxy})) as client,
    ):
        await ask_all(client)
    assert all(f"bearer {KEY}".encode() in head.lower() for head in server.heads)


@asynccontextmanager
async def tunnel(url: str) -> AsyncIterator[str]:
    """A proxy that connects everybody to one server."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"CONNECT llm.example:443 ")
        assert KEY.encode() not in head
        there = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    async with await asyncio.start_server(serve_one, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "nonsense://"])
async def test_this_machine_is_asked_without_a_proxy(proxy: str) -> None:
    proxies = Proxies.read({"HTTP_PROXY": proxy, "http_proxy": proxy, "ALL_PROXY": proxy})
    async with asked(serve) as server:
        for host in ("127.0.0.1", "localhost"):
            url = server.url.replace("127.0.0.1", host)
            async with connected(url, KEY, proxies) as client:
                await ask_all(client)


FAILING = [
    ("http://somebody:pass-1@127.0.0.1:1", "does not work"),  # nobody is there
    ("socks5://somebody:pass-1@127.0.0.1:1080", "socks5://"),
    ("http://somebody:pass-1@127.0.0.1:port", "not the address of a proxy"),
]


@pytest.mark.parametrize("server", ["http://llm.example", "https://llm.example"])
@pytest.mark.parametrize(("proxy", "words"), FAILING)
async def test_an_error_through_a_proxy_names_its_variable(
    server: str, proxy: str, words: str
) -> None:
    async with connected(server, KEY, Proxies.read({"ALL_PROXY": proxy})) as client:
        client.connect_ahead()
        with pytest.raises(AgentError) as raised:
            await client.complete(REQUEST)
        assert await client.count_tokens(REQUEST) is None
    said = str(raised.value)
    assert raised.value.code == ErrorCode.SERVER_UNREACHABLE
    assert "ALL_PROXY" in said
    assert words in said
    assert "NO_PROXY" in said
    assert "pass-1" not in said


@pytest.mark.parametrize("server", ["http://llm.example", "https://llm.example"])
@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("407 Proxy Authentication Required", ErrorCode.NOT_ALLOWED),
        ("403 Forbidden", ErrorCode.NOT_ALLOWED),
        ("503 Service Unavailable", None),
    ],
)
async def test_what_a_proxy_answers_itself_names_its_variable(
    server: str, status: str, code: ErrorCode | None
) -> None:
    page = answer(b"<html>squid</html>", status=status, kind="text/html")
    async with (
        asked(lambda head: page) as proxy,
        connected(server, KEY, Proxies.read({"ALL_PROXY": proxy.url})) as client,
    ):
        with pytest.raises(AgentError) as raised:
            await client.models()
    assert "ALL_PROXY" in str(raised.value)
    assert code in (None, raised.value.code)


# --- Keys -----------------------------------------------------------------------------------------


async def test_white_space_around_a_key_is_taken_away() -> None:
    async with asked(serve) as server, connected(server.url, f" {KEY}\r\n") as client:
        await client.models()
    assert f"Bearer {KEY}\r\n".encode() in server.heads[0]


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-a b", "sk-ä", "sk-a\0"])
async def test_a_key_that_cannot_be_sent_is_refused_in_words(key: str) -> None:
    seen: Asked
    async with asked(serve) as seen, connected(seen.url, key) as client:
        with pytest.raises(AgentError) as raised:
            await client.complete(REQUEST)
    assert raised.value.code == ErrorCode.BAD_KEY
    assert not raised.value.retryable
    assert seen.heads == []


async def test_a_password_in_an_address_is_refused_in_words() -> None:
    async with asked(serve) as seen:
        with_password = seen.url.replace("://", "://somebody:pass-1@")
        async with connected(with_password, KEY) as client:
            with pytest.raises(AgentError) as raised:
                await client.complete(REQUEST)
    assert raised.value.code == ErrorCode.SERVER_UNREACHABLE
    assert "pass-1" not in str(raised.value)
    assert seen.heads == []
