"""A streamed answer as the bytes to write, encoded before the first of them is due."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from demo.api.protocol import Event, encode_event

# Where the write time goes in a text delta of a stamped answer: `time.monotonic_ns()` and a space.
STAMP = "@stamp@"


@dataclass(frozen=True)
class Chunk:
    """Bytes to write at once. `paced`: they carry one content delta and wait for their time."""

    before: bytes
    paced: bool
    after: bytes = b""
    stamped: bool = False

    def payload(self) -> bytes:
        """The bytes; a stamped chunk takes the time at this moment."""
        if not self.stamped:
            return self.before
        return b"%b%d %b" % (self.before, time.monotonic_ns(), self.after)


def encode_chunks(events: Iterable[Event], *, ping: bool, stamp: bool) -> Iterator[Chunk]:
    """One chunk per content delta, and one per run of other events between them; the opening and
    the closing events stand alone, so that a stream can break off next to them."""
    waiting: list[bytes] = []
    for event in events:
        if event["type"] == "ping" and not ping:
            continue
        if event["type"] != "content_block_delta":
            if waiting and (event["type"] == "message_delta" or event.get("index") == 0):
                yield Chunk(b"".join(waiting), paced=False)
                waiting = []
            waiting.append(encode_event(event))
            continue
        if waiting:
            yield Chunk(b"".join(waiting), paced=False)
            waiting = []
        yield _delta_chunk(event, stamp)
    if waiting:
        yield Chunk(b"".join(waiting), paced=False)


def _delta_chunk(event: Event, stamp: bool) -> Chunk:
    delta = event["delta"]
    if delta["type"] == "text_delta":
        return _text_chunk(event["index"], delta["text"], stamp)
    return Chunk(encode_event(event), paced=True)


# A benchmark sends the same few deltas many thousand times.
@lru_cache(maxsize=256)
def _text_chunk(index: int, text: str, stamp: bool) -> Chunk:
    delta = {"type": "text_delta", "text": text}
    payload = encode_event({"type": "content_block_delta", "index": index, "delta": delta})
    before, mark, after = payload.partition(STAMP.encode())
    if not (stamp and mark):
        return Chunk(payload, paced=True)
    return Chunk(before, paced=True, after=after, stamped=True)


def split_after(chunks: Iterable[Chunk], deltas: int | None) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks up to and including that many deltas, and the rest. 0 deltas keep the opening
    events, for a stream that breaks right after its message_start."""
    whole = list(chunks)
    if deltas is None:
        return [], whole
    seen = 0
    for index, chunk in enumerate(whole):
        seen += chunk.paced
        if seen >= deltas and (chunk.paced or deltas == 0):
            return whole[: index + 1], whole[index + 1 :]
    return whole, []
