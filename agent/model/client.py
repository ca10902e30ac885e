"""The Messages API through the `anthropic` SDK, which `agent.model.sdk` sets up.

The SDK is imported with the first client, not with this module: its 3,000 modules take a second of
processor time, for which no start and no other command has to wait.

Streams are read as bytes over the aiohttp transport and decoded here: a third of the CPU that
the SDK's own event objects take, and whatever has arrived is handed over in one batch.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any, cast

import httpx2

from agent.attachments import Read, fill_in_files, list_file_ids_in
from agent.context.request import ReplySettings, Request, encode_body
from agent.errors import AgentError, ErrorCode, gettext_noop
from agent.model.api_errors import stream_error, translate_errors
from agent.model.connecting import ConnectionsAhead, leave_unread
from agent.model.ledger import UNBOOKED, Ledger
from agent.model.listing import ModelInfo, read_list
from agent.model.parsing import LARGE, is_stream, not_the_api, read_object
from agent.model.reply import Reply, StreamEvent, split_into_events
from agent.model.sdk import ANTHROPIC, make_sdk, require_sendable
from agent.model.sse import EventDecoder
from agent.wire.masking import remember_secret
from agent.wire.proxies import NONE, Proxies

# A count only replaces an estimate: not worth a long wait.
COUNT_SECONDS = 10.0
# Waits before the second and third try of a call that has produced nothing yet.
RETRY_SECONDS = (0.5, 2.0)
# Where a server asks for a longer wait, the user decides.
LONGEST_WAIT_SECONDS = 2.0
PASSING = (
    ErrorCode.OVERLOADED,
    ErrorCode.SERVER_ERROR,
    ErrorCode.CONNECTION_LOST,
    ErrorCode.RATE_LIMITED,
)


Check = Callable[[Request], None]
# Seconds for which a stream is left unread after a batch of events, so that what arrives meanwhile
# is handled together.
Rest = Callable[[list[StreamEvent]], float]


def import_sdk() -> None:
    """Import what the first client needs: for a thread, before there is one."""
    import anthropic  # noqa: F401


@cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes 50 ms of CPU."""
    return httpx2.create_ssl_context()


async def read_no_files(ids: Sequence[str]) -> Mapping[str, bytes]:
    """For requests that do not refer to files."""
    return {}


class Client:
    """Model calls of one event loop; close it in that loop. `read` gives the bytes of the files
    that a request refers to.

    The server gets what is said here, and nothing of what the environment holds for the SDK:
    without a `base_url` Anthropic's API is asked, and through a proxy only if `proxies` names one.

    `retries` is how often a call is repeated when it failed with a temporary error before its first
    byte of text: 0 to 2. Of the calls for a whole reply, `check` sees each before it goes out and
    may raise AgentError. A `ledger` is told of each post.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        proxies: Proxies = NONE,
        timeout: float = 120.0,
        caching: bool = True,
        retries: int = 2,
        read: Read = read_no_files,
        check: Check = lambda request: None,
    ) -> None:
        api_key, url = api_key.strip(), (base_url or ANTHROPIC).strip()
        remember_secret(api_key)
        self._proxy = proxies.find(url)
        self._sdk, http = make_sdk(api_key, url, self._proxy, timeout, _tls())
        self._ahead = ConnectionsAhead(http, str(self._sdk.base_url))
        self._caching = caching
        self._retries = retries
        self._read = read
        self._check = check
        self._uncounted: set[str] = set()

    async def close(self) -> None:
        await self._ahead.close()
        await self._sdk.close()

    def connect_ahead(self) -> None:
        """Begin to open a connection for a request that will follow, unless one is idle, or goes
        through a proxy."""
        if self._proxy is None:
            self._ahead.open()

    async def stream(
        self,
        request: Request,
        ledger: Ledger = UNBOOKED,
        reply: Reply | None = None,
        rest: Rest = lambda events: 0.0,
    ) -> AsyncGenerator[list[StreamEvent]]:
        """Batches of events, each with all that had arrived; after each, nothing is read for as
        long as `rest` says. Raises AgentError.

        The caller folds them into `reply`, and ends its call in the ledger; calls that are repeated
        are ended here."""
        reply = reply or Reply()
        request = self._as_cached(request)
        attempt = 0
        while True:
            started = False
            most = await ledger.open(request, reply)
            try:
                if most < request.max_tokens:
                    request = replace(request, max_tokens=most)
                data = await self._data(request)
                async with self._explained(), aclosing(await self._post(data)) as response:
                    reply.request_id = response.headers.get("request-id", "")
                    if not is_stream(response):
                        yield await _read_whole(response)
                        return
                    decoder = EventDecoder()
                    async for chunk in response.aiter_bytes():
                        if events := await _decode(decoder, chunk):
                            started = started or any(
                                e["type"] == "content_block_start" for e in events
                            )
                            yield events
                            if seconds := rest(events):
                                await leave_unread(response, seconds)
                        if decoder.error:
                            raise decoder.error
                    if events := decoder.close():
                        yield events
                    if decoder.error:
                        raise decoder.error
                    return
            except AgentError as error:
                wait = choose_retry_wait(error, attempt)
                if started or attempt >= self._retries or wait is None:
                    raise
                await ledger.end(reply, error)
                reply.begin_again()
            await asyncio.sleep(wait)
            attempt += 1

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """Raises AgentError for whatever goes wrong within, and where nothing can be asked."""
        require_sendable(self._sdk.api_key or "", self._sdk.base_url, self._proxy)
        async with translate_errors(self._proxy):
            yield

    async def _data(self, request: Request) -> bytes:
        """The bytes to send, files and all. Encoded in a thread, where they are not yet: it would
        stop the loop."""
        if ids := list_file_ids_in(request.messages):
            files = await self._read(ids)
            body = request.body()
            return await asyncio.to_thread(lambda: encode_body(fill_in_files(body, files)))
        return request.data if request.is_encoded else await asyncio.to_thread(lambda: request.data)

    def _as_cached(self, request: Request) -> Request:
        """The request for a server that may have no prompt cache."""
        return request if self._caching or request.once else replace(request, once=True)

    async def _post(self, data: bytes) -> httpx2.Response:
        """The response as it comes in. The SDK's own method would encode the body again."""
        from anthropic import AsyncStream

        await self._ahead.wait()
        response = await self._sdk.post(
            "/v1/messages",
            cast_to=httpx2.Response,
            content=data,
            stream=True,
            stream_cls=AsyncStream[Any],
        )
        return cast(httpx2.Response, response)  # as `cast_to` says

    async def complete(self, request: Request, ledger: Ledger = UNBOOKED) -> Reply:
        """One whole reply. It streams too, so that long replies need no long timeout and a
        cancelled task ends the call."""
        request = self._as_cached(request)
        await asyncio.to_thread(self._check, request)
        reply = Reply()
        stream = self.stream(request, ledger, reply)
        async with _ended(ledger, reply), aclosing(stream):
            async for events in stream:
                for event in events:
                    reply.apply(event)
        require_end(reply)
        return reply

    async def count_tokens(self, request: Request, ledger: Ledger = UNBOOKED) -> int | None:
        """Tokens of a request by the server, or None where it cannot (a 404 is remembered)."""
        if request.model in self._uncounted:
            return None
        reply = Reply(complete=True, is_reported=True)  # there is none, and nothing to pay
        try:
            async with _ended(ledger, reply):
                await ledger.open(request, reply)
                return await self._count(request)
        except AgentError:
            return None

    async def _count(self, request: Request) -> int | None:
        body = replace(request, once=True, reply=ReplySettings()).body()
        if ids := list_file_ids_in(request.messages):
            body = fill_in_files(body, await self._read(ids))
        del body["max_tokens"]
        try:
            async with self._explained():
                counted = await self._sdk.messages.with_raw_response.count_tokens(
                    **body, timeout=COUNT_SECONDS
                )
                tokens = (await read_object(counted.http_response)).get("input_tokens")
        except AgentError as error:
            if error.code == ErrorCode.UNKNOWN_MODEL:
                self._uncounted.add(request.model)
            raise
        return tokens if isinstance(tokens, int) else None

    async def probe(self, request: Request, ledger: Ledger = UNBOOKED) -> int | None:
        """Tokens of a request as a call of 16 output tokens reports them; None where it fails."""
        short = replace(request, max_tokens=16, reply=ReplySettings())
        try:
            reply = await self.complete(short, ledger)
        except AgentError:
            return None
        return reply.usage.request_tokens or None

    async def models(self) -> list[ModelInfo]:
        """The server's models, AgentError where it has no list. OpenAI's form has only ids."""
        async with self._explained():
            listed = await self._sdk.models.with_raw_response.list(limit=100)
            return read_list(await read_object(listed.http_response))


@asynccontextmanager
async def _ended(ledger: Ledger, reply: Reply) -> AsyncIterator[None]:
    """Ends the call of a reply in the ledger, however it ends."""
    try:
        yield
    except BaseException as error:
        await ledger.end(reply, error)
        raise
    await ledger.end(reply, None)


async def _decode(decoder: EventDecoder, chunk: bytes) -> list[StreamEvent]:
    """What a chunk completes; in a thread where that is a large event."""
    if decoder.waiting < LARGE or b"\n" not in chunk:
        return decoder.feed(chunk)
    return await asyncio.to_thread(decoder.feed, chunk)


async def _read_whole(response: httpx2.Response) -> list[StreamEvent]:
    """The events of a reply that came at once. Raises AgentError for anything else."""
    body = await read_object(response)
    if "error" in body:
        raise stream_error(body)
    content = body.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise not_the_api()
    return split_into_events(body)


def require_end(reply: Reply) -> None:
    """A stream may end early without an error of its own."""
    if not reply.complete:
        raise AgentError(
            ErrorCode.STREAM_CUT,
            gettext_noop(
                "The answer was cut off: the server closed the stream before the end. Retry."
            ),
            retryable=True,
        )


def choose_retry_wait(error: AgentError, attempt: int) -> float | None:
    """Seconds until the next try of a call without output; None: ask the user instead."""
    if not error.retryable or error.code not in PASSING:
        return None
    wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
    if error.retry_after is None:
        return None if error.code == ErrorCode.RATE_LIMITED else wait
    return max(wait, error.retry_after) if error.retry_after <= LONGEST_WAIT_SECONDS else None
