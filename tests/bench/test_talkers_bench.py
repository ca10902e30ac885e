"""The clients whose chats are measured: what counts as heard and as in time."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.peers.chainlit_talker import ChainlitTalker
from bench.talkers import Heard, Sdk, SocketTalker, Talker, talk
from demo.api.server import DemoServer
from demo.mind.playing import bench_script
from tests.support.patience import PATIENCE

MS = 1_000_000
FIRST, SECOND = 10**12, 10**12 + 20 * MS


def hear(*received: int, sent: int = FIRST - MS) -> Heard:
    stamps = [FIRST + 20 * MS * number for number in range(len(received))]
    return Heard(sent, stamps, list(received), complete=True)


def test_stamps_are_found_in_markdown() -> None:
    heard = Heard(0)
    heard.take(f"Port 8443, 1,000,000 values `x` {FIRST} and {SECOND} ")
    assert heard.stamps == [FIRST, SECOND]
    assert len(heard.received) == 2


def test_a_wait_for_the_first_delta_is_late_too() -> None:
    assert hear(FIRST, SECOND).in_time(2, 20)
    assert not hear(FIRST, SECOND, sent=FIRST - 600 * MS).in_time(2, 20)


def test_a_chat_is_in_time_only_whole_and_in_order() -> None:
    assert not hear(FIRST, SECOND).in_time(3, 20)
    assert not Heard(FIRST, [SECOND, FIRST], [SECOND, SECOND], complete=True).in_time(2, 20)
    assert not Heard(FIRST, [FIRST], [FIRST]).in_time(1, 20)


@pytest.mark.parametrize("kind", [Sdk, SocketTalker])
@pytest.mark.parametrize("markdown", [False, True])
async def test_everyone_hears_every_delta(kind: type[Talker], *, markdown: bool) -> None:
    with DemoServer(bench_script(12, 0.001, stamp=True, markdown=markdown)) as server:
        talker = kind(server.base_url)
        found = await talk(talker, chats=2, spread_s=0.01, deltas=12, interval_ms=1.0)
        await talker.close()
    assert found["failures"] == []
    assert found["deltas"] == 24


@pytest.fixture
async def chainlit() -> AsyncIterator[TestServer]:
    """Chainlit's socket, as its client knows it: a session, then an answer of two deltas."""

    async def emit(socket: web.WebSocketResponse, name: str, data: object) -> None:
        await socket.send_str("42" + json.dumps([name, data]))

    async def serve(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str('0{"sid":"engine"}')
        assert "sessionId" in json.loads((await socket.receive_str()).removeprefix("40"))
        await socket.send_str('40{"sid":"socket"}')
        assert await socket.receive_str() == '42["connection_successful"]'
        await emit(socket, "task_end", {})
        await emit(socket, "clear_call_fn", {})
        name, payload = json.loads((await socket.receive_str()).removeprefix("42"))
        assert (name, payload["fileReferences"]) == ("client_message", [])
        await socket.send_str("2")
        assert await socket.receive_str() == "3"
        await emit(socket, "stream_start", {"output": f"{FIRST} "})
        await emit(socket, "stream_token", {"token": f"{SECOND} "})
        await emit(socket, "new_message", {"output": f"{FIRST} {SECOND} ", "isError": False})
        await emit(socket, "task_end", {})
        await socket.receive()
        return socket

    application = web.Application()
    application.router.add_get("/ws/socket.io/", serve)
    async with TestServer(application) as server:
        yield server


async def test_chainlits_answer_is_heard_as_its_page_gets_it(chainlit: TestServer) -> None:
    talker = ChainlitTalker("")
    await talker.connect([str(chainlit.make_url("")).rstrip("/")])
    try:
        heard = await asyncio.wait_for(talker.chat(0), PATIENCE)
    finally:
        await talker.close()
    assert heard.stamps == [FIRST, SECOND]
    assert heard.complete
