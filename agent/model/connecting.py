"""The connections below the SDK: opened ahead of a request, and left unread for a while.

Neither the SDK nor httpx2 offers that; aiohttp below them does. The two functions with "find" in
their names know where the locked versions keep it; `test_connecting.py` holds them to that.
"""

import asyncio
from contextlib import suppress
from contextvars import Context
from typing import Any

import aiohttp
import httpx2
from yarl import URL

# For a connection that is opened ahead: a request does not wait longer for it.
AHEAD_SECONDS = 3.0


class ConnectionsAhead:
    """Opens connections in a client's pool for requests that will follow soon."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url
        self._opening: dict[asyncio.Task[None], None] = {}  # the oldest first

    def open(self) -> None:
        """Begin to open one, in the background and without a request, unless one is idle."""
        # It will serve other requests too, and keeps nothing of the one that comes first.
        task = asyncio.create_task(self._open(), context=Context())
        self._opening[task] = None
        task.add_done_callback(lambda done: self._opening.pop(done, None))

    async def wait(self) -> None:
        """For a request that is about to go out: wait for the oldest that is being opened. That is
        the request's own, or one that will be there earlier."""
        if oldest := next(iter(self._opening), None):
            del self._opening[oldest]
            await asyncio.wait([oldest])

    async def close(self) -> None:
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    async def _open(self) -> None:
        transport = _find_transport(self._http, self._url)
        # The request meets the same failure, tries again, and names the cause.
        with suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(AHEAD_SECONDS):
                request = aiohttp.ClientRequest("GET", URL(self._url))
                connector = transport.client.connector
                opened = await connector.connect(request, [], aiohttp.ClientTimeout())
                opened.release()


async def leave_unread(response: httpx2.Response, seconds: float) -> None:
    """Let what a server sends wait in the kernel for a while: the loop would wake up for each piece
    of it."""
    transport = _find_socket(response)
    if transport is None or not transport.is_reading():
        await asyncio.sleep(seconds)
        return
    transport.pause_reading()
    try:
        await asyncio.sleep(seconds)
    finally:
        if not transport.is_closing():
            transport.resume_reading()


def _find_transport(http: httpx2.AsyncClient, url: str) -> Any:
    """The SDK's aiohttp transport for a URL, with its `client`."""
    transport: Any = http._transport_for_url(httpx2.URL(url))
    if not isinstance(transport.client, aiohttp.ClientSession):
        transport.client = transport.get_client()  # as its first request would
    return transport


def _find_socket(response: httpx2.Response) -> asyncio.Transport | None:
    """The transport of a response that comes in; None once all of it is there."""
    stream: Any = response.stream
    came: aiohttp.ClientResponse = stream.inner._stream._aiohttp_response
    connection = came.connection
    return connection.transport if connection else None
