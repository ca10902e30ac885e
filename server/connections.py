"""Which connections are open, which of them wait for a request, and who has a place."""

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Protocol

import structlog

log = structlog.get_logger(__name__)

WARN_EVERY = 60.0  # s


class OpenConnection(Protocol):
    """A connection: `server.http.Channel`, as far as it matters here."""

    transport: Any

    @property
    def address(self) -> str: ...

    def cut_off(self) -> None: ...


class Connections:
    """The open connections of this process: HTTP and websockets.

    Where there is no room, the one that has waited longest for a request, or for the rest of
    its header, is closed: every request is served, however many connections are idle.
    """

    def __init__(self, most: int, per_address: int) -> None:
        """`per_address`: 0 is no limit."""
        self._most = most
        self._per_address = per_address
        self._open: dict[Any, str] = {}  # transport → address
        self._addresses: Counter[str] = Counter()
        self._waiting: dict[OpenConnection, None] = {}  # in the order in which they began to wait
        self._refused = 0  # since the log said so
        self._warned: float | None = None  # when it did

    def admit(self, channel: OpenConnection) -> bool:
        """Count a new connection; False where there is no room for it."""
        address = channel.address
        if self._counts(address) and self._addresses[address] >= self._per_address:
            return False
        if len(self._open) >= self._most:
            if not self._waiting:
                return False
            oldest = next(iter(self._waiting))
            self.leave(oldest)
            oldest.cut_off()
        self._open[channel.transport] = address
        self._addresses[address] += 1
        return True

    def leave(self, channel: Any) -> None:
        """A connection is over: a channel's, or a websocket's that took its transport."""
        self._waiting.pop(channel, None)
        address = self._open.pop(channel.transport, None)
        if address is None:
            return
        self._addresses[address] -= 1
        if not self._addresses[address]:
            del self._addresses[address]

    def mark_waiting(self, channel: OpenConnection) -> None:
        self._waiting[channel] = None

    def mark_working(self, channel: OpenConnection) -> None:
        self._waiting.pop(channel, None)

    def log_refusal(self, address: str) -> None:
        """Once a minute: refused connections must not flood the log too."""
        self._refused += 1
        now = time.monotonic()
        if self._warned is None or now - self._warned >= WARN_EVERY:
            log.warning("connections refused", count=self._refused, latest=address)
            self._warned, self._refused = now, 0

    def _counts(self, address: str) -> bool:
        """Whether an address is one person's: not a proxy's, nor the machine's own."""
        return bool(self._per_address) and address not in ("127.0.0.1", "::1")


class Places:
    """So many requests at a time; the others wait in the order in which they came."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken: set[Any] = set()
        self._queue: deque[tuple[Any, Callable[[], object]]] = deque()

    def take(self, request: Any, start: Callable[[], object]) -> None:
        """Call `start` when there is a place, now or later; `leave` frees it."""
        if len(self._taken) < self._places:
            self._taken.add(request)
            start()
        else:
            self._queue.append((request, start))

    def leave(self, request: Any) -> None:
        """The request is done, or its client has gone while it waited."""
        if request in self._taken:
            self._taken.remove(request)
            if self._queue:
                self.take(*self._queue.popleft())
        else:
            self._queue = deque(each for each in self._queue if each[0] is not request)
