"""Server-sent events, from the bytes of a stream."""

from agent.errors import DAMAGED, TOO_MUCH, AgentError, ErrorCode
from agent.model.api_errors import stream_error
from agent.model.event_rules import read_optional_text
from agent.model.parsing import parse
from agent.model.reply import StreamEvent

# A page or a document that a server's own tool fetched comes as one event, and goes back to the
# server with the next request, which may have 32 MB.
LARGEST_EVENT = 40_000_000  # bytes


class EventDecoder:
    """Bytes of a server-sent event stream to event objects; pings are dropped.

    `error` is what broke the stream off. It is not raised here, because text that arrived in one
    piece with it counts. What follows it, or `message_stop`, is ignored: vLLM sends a `[DONE]`.
    """

    def __init__(self) -> None:
        self.error: AgentError | None = None
        self._line = bytearray()  # one that is not complete
        self._data: list[bytes] = []
        self._size = 0  # of `_data`
        self._ended = False

    @property
    def waiting(self) -> int:
        """The bytes that are here of an event that is not complete."""
        return self._size + len(self._line)

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """The events that `chunk` completes. A line is copied when it is complete, not with each
        piece of it."""
        if self._ended:
            return []
        *lines, last = chunk.split(b"\n")
        events: list[StreamEvent] = []
        for at, line in enumerate(lines):
            if event := self._end_line(line if at else bytes(self._line + line)):
                events.append(event)
        if lines:
            self._line = bytearray(last)
        else:
            self._line += last
        if self.waiting > LARGEST_EVENT:
            self._fail(TOO_MUCH)
        return events

    def close(self) -> list[StreamEvent]:
        """The events that the end of the stream completes: the last one may lack its blank line.
        A damaged one was cut off, and gives nothing."""
        error = self.error
        events = self.feed(b"\n\n")
        if self.error and self.error.code == ErrorCode.STREAM_CUT:
            self.error = error
        return events

    def _end_line(self, line: bytes) -> StreamEvent | None:
        """The event that a line completes, if it does."""
        if line.startswith(b"data:"):
            self._data.append(line[5:])
            self._size += len(line) + 1
            if self._size > LARGEST_EVENT:
                self._fail(TOO_MUCH)
        elif self._data and not line.strip():
            data, self._data, self._size = b"\n".join(self._data), [], 0
            return self._decode(data)
        return None

    def _decode(self, data: bytes) -> StreamEvent | None:
        if self._ended:
            return None
        try:
            event = parse(data)
            kind = read_optional_text(event, "type") if isinstance(event, dict) else ""
        except (ValueError, RecursionError):
            self._fail(DAMAGED)
            return None
        if not kind and isinstance(event, dict) and "error" in event:
            kind = "error"  # of OpenAI's form, as LiteLLM ends a stream
        self._ended = kind in ("message_stop", "error")
        if kind == "error":
            self.error = stream_error(event)
        return event if kind and kind not in ("ping", "error") else None

    def _fail(self, words: str) -> None:
        self._ended = True
        self._line, self._data, self._size = bytearray(), [], 0
        self.error = self.error or AgentError(ErrorCode.STREAM_CUT, words, retryable=True)
