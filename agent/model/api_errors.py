"""Errors of the SDK, its transport and the stream as `AgentError`, with words for the page."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2

from agent.errors import DAMAGED, TOO_MUCH, AgentError, ErrorCode, gettext_noop
from agent.model.overflow import MOST_READ, is_too_long, read_share_taken
from agent.model.reply import StreamEvent
from agent.wire.bounded import Packed, TooMuch
from agent.wire.masking import mask
from agent.wire.proxies import Proxy

if TYPE_CHECKING:
    import anthropic

SHOWN = 300  # characters of what a server said
# So many are masked first: a key that is cut in two would not be known.
MASKED = 20_000
# What the API says about thinking that was sent back: it belongs to another request, was changed,
# or is missing before a call. Errors about its settings name "thinking" too.
THINKING_REFUSED = re.compile(
    r"invalid `?signature`? in `?thinking`? block|bound to a different conversation"
    r"|blocks in the latest assistant message cannot be modified"
    r"|expected `thinking` or `redacted_thinking`",
    re.I,
)
# Statuses that servers answer a too long request with: the API with 400, servers behind it or
# in front of it with these.
TOO_LONG_STATUSES = (400, 413, 422, 500)


@asynccontextmanager
async def translate_errors(proxy: Proxy | None = None) -> AsyncIterator[None]:
    """Turn what the SDK and the transport raise into AgentError. `proxy`: what the server is asked
    through."""
    import anthropic  # see agent.model.client

    try:
        yield
    except anthropic.APIStatusError as error:
        raise status_error(error, proxy) from error
    except (anthropic.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
        raise AgentError(
            ErrorCode.TIMEOUT,
            _name_proxy(gettext_noop("The model's server did not answer in time. Retry."), proxy),
            retryable=True,
        ) from error
    except (anthropic.APIConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
        raise connection_error(error, proxy) from error


def connection_error(error: Exception, proxy: Proxy | None = None) -> AgentError:
    """The error for a connection that was never made, was lost, or brought too much.

    The transport calls the first two ConnectError; its cause tells them apart.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TooMuch):
            return AgentError(ErrorCode.STREAM_CUT, TOO_MUCH, retryable=True)
        if isinstance(cause, Packed):
            return AgentError(ErrorCode.SERVER_ERROR, PACKED, said=str(cause))
        if isinstance(cause, httpx2.DecodingError):
            return AgentError(ErrorCode.STREAM_CUT, DAMAGED, retryable=True)
        if proxy and isinstance(
            cause, (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)
        ):
            status = cause.status if isinstance(cause, aiohttp.ClientHttpProxyError) else None
            return _proxy_error(proxy, status)
        if isinstance(cause, (aiohttp.ClientConnectorError, httpx2.UnsupportedProtocol)):
            return AgentError(
                ErrorCode.SERVER_UNREACHABLE, _name_proxy(UNREACHABLE, proxy), retryable=True
            )
        cause = cause.__cause__
    return AgentError(ErrorCode.CONNECTION_LOST, _name_proxy(LOST, proxy), retryable=True)


def _proxy_error(proxy: Proxy, status: int | None) -> AgentError:
    """The error of a proxy itself: it is not there, or answered with a status of its own."""
    if status in (403, 407):
        return AgentError(ErrorCode.NOT_ALLOWED, _name_proxy(PROXY_REFUSES, proxy))
    return AgentError(ErrorCode.SERVER_UNREACHABLE, _name_proxy(PROXY_FAILS, proxy), retryable=True)


def _name_proxy(words: str, proxy: Proxy | None) -> str:
    """Words with the variable of the proxy that a server was asked through. There is no translation
    of these: they are for whoever has set it."""
    if proxy is None:
        return words
    return f"{words} The server is asked through the proxy that {proxy.variable} names."


# By status; some bodies have no error type.
REFUSALS = {
    401: (
        ErrorCode.BAD_KEY,
        gettext_noop(
            "The API key was not accepted. An administrator has to set a valid ANTHROPIC_API_KEY "
            "and restart the server, or to enter a valid key of the provider."
        ),
    ),
    402: (ErrorCode.NO_CREDIT, gettext_noop("The API account has no credit left.")),
    403: (ErrorCode.NOT_ALLOWED, gettext_noop("The API key is not allowed to do this.")),
    404: (ErrorCode.UNKNOWN_MODEL, gettext_noop("The server does not know this model or address.")),
    413: (
        ErrorCode.REQUEST_TOO_LARGE,
        gettext_noop("The request is over the server's size limit. Send less at once."),
    ),
}
TOO_LONG_WORDS = gettext_noop("The conversation does not fit the model.")
REFUSED = gettext_noop("The server refused the request.")
RATE_LIMITED = gettext_noop("The API's rate limit is reached. Try again later.")
OVERLOADED = gettext_noop("The model is overloaded. Retry in a moment.")
FAILED = gettext_noop("The model's server failed. Retry.")
FAILED_MIDWAY = gettext_noop("The model's server failed while answering. Retry.")
UNREACHABLE = gettext_noop(
    "The model's server cannot be reached. Check the network and its address (ANTHROPIC_BASE_URL, "
    "or the provider's), then retry."
)
LOST = gettext_noop("The connection to the model's server was lost. Retry.")
MOVED = gettext_noop(
    "The model's server sends requests on to another address, where a key must not go by itself. "
    "An administrator has to correct its address: ANTHROPIC_BASE_URL, or the provider's."
)
PACKED = gettext_noop(
    "The model's server compresses its answers in a way that Everlong did not ask for. An "
    "administrator has to switch that off, in the server or in what stands before it."
)
PROXY_FAILS = gettext_noop(
    "The proxy before the model's server does not work. An administrator has to correct its "
    "address, or to name the server in NO_PROXY, and to restart Everlong."
)
PROXY_REFUSES = gettext_noop(
    "The proxy before the model's server does not let the request through. An administrator has to "
    "allow it there, or to name the server in NO_PROXY and restart Everlong."
)


def status_error(error: "anthropic.APIStatusError", proxy: Proxy | None = None) -> AgentError:
    """The error for an HTTP status."""
    status = error.status_code
    told = _told(error.body)
    said = _read_said(told)
    wait = read_retry_after(error.response.headers)
    if proxy and status == 407:
        return _proxy_error(proxy, status)
    if 300 <= status < 400:
        return AgentError(ErrorCode.SERVER_ERROR, MOVED, said=_read_target(error.response))
    if status in TOO_LONG_STATUSES and (too_long := _too_long(told)):
        return too_long
    if status == 400 and THINKING_REFUSED.search(said):
        return AgentError(ErrorCode.THINKING_REFUSED, REFUSED, said=said)
    if status == 401:
        said = ""  # it is about the key and says no more
    if "credit balance" in said:
        status = 402
    if told:
        proxy = None  # an error in the form of the API: the proxy does not speak so
    if status in REFUSALS:
        code, words = REFUSALS[status]
        return AgentError(code, _name_proxy(words, proxy), said=said)
    if status == 429:
        return AgentError(ErrorCode.RATE_LIMITED, RATE_LIMITED, retryable=True, retry_after=wait)
    if status == 529:
        return AgentError(ErrorCode.OVERLOADED, OVERLOADED, retryable=True, retry_after=wait)
    if status >= 500 or status == 408:
        shown, words = f"{status} {said}".rstrip(), _name_proxy(FAILED, proxy)
        return AgentError(
            ErrorCode.SERVER_ERROR, words, said=shown, retryable=True, retry_after=wait
        )
    return AgentError(ErrorCode.BAD_REQUEST, REFUSED, said=said)


def stream_error(event: StreamEvent) -> AgentError:
    """The error for an error event inside a stream that began with 200."""
    told = _told(event)
    kind, said = told.get("type", ""), _read_said(told)
    if kind == "overloaded_error":
        return AgentError(ErrorCode.OVERLOADED, OVERLOADED, retryable=True)
    if kind == "rate_limit_error":
        return AgentError(ErrorCode.RATE_LIMITED, RATE_LIMITED, retryable=True)
    if too_long := _too_long(told):
        return too_long
    if kind == "invalid_request_error":
        return AgentError(ErrorCode.BAD_REQUEST, REFUSED, said=said)
    return AgentError(ErrorCode.SERVER_ERROR, FAILED_MIDWAY, said=said, retryable=True)


def _read_said(told: dict[str, Any]) -> str:
    """The beginning of an error's message, without secrets."""
    return mask(str(told.get("message") or "")[:MASKED]).strip()[:SHOWN]


def _read_target(response: httpx2.Response) -> str:
    """The address that a redirect names, as one would enter it."""
    try:
        target = response.request.url.join(response.headers.get("location", ""))
    except httpx2.InvalidURL:
        return ""
    path = re.sub(r"/v1/(messages(/count_tokens)?|models)/?$", "", target.path)
    return mask(f"{target.scheme}://{target.netloc.decode()}{path}"[:MASKED])[:SHOWN]


def _told(body: object) -> dict[str, Any]:
    """The error object of a body; of other servers' forms, one with the message."""
    if not isinstance(body, dict):
        return {}
    for told in (body.get("error"), body.get("detail")):
        if isinstance(told, dict):
            return told
        if isinstance(told, str):
            return {"message": told}
    return body


def _too_long(told: dict[str, Any]) -> AgentError | None:
    """The error for a request that is too long, if an error object says so."""
    # Only these fields: servers that find fault with a request may repeat all of it.
    fields = ("type", "code", "n_prompt_tokens", "n_ctx", "message")
    said = " ".join(f"{name} {str(told[name])[:MOST_READ]}" for name in fields if name in told)
    if not is_too_long(said):
        return None
    return AgentError(
        ErrorCode.TOO_LONG,
        TOO_LONG_WORDS,
        said=_read_said(told),
        share_taken=read_share_taken(said),
    )


def read_retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds of a `retry-after` header; None without one or with a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
