"""What goes out to one socket: the one place that knows how a frame reaches it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

CAPACITY = 2_000  # frames that wait; whoever falls behind by more loses the newest


class Outbox:
    """The frames of a socket in their order. `write` is the server's quick way
    (`server.writing.WRITE`), which may decline a frame: `send`, ASGI's way, takes it then.

    A frame by `send` costs 40 µs more than by `write`, and an answer has hundreds of them.
    """

    def __init__(
        self, write: Callable[[bytes], bool], send: Callable[[str], Awaitable[None]]
    ) -> None:
        self._write = write
        self._send = send
        self._waiting: deque[bytes] = deque()
        self._holds = 0
        self._sending: asyncio.Task[None] | None = None
        self._closed = False

    def put(self, frame: bytes) -> None:
        """Send a frame after those that wait: mostly at once, and without a wait for the caller."""
        if not self._closed and len(self._waiting) < CAPACITY:
            self._waiting.append(frame)
            self._go_on()

    async def send(self, frame: bytes) -> None:
        """Send a frame ahead of those that wait."""
        if not self._write(frame):
            await self._send(frame.decode())

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let what is `put` meanwhile wait: a snapshot is being made, which may be older."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._go_on()

    def close(self) -> None:
        """Nothing that waits goes out any more, and nothing that is `put` later."""
        self._closed = True
        self._waiting.clear()
        if self._sending:
            self._sending.cancel()

    def _go_on(self) -> None:
        if self._holds or self._sending:
            return
        while self._waiting and self._write(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            self._sending = asyncio.create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        try:
            while self._waiting and not self._holds:
                await self.send(self._waiting[0])  # it stays first until it is out
                self._waiting.popleft()
        finally:
            self._sending = None
