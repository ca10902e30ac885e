"""The Messages API through the `anthropic` SDK. The only module that imports it.

Streams are read as bytes over the aiohttp transport and decoded here: a third of the CPU that
the SDK's own event objects take, and whatever has arrived is handed over in one batch.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import anthropic
import httpx2
from anthropic import AsyncAnthropic, DefaultAioHttpClient

from agent.context import Request
from agent.errors import AgentError
from agent.reply import Event, Reply

CONNECT_SECONDS = 10.0
# A count only replaces an estimate: not worth a long wait.
COUNT_SECONDS = 10.0
# Waits before the second and third try of a call that has produced nothing yet.
RETRY_SECONDS = (0.5, 2.0)
# What a server asks for beyond this, the user decides about.
LONGEST_WAIT_SECONDS = 2.0
# How servers say that a prompt does not fit: Anthropic in two ways, llama.cpp, vLLM and LiteLLM.
TOO_LONG = re.compile(
    r"prompt is too long|exceed context limit|available context size|maximum context length", re.I
)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a server says of a model; None where it does not say."""

    name: str
    display_name: str
    context_window: int | None
    max_output: int | None


class EventDecoder:
    """Bytes of a server-sent event stream to event objects; pings are dropped.

    `error` is what broke the stream off. It is not raised here, because text that arrived in one
    piece with it counts. What follows it, or `message_stop`, is ignored: vLLM sends a `[DONE]`.
    """

    def __init__(self) -> None:
        self.error: AgentError | None = None
        self._rest = b""
        self._data: list[bytes] = []
        self._ended = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        events: list[Event] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:])
            elif self._data and not line.strip():
                data, self._data = b"\n".join(self._data), []
                if event := self._decode(data):
                    events.append(event)
        return events

    def close(self) -> list[Event]:
        """The events that the end of the stream completes: the last one may lack its blank line.
        A damaged one was cut off, and gives nothing."""
        error = self.error
        events = self.feed(b"\n\n")
        if self.error and self.error.code == "stream_cut":
            self.error = error
        return events

    def _decode(self, data: bytes) -> Event | None:
        if self._ended:
            return None
        try:
            event = json.loads(data)
        except ValueError:
            self._ended = True
            self.error = AgentError(
                "stream_cut", "The server sent a damaged stream. Retry.", retryable=True
            )
            return None
        kind = event.get("type") if isinstance(event, dict) else None
        self._ended = kind in ("message_stop", "error")
        if kind == "error":
            self.error = stream_error(event)
        return event if kind and kind not in ("ping", "error") else None


class Client:
    """Model calls of one event loop; close it in that loop.

    `retries` is how often a call is repeated that failed with a passing error before its first
    byte of text: 0 to 2.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        timeout: float = 120.0,
        caching: bool = True,
        retries: int = 2,
    ) -> None:
        self._sdk = AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,  # the SDK obeys any retry-after in silence
            timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS),
            http_client=DefaultAioHttpClient(),
        )
        self._caching = caching
        self._retries = retries
        self._uncounted: set[str] = set()

    async def close(self) -> None:
        await self._sdk.close()

    async def stream(
        self, request: Request, on_retry: Callable[[AgentError], None] = lambda error: None
    ) -> AsyncGenerator[list[Event]]:
        """Batches of events, each with all that had arrived. Raises AgentError."""
        attempt = 0
        while True:
            started = False
            try:
                body = request.body(caching=self._caching)
                create = self._sdk.messages.with_streaming_response.create
                async with translated(), create(**body, stream=True) as response:
                    decoder = EventDecoder()
                    async for chunk in response.iter_bytes():
                        if events := decoder.feed(chunk):
                            started = started or any(
                                e["type"] == "content_block_start" for e in events
                            )
                            yield events
                        if decoder.error:
                            raise decoder.error
                    if events := decoder.close():
                        yield events
                    if decoder.error:
                        raise decoder.error
                    return
            except AgentError as error:
                wait = retry_wait(error, attempt)
                if started or attempt >= self._retries or wait is None:
                    raise
                on_retry(error)
            await asyncio.sleep(wait)
            attempt += 1

    async def complete(self, request: Request) -> Reply:
        """One whole reply. It streams too, so that long replies need no long timeout and a
        cancelled task ends the call."""
        reply = Reply()

        def restart(error: AgentError) -> None:
            nonlocal reply
            reply = Reply()

        async with aclosing(self.stream(request, restart)) as stream:
            async for events in stream:
                for event in events:
                    reply.apply(event)
        require_end(reply)
        return reply

    async def count_tokens(self, request: Request) -> int | None:
        """Prompt tokens by the server, or None where it cannot (a 404 is remembered)."""
        if request.model in self._uncounted:
            return None
        body = request.body(caching=False)
        del body["max_tokens"]
        try:
            async with translated():
                counted = _object(
                    await self._sdk.messages.with_raw_response.count_tokens(
                        **body, timeout=COUNT_SECONDS
                    )
                )
        except AgentError as error:
            if error.code == "unknown_model":
                self._uncounted.add(request.model)
            return None
        tokens = counted.get("input_tokens")
        return tokens if isinstance(tokens, int) else None

    async def models(self) -> list[ModelInfo]:
        """The server's models, AgentError where it has no list. OpenAI's form has only ids."""
        async with translated():
            page = _object(await self._sdk.models.with_raw_response.list(limit=100))
        return [
            ModelInfo(
                name=model["id"],
                display_name=model.get("display_name") or model["id"],
                context_window=model.get("max_input_tokens"),
                max_output=model.get("max_tokens"),
            )
            for model in page.get("data") or []  # null where Ollama has none yet
        ]


def _object(response: Any) -> dict[str, Any]:
    """The JSON object of a plain answer: the SDK's own parser takes anything, and trips over it."""
    try:
        value = response.http_response.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise AgentError(
            "server_error",
            "The model's server sent an answer that is not of the Messages API. Check "
            "ANTHROPIC_BASE_URL.",
        )
    return value


def require_end(reply: Reply) -> None:
    """A stream may end early without an error of its own."""
    if not reply.complete:
        raise AgentError(
            "stream_cut",
            "The answer was cut off: the server closed the stream before the end. Retry.",
            retryable=True,
        )


def retry_wait(error: AgentError, attempt: int) -> float | None:
    """Seconds until the next try of a call without output; None: ask the user instead."""
    passing = ("overloaded", "server_error", "connection_lost", "rate_limited")
    if not error.retryable or error.code not in passing:
        return None
    wait = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
    if error.retry_after is None:
        return None if error.code == "rate_limited" else wait
    return max(wait, error.retry_after) if error.retry_after <= LONGEST_WAIT_SECONDS else None


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Turn what the SDK and the transport raise into AgentError."""
    try:
        yield
    except anthropic.APIStatusError as error:
        raise status_error(error) from error
    except (anthropic.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
        raise AgentError(
            "timeout", "The model's server did not answer in time. Retry.", retryable=True
        ) from error
    except (anthropic.APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
        raise connection_error(error) from error


def connection_error(error: Exception) -> AgentError:
    """The words for a connection that never came about, or was lost.

    The transport calls both ConnectError; its cause tells them apart.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (aiohttp.ClientConnectorError, httpx2.UnsupportedProtocol)):
            return AgentError(
                "server_unreachable",
                "The model's server cannot be reached. Check the network and ANTHROPIC_BASE_URL, "
                "then retry.",
                retryable=True,
            )
        cause = cause.__cause__
    return AgentError(
        "connection_lost",
        "The connection to the model's server was lost. Retry.",
        retryable=True,
    )


def status_error(error: anthropic.APIStatusError) -> AgentError:
    """The words for an HTTP error. The status decides; some bodies have no error type."""
    status = error.status_code
    said = str(error.api_message or "").strip()
    quoted = f" The server said: “{said[:300]}”" if said else ""
    if status == 400 and TOO_LONG.search(said):
        return AgentError("too_long", f"The conversation does not fit the model.{quoted}")
    if status == 413:
        return AgentError(
            "request_too_large", "The request is over the server's size limit. Send less at once."
        )
    if status == 401:
        return AgentError(
            "bad_key", "The API key was not accepted. An administrator has to set a valid one."
        )
    if status == 402 or "credit balance" in said:
        return AgentError("no_credit", f"The API account has no credit left.{quoted}")
    if status == 403:
        return AgentError("not_allowed", f"The API key may not do this.{quoted}")
    if status == 404:
        return AgentError(
            "unknown_model", f"The server does not know this model or address.{quoted}"
        )
    if status == 429:
        wait = retry_after(error.response.headers)
        when = f" Try again in {wait:.0f} s." if wait else " Try again later."
        return AgentError(
            "rate_limited",
            f"The API's rate limit is reached.{when}",
            retryable=True,
            retry_after=wait,
        )
    if status == 529:
        return AgentError(
            "overloaded",
            "The model is overloaded. Retry in a moment.",
            retryable=True,
            retry_after=retry_after(error.response.headers),
        )
    if status >= 500 or status == 408:
        return AgentError(
            "server_error",
            f"The model's server failed ({status}). Retry.",
            retryable=True,
            retry_after=retry_after(error.response.headers),
        )
    return AgentError("bad_request", f"The server refused the request.{quoted}")


def stream_error(event: Event) -> AgentError:
    """The words for an error event inside a stream that began with 200."""
    told = event.get("error")
    error = told if isinstance(told, dict) else {"message": told or ""}
    kind, said = error.get("type", ""), str(error.get("message", ""))[:300]
    if kind == "overloaded_error":
        return AgentError(
            "overloaded", "The model is overloaded. Retry in a moment.", retryable=True
        )
    if kind == "rate_limit_error":
        return AgentError("rate_limited", "The API's rate limit is reached. Retry.", retryable=True)
    if kind == "invalid_request_error":
        code = "too_long" if TOO_LONG.search(said) else "bad_request"
        return AgentError(code, f"The server refused the request. It said: “{said}”")
    return AgentError(
        "server_error", f"The model's server failed while answering. {said} Retry.", retryable=True
    )


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds of a `retry-after` header; None without one or with a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
