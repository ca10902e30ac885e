"""What a thread raises reaches whoever waits for it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chat.db.threads import in_db
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

WAYS = {"in_db": in_db, "to_thread": asyncio.to_thread, "sync_to_async": None}


class Odd(StopIteration):
    """A subclass: Python checks for the class itself."""


@pytest.mark.parametrize("error", [StopIteration, Odd, StopAsyncIteration, GeneratorExit, KeyError])
@pytest.mark.parametrize("way", WAYS)
async def test_what_a_thread_raises_reaches_its_waiter(
    way: str, error: type[BaseException], transactional_db: None
) -> None:
    def fail() -> None:
        raise error("of the library")

    call: Callable[..., Any] = WAYS[way] or (lambda function: sync_to_async(function)())
    waiter = asyncio.ensure_future(call(fail))
    done, _ = await asyncio.wait({waiter}, timeout=PATIENCE)
    assert done, "it waits for ever"
    raised = waiter.exception()
    assert isinstance(raised, error) or isinstance(raised.__cause__, error)  # type: ignore[union-attr]
