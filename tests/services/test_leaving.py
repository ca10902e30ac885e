"""A scaled web process that is asked to stop: requests that hang do not keep it, turns are heard
out."""

import asyncio
import signal
from collections.abc import Callable

import psycopg
import pytest

from chat.live.leaving import END_SECONDS
from demo.api.server import DemoServer
from tests.services.browsers import Person
from tests.services.test_processes_of_a_site import (  # noqa: F401 - two are fixtures
    Environment,
    environment,
    eventually,
    model,
    rows,
)
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.services

BLOCKED = "SELECT count(*) FROM pg_locks WHERE NOT granted"


async def test_requests_that_never_end_do_not_keep_a_process(
    start_everlong: Callable[..., EverlongProcess],
    environment: Environment,  # noqa: F811
) -> None:
    web = start_everlong("--no-worker", **environment)
    page = web.setup_path
    async with Person() as ada:
        with psycopg.connect(environment["DATABASE_URL"]) as other:
            other.execute("LOCK TABLE accounts_user")
            asked = [asyncio.create_task(ada.get(web, page)) for _ in range(4)]
            await eventually(lambda: rows(environment, BLOCKED)[0][0] >= len(asked))
            assert await asyncio.to_thread(web.stop, END_SECONDS) == 0
        await asyncio.gather(*asked, return_exceptions=True)
    assert "Stopped. Every answer is stored." in web.log


async def test_a_turn_that_is_being_stored_when_the_process_is_asked_to_stop_is_heard_out(
    start_everlong: Callable[..., EverlongProcess],
    environment: Environment,  # noqa: F811
    model: DemoServer,  # noqa: F811
) -> None:
    web = start_everlong("--no-worker", **environment)
    async with Person() as ada:
        await ada.set_up(web)
        model.script.reply("Noted.")
        conversation = await ada.begin(web, "Remember this")
        tab = await ada.open(web, conversation)
        if tab.all("snapshot")[0]["turn"]:
            await tab.next("turn.finished", status="completed")
        gate = model.script.stall("The first half, ", then="and the second.")
        with psycopg.connect(environment["DATABASE_URL"]) as other:
            other.execute("LOCK TABLE chat_turn")
            tab.say("Tell me")
            await eventually(lambda: rows(environment, BLOCKED)[0][0] >= 1)
            assert web.process is not None
            web.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(web.wait_for_log, "waiting for running answers")
        begun = await tab.next("turn.started")
        await gate.wait_reached()
        gate.release()
        finished = await tab.next("turn.finished", turn_id=begun["turn_id"])
        assert finished["status"] == "completed"
        assert "and the second." in finished["html"]
        assert await asyncio.to_thread(web.stop) == 0
