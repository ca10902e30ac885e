"""What the HTTP face is to send: a reply or an error, its timing, and what goes wrong with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from demo.api.protocol import ScriptedReply, delta_count, text
from demo.api.tokens import Block

Content = str | Block | Sequence[Block] | ScriptedReply
FaultKind = Literal["error_event", "cut", "drop", "stall"]


@dataclass(frozen=True)
class HttpError:
    """An answer that is an HTTP error; retry_after in seconds, None sends no such header."""

    status: int
    message: str | None = None
    error_type: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True)
class AnswerFault:
    """What goes wrong, and when: after that many content deltas, None = before the first byte."""

    kind: FaultKind
    after_deltas: int | None
    error_type: str = ""
    message: str | None = None
    gate: Gate | None = None


@dataclass(frozen=True)
class Answer:
    """What the HTTP face sends: an error, or a reply with its timing (seconds) and its fault.

    stamp: text deltas carry the server's write time where the reply has `demo.api.stream.STAMP`.
    """

    reply: ScriptedReply | None = None
    error: HttpError | None = None
    fault: AnswerFault | None = None
    delay_s: float = 0.0
    interval_s: float = 0.0
    stamp: bool = False


class Gate:
    """The handle of a stalled answer: `reached` is set when the server waits at it."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._lock = threading.Lock()
        self._open = False
        self._wakers: list[Callable[[], object]] = []

    def release(self) -> None:
        """Let the answer, and every later one at this gate, go on."""
        with self._lock:
            self._open = True
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    async def wait_reached(self, timeout_s: float = 10.0) -> None:
        """Wait without blocking the loop until the server stands at the gate; TimeoutError."""
        if not await asyncio.to_thread(self.reached.wait, timeout_s):
            raise TimeoutError("no request reached the stalled answer")

    async def wait_released(self) -> None:
        """Wait until the gate is released (called by the server)."""
        loop = asyncio.get_running_loop()
        opened = asyncio.Event()
        with self._lock:
            if self._open:
                return
            self._wakers.append(lambda: loop.call_soon_threadsafe(opened.set))
        self.reached.set()
        await opened.wait()


def as_reply(content: Content) -> ScriptedReply:
    """A text, a block or a list of blocks as a Reply."""
    if isinstance(content, ScriptedReply):
        return content
    if isinstance(content, str):
        return ScriptedReply((text(content),) if content else ())
    if isinstance(content, dict):
        return ScriptedReply((content,))
    return ScriptedReply(tuple(content))


def break_off(
    kind: FaultKind,
    content: Content | None,
    deltas: int | None,
    error_type: str = "",
    message: str | None = None,
) -> Answer:
    """An answer that breaks off after so many deltas of the content, by default after all."""
    reply = as_reply("" if content is None else content)
    after = None if content is None else delta_count(reply) if deltas is None else deltas
    return Answer(reply, fault=AnswerFault(kind, after, error_type, message))
