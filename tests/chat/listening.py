"""Hearing what goes out over the channel layer, and letting threads race."""

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any

from channels.layers import get_channel_layer
from django.db import connection

from chat.protocol.broadcast import send
from chat.protocol.events import Event as Sent
from tests.support.patience import PATIENCE

Event = dict[str, Any]
_marks = count(1)


@dataclass(frozen=True)
class Mark(Sent):
    type = "test.mark"
    number: int


class Listener:
    """Keeps the events of some groups. It reads in a thread with a loop of its own, as a browser's
    socket would, so synchronous tests can use it with any channel layer."""

    def __init__(self, *groups: str) -> None:
        self._groups = groups
        self._heard: list[Event] = []
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._subscribe(), self._loop).result(PATIENCE)
        self._reader = asyncio.run_coroutine_threadsafe(self._read(), self._loop)

    async def _subscribe(self) -> None:
        layer = get_channel_layer()
        self._channel = await layer.new_channel()
        for group in self._groups:
            await layer.group_add(group, self._channel)

    async def _read(self) -> None:
        layer = get_channel_layer()
        while True:
            message = await layer.receive(self._channel)
            with self._changed:
                self._heard.append(json.loads(message["frame"]))
                self._changed.notify_all()

    def events(self, *types: str) -> list[Event]:
        """What has been sent until now, without the marks; only these types if any are named."""
        sent = Mark(next(_marks))
        asyncio.run_coroutine_threadsafe(send(self._groups[0], sent), self._loop).result(PATIENCE)
        mark = sent.as_dict()
        with self._changed:
            arrived = self._changed.wait_for(lambda: mark in self._heard, PATIENCE)
            assert arrived, "the mark was lost"
            heard = [event for event in self._heard if event["type"] != Mark.type]
        return [event for event in heard if not types or event["type"] in types]

    def types(self) -> list[str]:
        return [event["type"] for event in self.events()]

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._leave(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    async def _leave(self) -> None:
        self._reader.cancel()
        layer = get_channel_layer()
        for group in self._groups:
            await layer.group_discard(group, self._channel)
        await asyncio.sleep(0)
        if "flush" in layer.extensions:  # Redis: closes this loop's connections
            await layer.flush()


def race(*functions: Callable[[], Any]) -> list[Any]:
    """Call the functions at the same moment, each in a thread with a connection of its own.
    Returns what they returned or raised."""
    barrier = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        barrier.wait(PATIENCE)
        try:
            return function()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(run, functions))
