"""An answer that comes in parts waits for its client: what is not read does not pile up here."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from server import http
from server.http import MOST_UNSENT, Channel


class Transport:
    """As much of Twisted's as counts what is unsent."""

    offset = 0
    _tempDataLen = 0
    aborted = False

    def __init__(self, unsent: int) -> None:
        self.dataBuffer = bytes(unsent)

    def abortConnection(self) -> None:
        self.aborted = True


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "ROOM_SECONDS", 0.001)


def make_channel(unsent: int) -> Any:
    channel: Any = Channel()
    channel.transport = Transport(unsent)
    channel.factory = SimpleNamespace(reactor=SimpleNamespace(seconds=time.monotonic))
    return channel


async def test_nobody_waits_for_a_client_that_reads() -> None:
    await asyncio.wait_for(make_channel(MOST_UNSENT).wait_for_room(), 10)


async def test_the_next_part_waits_until_the_client_has_read() -> None:
    channel = make_channel(MOST_UNSENT + 1)
    waiting = asyncio.create_task(channel.wait_for_room())
    await asyncio.sleep(0.02)
    assert not waiting.done()
    channel.transport.dataBuffer = b""
    await asyncio.wait_for(waiting, 10)
    assert not channel.transport.aborted


async def test_a_client_that_reads_nothing_is_given_up(settings: Any) -> None:
    settings.IDLE_SECONDS = 0.01
    channel = make_channel(MOST_UNSENT + 1)
    waiting = asyncio.create_task(channel.wait_for_room())
    async with asyncio.timeout(10):
        while not channel.transport.aborted:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.001)
    channel.over = True  # as the reactor says
    await asyncio.wait_for(waiting, 10)


async def test_a_client_that_has_left_is_not_waited_for() -> None:
    channel = make_channel(MOST_UNSENT + 1)
    channel.over = True
    await asyncio.wait_for(channel.wait_for_room(), 10)
