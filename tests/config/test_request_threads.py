"""Requests take over the threads of those before them, but none that is still at work."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from config import middleware
from config.middleware import ReusingThreads
from tests.support.patience import PATIENCE


@pytest.fixture(autouse=True)
def no_threads_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept: list[Any] = []
    monkeypatch.setattr(middleware, "_idle", kept)
    yield
    for thread in kept:
        thread.shutdown()


async def serve(work: Callable[[], Any]) -> Any:
    """What `work` returns in the thread of a request."""
    found = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.append(await sync_to_async(work)())

    await ReusingThreads(application)({}, None, None)
    return found[0]


async def wait_for_idle(count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(middleware._idle) < count:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)


async def test_a_request_has_the_thread_of_the_one_before() -> None:
    first = await serve(threading.get_ident)
    await wait_for_idle(1)
    assert await serve(threading.get_ident) == first


async def test_requests_at_the_same_time_have_threads_of_their_own() -> None:
    together = threading.Barrier(2, timeout=PATIENCE)

    def meet() -> int:
        together.wait()
        return threading.get_ident()

    assert len(set(await asyncio.gather(serve(meet), serve(meet)))) == 2


async def test_who_leaves_a_long_request_does_not_hold_up_the_next() -> None:
    begun, over = threading.Event(), threading.Event()

    def take_long() -> None:
        begun.set()
        over.wait(PATIENCE)

    request = asyncio.ensure_future(serve(take_long))
    await asyncio.to_thread(begun.wait, PATIENCE)
    request.cancel()
    await asyncio.wait({request})
    assert middleware._idle == []
    assert await serve(lambda: "served") == "served"
    over.set()
    await wait_for_idle(2)


async def test_no_more_threads_are_kept_than_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MOST_THREADS_KEPT", 1)
    together = threading.Barrier(2, timeout=PATIENCE)
    await asyncio.gather(serve(together.wait), serve(together.wait))
    await wait_for_idle(1)
    assert len(middleware._idle) == 1
