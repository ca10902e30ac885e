"""Work that ends when nobody should wait for it any longer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class OutOfTime(Exception):
    """The work was ended, because its time was up."""


async def finish_in_time(work: Awaitable[T], time_up: Callable[[], Awaitable[None]] | None) -> T:
    """What the work returns or raises. Raises OutOfTime where `time_up` returns first: what it
    asked for is cancelled then."""
    if time_up is None:
        return await work
    task, clock = asyncio.ensure_future(work), asyncio.ensure_future(time_up())
    try:
        await asyncio.wait((task, clock), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        clock.result()  # a clock that broke is no deadline
        raise OutOfTime
    finally:
        for each in (task, clock):
            each.cancel()
        await asyncio.gather(task, clock, return_exceptions=True)
