"""Connections to the model's server: opened ahead of a request, and left unread for a while."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.context.assemble import assemble
from agent.errors import AgentError, ErrorCode
from agent.model import client as client_module
from agent.model import connections
from agent.model.client import Client
from agent.model.connecting import leave_unread
from demo.api.protocol import Envelope, PromptUsage, ScriptedReply, encode_event, stream_events
from tests.agent.conversations import context, text, user
from tests.support.patience import PATIENCE
from tests.support.proxies import certificate
from tests.support.services import free_port

REQUEST = assemble(context(user(1, "Hello")))
EVENTS = stream_events(
    ScriptedReply((text("Hello."),)), Envelope("msg_1", "claude-test", PromptUsage(12))
)
BODY = b"".join(map(encode_event, EVENTS))
HEAD = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(BODY)}\r\n\r\n"


class Provider:
    """Answers every request, and keeps its connections open. `meeting` requests are awaited before
    the first is answered."""

    def __init__(self, meeting: int = 1) -> None:
        self.connections = 0
        self.requests = 0
        self.came = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._meeting = asyncio.Barrier(meeting)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.came.set()
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
                await reader.readexactly(int(length))
                self.requests += 1
                await self._meeting.wait()
                writer.write(HEAD.encode() + BODY[:100])
                await self.may_end.wait()
                writer.write(BODY[100:])
        except asyncio.IncompleteReadError:
            writer.close()


@asynccontextmanager
async def providing(provider: Provider, tls: ssl.SSLContext | None = None) -> AsyncIterator[Client]:
    """A client of that provider."""
    async with await asyncio.start_server(provider.serve, "127.0.0.1", 0, ssl=tls) as listening:
        port = listening.sockets[0].getsockname()[1]
        client = Client(api_key="test", base_url=f"http{'s' * bool(tls)}://127.0.0.1:{port}")
        try:
            yield client
        finally:
            await client.close()


async def came(provider: Provider) -> None:
    await asyncio.wait_for(provider.came.wait(), PATIENCE)


async def test_a_connection_is_there_before_the_request() -> None:
    provider = Provider()
    async with providing(provider) as client:
        client.connect_ahead()
        await came(provider)
        assert provider.requests == 0
        await client.complete(REQUEST)
        assert (provider.connections, provider.requests) == (1, 1)


async def test_a_request_waits_for_the_connection_that_is_being_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, key = certificate(tmp_path)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(made, key)
    trusting = ssl.create_default_context(cafile=str(made))
    monkeypatch.setattr(client_module, "_tls", lambda: trusting)
    provider = Provider()
    async with providing(provider, server) as client:
        client.connect_ahead()
        await client.complete(REQUEST)
        assert provider.connections == 1


async def test_an_idle_connection_is_enough() -> None:
    provider = Provider()
    async with providing(provider) as client:
        for _ in range(3):
            client.connect_ahead()
            await client.complete(REQUEST)
        assert (provider.connections, provider.requests) == (1, 3)


async def test_requests_at_once_have_a_connection_each() -> None:
    provider = Provider(meeting=2)
    async with providing(provider) as client:
        client.connect_ahead()
        client.connect_ahead()
        await asyncio.gather(client.complete(REQUEST), client.complete(REQUEST))
        assert provider.connections == 2


async def test_a_connection_that_fails_leaves_the_failure_to_the_request() -> None:
    client = Client(api_key="test", base_url=f"http://127.0.0.1:{free_port()}", retries=0)
    client.connect_ahead()
    with pytest.raises(AgentError) as raised:
        await client.complete(REQUEST)
    await client.close()
    assert raised.value.code == ErrorCode.SERVER_UNREACHABLE


async def test_what_is_left_unread_is_read_again_afterwards() -> None:
    provider = Provider()
    provider.may_end.clear()
    async with providing(provider) as client:
        response = await client._post(REQUEST.data)
        socket = connections._find_socket(response)
        assert socket is not None
        resting = asyncio.create_task(leave_unread(response, PATIENCE))
        await asyncio.sleep(0)
        assert not socket.is_reading()
        resting.cancel()
        await asyncio.wait([resting])
        assert socket.is_reading()
        provider.may_end.set()
        assert await response.aread() == BODY
