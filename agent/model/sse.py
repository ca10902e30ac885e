"""Server-sent events, from the bytes of a stream."""

import json
from contextlib import suppress
from typing import Any

import orjson

from agent.errors import DAMAGED, AgentError, ErrorCode
from agent.model.api_errors import stream_error
from agent.model.event_rules import read_optional_text
from agent.model.reply import Event


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
        if self.error and self.error.code == ErrorCode.STREAM_CUT:
            self.error = error
        return events

    def _decode(self, data: bytes) -> Event | None:
        if self._ended:
            return None
        try:
            event = _parse(data)
            kind = read_optional_text(event, "type") if isinstance(event, dict) else ""
        except (ValueError, RecursionError):
            self._ended = True
            self.error = AgentError(ErrorCode.STREAM_CUT, DAMAGED, retryable=True)
            return None
        if not kind and isinstance(event, dict) and "error" in event:
            kind = "error"  # of OpenAI's form, as LiteLLM ends a stream
        self._ended = kind in ("message_stop", "error")
        if kind == "error":
            self.error = stream_error(event)
        return event if kind and kind not in ("ping", "error") else None


def _parse(data: bytes) -> Any:
    """JSON as it is. Raises ValueError and RecursionError."""
    if b'"content_block_delta"' in data:  # hundreds in an answer, with no number but an index
        with suppress(orjson.JSONDecodeError):  # half of a surrogate pair is none
            return orjson.loads(data)
    return json.loads(data, parse_constant=_refuse)  # huge numbers stay whole


def _refuse(constant: str) -> None:
    """NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(constant)
