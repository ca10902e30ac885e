"""JSON of a server, which may be large or built to be costly."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx2
import orjson

from agent.errors import AgentError, ErrorCode, gettext_noop

# What is larger is parsed in a thread. 256 kB take a millisecond.
LARGE = 256_000
# Of one answer: a value may take a hundred times the three bytes that it is written with, and to
# make millions of lists takes seconds in which no other thread runs. The largest answers are
# documents, which are one text each; pages of code and tables stay below this too.
MOST_CONTAINERS = 200_000
MOST_COMMAS = 2_000_000

# An answer is one of these where it did not stream: some servers send a whole reply, and a proxy in
# front of them a page.
WHOLE = ("application/json", "text/html")


def parse(data: bytes | bytearray) -> Any:
    """JSON as it is. Raises ValueError and RecursionError."""
    if len(data) > LARGE and _is_costly(data):
        raise ValueError("too many values")
    if b'"content_block_delta"' in data:  # hundreds in an answer, with no number but an index
        with suppress(orjson.JSONDecodeError):  # half of a surrogate pair is none
            return orjson.loads(data)
    return json.loads(data, parse_constant=_refuse)  # huge numbers stay whole


def _is_costly(data: bytes | bytearray) -> bool:
    containers = data.count(b"[") + data.count(b"{")
    return containers > MOST_CONTAINERS or data.count(b",") > MOST_COMMAS


def _refuse(constant: str) -> None:
    """NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(constant)


def is_stream(response: httpx2.Response) -> bool:
    """Whether a server streams as it was asked to."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind not in WHOLE


async def read_object(response: httpx2.Response) -> dict[str, Any]:
    """The JSON object of a plain answer: the SDK's own parser takes anything, and trips over it.
    Raises AgentError."""
    data = bytearray()  # not `aread`: the memory of its many pieces would not be given back
    async for piece in response.aiter_bytes():
        data += piece
    try:
        value = await asyncio.to_thread(parse, data) if len(data) > LARGE else parse(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise not_the_api()
    return value


def not_the_api() -> AgentError:
    return AgentError(
        ErrorCode.SERVER_ERROR,
        gettext_noop(
            "The model's server sent an answer that is not in the form of the Messages API. An "
            "administrator has to check its address: ANTHROPIC_BASE_URL, or the provider's."
        ),
    )
