"""The channel layer of the embedded profile: one process, any thread.

Channels' own in-memory layer copies every message once per socket, walks all groups on every
send, and loses or delays what other threads send. Messages here are immutable, so one object
serves all sockets.
"""

import asyncio
import uuid
from collections import defaultdict
from typing import Any

from channels.layers import BaseChannelLayer

Message = dict[str, Any]


class LocalChannelLayer(BaseChannelLayer):
    """Groups of queues, used from the loop that receives; `group_send` works from any loop or
    thread. A reader that falls `capacity` messages behind loses the newest and has to resync."""

    extensions = ["groups"]

    def __init__(self, capacity: int = 2000, **options: Any) -> None:
        super().__init__(capacity=capacity, **options)
        self._queues: dict[str, asyncio.Queue[Message]] = {}
        self._groups: dict[str, set[str]] = defaultdict(set)
        self._joined: dict[str, set[str]] = defaultdict(set)  # the groups of each channel
        self._loop: asyncio.AbstractEventLoop | None = None

    async def new_channel(self, prefix: str = "specific") -> str:
        self._loop = asyncio.get_running_loop()
        name = f"{prefix}.local!{uuid.uuid4().hex}"
        self._queues[name] = asyncio.Queue(self.capacity)
        return name

    async def receive(self, channel: str) -> Message:
        """The next message. A channel that is in no group is there for one answer, and then
        forgotten."""
        queue = self._queues.get(channel)
        if queue is None:
            queue = self._queues[channel] = asyncio.Queue(self.capacity)
        try:
            return await queue.get()
        finally:
            if channel not in self._joined:
                self._queues.pop(channel, None)

    async def send(self, channel: str, message: Message) -> None:
        self._forward(self._put, channel, message)

    async def group_add(self, group: str, channel: str) -> None:
        self._groups[group].add(channel)
        self._joined[channel].add(group)

    async def group_discard(self, group: str, channel: str) -> None:
        """Leave a group; a channel without groups is forgotten."""
        _discard(self._groups, group, channel)
        _discard(self._joined, channel, group)
        if channel not in self._joined:
            self._queues.pop(channel, None)

    async def group_send(self, group: str, message: Message) -> None:
        self.deliver(group, message)

    def deliver(self, group: str, message: Message) -> None:
        """`group_send` for threads without a loop: `async_to_sync` would start a loop, and a thread
        for it, per message."""
        self._forward(self._put_all, group, message)

    def _forward(self, put: Any, name: str, message: Message) -> None:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if self._loop is None or self._loop is here or self._loop.is_closed():
            put(name, message)
        else:
            self._loop.call_soon_threadsafe(put, name, message)

    def _put_all(self, group: str, message: Message) -> None:
        for channel in self._groups.get(group, ()):
            self._put(channel, message)

    def _put(self, channel: str, message: Message) -> None:
        queue = self._queues.get(channel)
        if queue is not None and not queue.full():
            queue.put_nowait(message)


def _discard(sets: dict[str, set[str]], key: str, value: str) -> None:
    """Take a value out of a set, and an empty set out of the dictionary."""
    members = sets.get(key, set())
    members.discard(value)
    if not members:
        sets.pop(key, None)
