"""The web process's way to the ORM: one bounded executor, apart from the sockets' shared thread."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import async_to_sync
from django.db import (
    InterfaceError,
    OperationalError,
    ProgrammingError,
    close_old_connections,
    connection,
)
from django.utils import translation
from django.utils.translation import gettext_noop

from chat.db.outages import DATABASE

P = ParamSpec("P")
T = TypeVar("T")

# SQLite has one writer; PostgreSQL's pool has a connection for each thread here.
THREADS = 4
_executor = ThreadPoolExecutor(THREADS, thread_name_prefix="orm")
# For what the model's tools do: a search takes long, and a reply may ask for many.
TOOL_THREADS = 2
_tool_executor = ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix="tools")

# The database is away, locked or full: the same call may succeed later.
UNAVAILABLE = (OperationalError, InterfaceError)
RETRY_SECONDS = 1.0
# PostgreSQL's codes.
DISK_FULL, NO_TABLE, NO_COLUMN = "53100", "42P01", "42703"
NO_SPACE = gettext_noop(
    "The server's disk is full, so nothing can be stored. An administrator has to free some space."
)
UNWRITABLE = gettext_noop(
    "The server's disk cannot be written: it may be full or broken. An administrator has to check."
)
MISFIT = gettext_noop(
    "The database does not fit this release. An administrator has to look into the log."
)
AWAY = gettext_noop("The database cannot be reached or written at the moment. Try again soon.")


def _call(function: Callable[[], T], language: str) -> T:
    with translation.override(language):
        return call_with_connection(function)


def call_with_connection(function: Callable[[], T]) -> T:
    """Call a function that uses the ORM, in a thread that does so only now and then."""
    close_old_connections()
    try:
        return function()
    finally:
        # Returns a pooled connection; SQLite's stays open.
        if connection.vendor == "postgresql":
            connection.close()


async def in_db(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the ORM, in a thread with a database connection of its own, in the
    caller's language."""
    return await _run_in(_executor, partial(function, *args, **kwargs))


async def in_tool_db(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`in_db` for a call of a tool: behind other such calls only, so that nobody else waits for
    them. First come, first served; that is fair, as each turn has few calls at a time here."""
    return await _run_in(_tool_executor, partial(function, *args, **kwargs))


async def _run_in(executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(executor, _call, work, translation.get_language())


def run_long(work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a coroutine from a worker's thread. Minutes may pass meanwhile, in which the thread's own
    connection may break: what follows opens a new one."""
    try:
        return async_to_sync(work)(*args, **kwargs)
    finally:
        close_old_connections()


async def in_db_with_retries(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`in_db`, tried again for as long as the database is unavailable: for what would otherwise be
    lost. It may run twice: a reply may be lost after the work was done."""
    failed = False
    while True:
        try:
            result = await in_db(function, *args, **kwargs)
        except UNAVAILABLE as error:
            failed = True
            DATABASE.note_failure(error)
            await asyncio.sleep(RETRY_SECONDS)
        else:
            if failed:  # otherwise it may only have read, which a full disk allows
                DATABASE.note_success()
            return result


def explain_unavailable(error: BaseException) -> str:
    """Words for the page, marked with `gettext_noop`."""
    said = str(error)
    if is_misfit(error):
        return MISFIT
    if "database or disk is full" in said or getattr(error.__cause__, "sqlstate", "") == DISK_FULL:
        return NO_SPACE
    return UNWRITABLE if "disk I/O error" in said or "readonly database" in said else AWAY


def is_misfit(error: BaseException) -> bool:
    """Whether a table or a column is missing: see `chat.queries.schema`."""
    if isinstance(error, ProgrammingError):
        return getattr(error.__cause__, "sqlstate", "") in (NO_TABLE, NO_COLUMN)
    missing = ("no such table", "no such column", "has no column named")
    return isinstance(error, OperationalError) and any(each in str(error) for each in missing)


async def finish_despite_cancel(work: Coroutine[Any, Any, T]) -> T:
    """Finish the work even if the task is cancelled meanwhile; the task is then cancelled
    afterwards."""
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
