"""A site of several processes on PostgreSQL and Redis: who does what, and who dies."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from demo.api.protocol import tool_use
from demo.api.script import is_chat, is_summary, is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.api.programs import Told, parse_event, read_along
from tests.chat.sockets import PATIENCE, SUMMARY, units
from tests.services.browsers import Person
from tests.support.job_board import KEY
from tests.support.server import CeleryProcess, EverlongProcess, LoggedProcess
from tests.support.services import free_port

pytestmark = pytest.mark.services

Environment = dict[str, str]
LEASE = 6.0  # seconds; a busy machine must not take a living process for dead
ACTIVE = "SELECT id FROM chat_turn WHERE finished_at IS NULL"
ADD_SERVER = (
    "INSERT INTO chat_mcpserver"
    " (name, url, header, secret_variable, timeout, enabled, tools, error)"
    " VALUES ('library', '{}', 'Authorization', 'MCP_SECRET_LIBRARY', 10, true, '[]', '')"
)
QUESTION = "All I know. " + "lorem ipsum " * 1_450  # 4,350 tokens by the server's count


@pytest.fixture
def model() -> Iterator[DemoServer]:
    listed = [ListedModel(id="test-model", window=16_000, max_output=1_024)]
    with DemoServer(models=listed) as server:
        server.script.reply("A title", when=is_title, always=True)
        yield server
        server.script.assert_done()


@pytest.fixture
def environment(model: DemoServer, scaled_environment: Environment) -> Environment:
    return scaled_environment | {
        "ANTHROPIC_BASE_URL": model.base_url,
        "DEFAULT_MODEL": "test-model",
        "MODEL_WINDOWS": "test-model=16000",
        "MODEL_RETRIES": "0",
        "LEASE_SECONDS": str(LEASE),
    }


def rows(environment: Environment, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        return connection.execute(query.encode()).fetchall()


def change(environment: Environment, statement: str) -> None:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        connection.execute(statement.encode())


async def test_compactions_run_in_the_worker_and_its_death_unlocks_within_a_lease(
    start_everlong: Callable[..., EverlongProcess],
    start_worker: Callable[..., CeleryProcess],
    environment: Environment,
    model: DemoServer,
) -> None:
    web = start_everlong("--no-worker", **environment, COMPACTION_PREPARE="0")
    worker = start_worker(web)
    model.script.reply("Noted.", when=is_chat, always=True)
    async with Person() as ada:
        await ada.set_up(web)
        conversation = await ada.begin(web, QUESTION)
        tab = await ada.open(web, conversation)
        if tab.all("snapshot")[0]["turn"]:
            await tab.next("turn.finished", status="completed")
        tab.say(QUESTION)
        # The end of the turn before may be told only now: it is drawn after it is stored.
        begun = await tab.next("turn.started")
        await tab.next("turn.finished", turn_id=begun["turn_id"], status="completed")

        model.script.reply(SUMMARY, when=is_summary)
        tab.say(QUESTION)  # over 80 % with this one
        await tab.next("CompressionCompleted", success=True)
        await tab.next("turn.finished", status="completed")
        tab.say("And now?")
        await tab.next("turn.finished", status="completed")
        model.script.reply(SUMMARY, when=is_summary)
        tab.send("compact", focus="the beginning")
        await tab.next("CompressionCompleted", success=True)
        await tab.next("turn.finished", kind="compact", status="completed")
        query = "SELECT trigger, status, worker_pid FROM chat_compaction ORDER BY id"
        assert rows(environment, query) == [
            ("auto", "completed", worker.pid),
            ("manual", "completed", worker.pid),
        ]
        assert worker.pid != web.pid

        tab.say("And then?")
        await tab.next("turn.finished", status="completed")
        gate = model.script.stall(when=is_summary)
        tab.send("compact")
        await gate.wait_reached()
        other = await ada.open(web, conversation)
        assert other.all("snapshot")[0]["compaction"]["trigger"] == "manual"
        client_id = other.say("Too early")
        error = await other.next("error", code="conversation_busy")
        assert error["client_id"] == client_id
        worker.kill()  # whoever waits for it looks each second; the sweep would take 30
        for each in (tab, other):
            completed = await each.next("CompressionCompleted", success=False)
            assert "not been heard of" in completed["error"]
            await each.next("turn.finished", kind="compact", status="failed")
        tab.say("Unlocked?")
        await tab.next("turn.finished", status="completed")
        started = len(tab.all("CompressionStarted"))
        assert started == len(tab.all("CompressionCompleted")) == 3
        for each in (tab, other):
            await each.close()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[str]:
    """The URL of an MCP server."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.mcp_server", str(port)]
    process = LoggedProcess(command, tmp_path, {}).start()
    process.wait_for_log("Uvicorn running")
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()


async def test_two_web_processes_share_answers_and_questions_and_outlive_each_other(
    start_everlong: Callable[..., EverlongProcess],
    environment: Environment,
    model: DemoServer,
    library: str,
) -> None:
    environment |= {"MCP_SECRET_LIBRARY": KEY}
    a = start_everlong("--no-worker", **environment)
    b = start_everlong("--no-worker", **environment)
    async with Person() as ada:
        assert a.setup_path == b.setup_path
        await ada.set_up(b)

        # A socket on B shows what A streams, from the middle on.
        gate = model.script.stall("One 😀 block.\n\nAnd ano", then="ther one.\n\nThe end")
        conversation = await ada.begin(a, "Tell me")
        await gate.wait_reached()
        there = await ada.open(a, conversation)
        await there.until(lambda: there.answer is not None and there.answer.tail)
        here = await ada.open(b, conversation)
        turn = here.all("snapshot")[0]["turn"]
        assert turn["html"] == '<p dir="auto">One 😀 block.</p>\n', "what only A knows"
        assert turn["text"] == "And ano"
        gate.release()
        for tab in (there, here):
            finished = await tab.next("turn.finished", status="completed")
            assert "The end" in finished["html"]
        assert here.answer is not None
        assert there.answer is not None
        assert (here.answer.html, here.answer.tail) == (there.answer.html, there.answer.tail)

        # B allows a call that A waits with.
        change(environment, ADD_SERVER.format(library))
        change(
            environment, """UPDATE chat_conversation SET tool_settings = '{"mcp": ["library"]}'"""
        )
        call = tool_use("library__find_book", {"title": "Dune"}, "toolu_1")
        model.script.reply(call, when=is_chat).reply("Found.", when=is_chat)
        there.say("Find Dune")
        question = await here.next("question.asked")
        assert (await here.sync())["questions"] == question["html"], "what only A knows"
        (active,) = rows(environment, ACTIVE)
        here.send("tool.decide", turn_id=active[0], id="toolu_1", decision="once")
        for tab in (here, there):
            await tab.next("question.closed", id=question["id"])
            await tab.next("turn.finished", status="completed")
        assert "3 books like “Dune”" in str(model.script.requests[-1].messages[-1])

        # Stop on B stops A.
        gate = model.script.stall("A story that")
        there.say("A story")
        await gate.wait_reached()
        await here.until(lambda: here.answer and here.answer.tail == units("A story that"))
        here.say("Too early")
        assert (await here.next("error"))["code"] == "conversation_busy"
        here.send("turn.stop")
        for tab in (here, there):
            finished = await tab.next("turn.finished", status="cancelled")
            assert "A story that" in finished["html"]
        await asyncio.to_thread(model.script.wait_for_disconnects, 1)

        # A dies in mid-answer: B still has what was stored; the sweep ends the turn.
        model.script.stall("Half of an ans")
        there.say("Once more")
        stored = "SELECT text FROM chat_message WHERE status = 'streaming'"
        await eventually(lambda: rows(environment, stored) == [("Half of an ans",)])
        a.kill()
        await there.until(lambda: there.closed_with)
        snapshot = await here.sync()
        assert snapshot["turn"]["text"] == "Half of an ans"
        finished = await here.next("turn.finished", status="interrupted")
        assert "Half of an ans" in finished["html"]
        assert 'data-action="retry"' in finished["html"]
        page = await ada.get(b, f"/c/{conversation}/")
        assert "Half of an ans" in page
        assert 'data-action="retry"' in page
        model.script.reply("A whole answer.", when=is_chat)
        await ada.post(b, f"/c/{conversation}/retry/")
        await here.next("turn.finished", status="completed")
        assert here.text == "A whole answer."
        await here.close()


async def test_a_programs_stream_goes_on_at_another_process_and_after_a_crash(
    start_everlong: Callable[..., EverlongProcess], environment: Environment, model: DemoServer
) -> None:
    a = start_everlong("--no-worker", **environment)
    b = start_everlong("--no-worker", **environment)
    async with Person() as ada, aiohttp.ClientSession() as http:
        await ada.set_up(a)
        scopes = ("conversations:read", "conversations:write", "messages:send")
        http.headers["Authorization"] = f"Bearer {await ada.make_token(a, *scopes)}"
        async with http.post(f"{a.url}/api/v1/conversations", json={}) as answer:
            path = f"/api/v1/conversations/{(await answer.json())['id']}"
        body = {"text": "Tell me", "stream": True}

        # It breaks off at A, which writes on: B tells the rest.
        gate = model.script.stall("First half 😀,", then=" second half.")
        heard: list[Told] = []
        async with http.post(f"{a.url}{path}/messages", json=body) as stream:
            async for told in read_stream(stream):
                heard.append(told)
                if read_along(heard) == {2: "First half 😀,"}:
                    break
        events = f"{path}/turns/{heard[0]['data']['turn_id']}/events"
        reading = asyncio.create_task(resume(http, b.url + events, heard[-1]["id"]))
        gate.release()
        again = await reading
        assert read_along(again, read_along(heard)) == {2: "First half 😀, second half."}

        # A dies in mid-stream: the text is that of the row.
        model.script.stall("Half of an ans")
        heard = []
        with contextlib.suppress(aiohttp.ClientError):
            async with http.post(f"{a.url}{path}/messages", json=body) as stream:
                async for told in read_stream(stream):
                    heard.append(told)
                    if read_along(heard) == {4: "Half of an ans"}:
                        a.kill()
        events = f"{path}/turns/{heard[0]['data']['turn_id']}/events"
        again = await resume(http, b.url + events, heard[-1]["id"])
        turn = again[-1]["data"]["turn"]
        assert turn["status"] == "interrupted"
        stored = "SELECT text FROM chat_message WHERE number = 4"
        assert rows(environment, stored) == [(turn["message"]["text"],)]
        assert read_along(again, read_along(heard)) == {4: turn["message"]["text"]}


async def resume(http: aiohttp.ClientSession, url: str, last: str) -> list[Told]:
    """All that follows an event."""
    async with http.get(url, headers={"Last-Event-ID": last}) as stream:
        return [told async for told in read_stream(stream)]


async def read_stream(stream: aiohttp.ClientResponse) -> AsyncIterator[Told]:
    """The events of a stream, without its comments."""
    waiting = ""
    async for line in stream.content:
        waiting += line.decode()
        if waiting.endswith("\n\n"):
            told, waiting = parse_event(waiting.strip()), ""
            if told["name"] != "comment":
                yield told


async def eventually(met: Callable[[], bool]) -> None:
    """Wait for what only the database knows."""
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(met):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.1)
