"""The queue of the embedded profile: kombu's in-memory transport, woken instead of polling.

kombu looks into its queues again and again and sleeps in between: every 10 ms, so that a task does
not wait, takes 15 ms of CPU in each second of an idle server.
"""

import threading
from queue import Empty
from typing import Any

from kombu.transport import memory


class _Bell:
    """Wakes whoever waits for news; `rings` tells whether there was one since a look."""

    def __init__(self) -> None:
        self.rings = 0
        self._changed = threading.Condition()

    def ring(self) -> None:
        with self._changed:
            self.rings += 1
            self._changed.notify_all()

    def wait_after(self, rings: int, seconds: float | None) -> bool:
        """Until it has rung more often than that; False after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.rings != rings, seconds)


_bell = _Bell()  # one for all connections, as the queues are


class Channel(memory.Channel):
    """Rings for each message, and for each that is done with: a worker takes only so many at a
    time."""

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)
        _bell.ring()

    def _put_fanout(self, exchange: str, message: Any, routing_key: Any = None, **_: Any) -> None:
        super()._put_fanout(exchange, message, routing_key)
        _bell.ring()

    def basic_ack(self, delivery_tag: Any, multiple: bool = False) -> None:
        super().basic_ack(delivery_tag, multiple)
        _bell.ring()

    def basic_reject(self, delivery_tag: Any, requeue: bool = False) -> None:
        super().basic_reject(delivery_tag, requeue)
        _bell.ring()


class Transport(memory.Transport):
    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver the next message. Raises TimeoutError where none comes within so many seconds."""
        assert self.cycle is not None
        while True:
            rings = _bell.rings
            try:
                self.cycle.get(self._deliver, timeout=timeout)
            except Empty:
                if not _bell.wait_after(rings, timeout):
                    raise TimeoutError from None
            else:
                return
