"""The web process's way to the ORM: one bounded executor, apart from the sockets' shared thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connection

P = ParamSpec("P")
T = TypeVar("T")

# SQLite has one writer; PostgreSQL's pool has as many connections as may be wanted here.
THREADS = 4
_executor = ThreadPoolExecutor(THREADS, thread_name_prefix="orm")


def _call(function: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return function()
    finally:
        # Returns a pooled connection; SQLite's stays open.
        if connection.vendor == "postgresql":
            connection.close()


async def in_db(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the ORM, in a thread with a database connection of its own."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_executor, _call, partial(function, *args, **kwargs))
