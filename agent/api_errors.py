"""Errors of the SDK, its transport and the stream as `AgentError`, with words for the page."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import anthropic
import httpx2

from agent.errors import AgentError, gettext_noop
from agent.reply import Event

# How servers say that a prompt does not fit: Anthropic in two ways, llama.cpp, vLLM and LiteLLM.
TOO_LONG = re.compile(
    r"prompt is too long|exceed context limit|available context size|maximum context length", re.I
)


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """Turn what the SDK and the transport raise into AgentError."""
    try:
        yield
    except anthropic.APIStatusError as error:
        raise status_error(error) from error
    except (anthropic.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
        raise AgentError(
            "timeout",
            gettext_noop("The model's server did not answer in time. Retry."),
            retryable=True,
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
                gettext_noop(
                    "The model's server cannot be reached. Check the network and "
                    "ANTHROPIC_BASE_URL, then retry."
                ),
                retryable=True,
            )
        cause = cause.__cause__
    return AgentError(
        "connection_lost",
        gettext_noop("The connection to the model's server was lost. Retry."),
        retryable=True,
    )


# By status; some bodies have no error type.
REFUSALS = {
    401: (
        "bad_key",
        gettext_noop(
            "The API key was not accepted. An administrator has to set a valid "
            "ANTHROPIC_API_KEY and restart the server."
        ),
    ),
    402: ("no_credit", gettext_noop("The API account has no credit left.")),
    403: ("not_allowed", gettext_noop("The API key may not do this.")),
    404: ("unknown_model", gettext_noop("The server does not know this model or address.")),
    413: (
        "request_too_large",
        gettext_noop("The request is over the server's size limit. Send less at once."),
    ),
}
TOO_LONG_WORDS = gettext_noop("The conversation does not fit the model.")
REFUSED = gettext_noop("The server refused the request.")
RATE_LIMITED = gettext_noop("The API's rate limit is reached. Try again later.")
OVERLOADED = gettext_noop("The model is overloaded. Retry in a moment.")
FAILED = gettext_noop("The model's server failed. Retry.")
FAILED_MIDWAY = gettext_noop("The model's server failed while answering. Retry.")


def status_error(error: anthropic.APIStatusError) -> AgentError:
    """The words for an HTTP error."""
    status = error.status_code
    said = str(error.api_message or "").strip()[:300]
    wait = retry_after(error.response.headers)
    if status == 400 and TOO_LONG.search(said):
        return AgentError("too_long", TOO_LONG_WORDS, said=said)
    if status == 400 and "thinking" in said.lower():
        return AgentError("thinking_refused", REFUSED, said=said)
    if status == 401:
        said = ""  # a proxy may repeat the key
    if "credit balance" in said:
        status = 402
    if status in REFUSALS:
        return AgentError(*REFUSALS[status], said=said)
    if status == 429:
        return AgentError("rate_limited", RATE_LIMITED, retryable=True, retry_after=wait)
    if status == 529:
        return AgentError("overloaded", OVERLOADED, retryable=True, retry_after=wait)
    if status >= 500 or status == 408:
        told = f"{status} {said}".rstrip()
        return AgentError("server_error", FAILED, said=told, retryable=True, retry_after=wait)
    return AgentError("bad_request", REFUSED, said=said)


def stream_error(event: Event) -> AgentError:
    """The words for an error event inside a stream that began with 200."""
    told = event.get("error")
    error = told if isinstance(told, dict) else {"message": told or ""}
    kind, said = error.get("type", ""), str(error.get("message", ""))[:300]
    if kind == "overloaded_error":
        return AgentError("overloaded", OVERLOADED, retryable=True)
    if kind == "rate_limit_error":
        return AgentError("rate_limited", RATE_LIMITED, retryable=True)
    if kind == "invalid_request_error":
        code = "too_long" if TOO_LONG.search(said) else "bad_request"
        return AgentError(code, REFUSED, said=said)
    return AgentError("server_error", FAILED_MIDWAY, said=said, retryable=True)


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds of a `retry-after` header; None without one or with a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
