"""The web process's way to the ORM: one bounded executor, apart from the sockets' shared thread."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.db import close_old_connections, connection
from django.utils import translation

P = ParamSpec("P")
T = TypeVar("T")

# SQLite has one writer; PostgreSQL's pool has as many connections as may be wanted here.
THREADS = 4
_executor = ThreadPoolExecutor(THREADS, thread_name_prefix="orm")


def _call(function: Callable[[], T], language: str) -> T:
    close_old_connections()
    try:
        with translation.override(language):
            return function()
    finally:
        # Returns a pooled connection; SQLite's stays open.
        if connection.vendor == "postgresql":
            connection.close()


async def in_db(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the ORM, in a thread with a database connection of its own, in the
    caller's language."""
    loop = asyncio.get_running_loop()
    work = partial(function, *args, **kwargs)
    return await loop.run_in_executor(_executor, _call, work, translation.get_language())


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """Do the work to its end although the task is cancelled meanwhile; then it is."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled and not task.exception():
        raise cancelled
    return task.result()
