"""The channel layer of the embedded profile: one process, any thread. Channels' own in-memory layer
copies every message once per socket, walks all groups on every send, and loses or delays what other
threads send. Messages here are immutable, so one object serves all sockets.

`chat.protocol.redis_layer` has the same methods, those that Channels does not know too: `bind`,
`hand_over`, `leave`, `has_listeners`, `deliver`.
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from channels.layers import BaseChannelLayer

LayerMessage = dict[str, Any]
# What readers get when events may be lost: where an outage begins and where it ends, and in place
# of one that cannot be made.
RESYNC: LayerMessage = {"type": "relay", "name": "resync"}


class LocalChannelLayer(BaseChannelLayer):
    """Groups of queues, used from the loop that receives; `group_send` works from any loop or
    thread. A reader that falls `capacity` messages behind loses the newest and has to resync."""

    extensions = ["groups"]

    def __init__(self, capacity: int = 2000, **options: Any) -> None:
        super().__init__(capacity=capacity, **options)
        self._queues: dict[str, asyncio.Queue[LayerMessage]] = {}
        self._groups: dict[str, set[str]] = defaultdict(set)
        self._joined: dict[str, set[str]] = defaultdict(set)  # the groups of each channel
        self._takers: dict[str, Callable[[LayerMessage], None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self) -> None:
        """Make the running loop the one that receives what other threads send."""
        self._loop = asyncio.get_running_loop()

    async def new_channel(self, prefix: str = "specific") -> str:
        self.bind()
        name = f"{prefix}.local!{uuid.uuid4().hex}"
        self._queues[name] = asyncio.Queue(self.capacity)
        return name

    async def receive(self, channel: str) -> LayerMessage:
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

    def hand_over(self, channel: str, take: Callable[[LayerMessage], None]) -> None:
        """Call `take` with each message of a channel from now on, at once and in the loop that
        receives; there is nothing left for `receive`."""
        self._takers[channel] = take

    async def send(self, channel: str, message: LayerMessage) -> None:
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
            self._takers.pop(channel, None)

    async def leave(self, channel: str) -> None:
        """Leave all groups: the channel is forgotten."""
        for group in tuple(self._joined.get(channel, ())):
            await self.group_discard(group, channel)

    def has_listeners(self, group: str) -> bool:
        """False where it is known that nobody gets what is sent to a group."""
        return group in self._groups

    async def group_send(self, group: str, message: LayerMessage) -> None:
        self.deliver(group, message)

    def deliver(self, group: str, message: LayerMessage) -> None:
        """`group_send` from any thread, without a wait. `async_to_sync` would start a loop, and a
        thread for it, per message."""
        self._forward(self._put_all, group, message)

    def _forward(self, put: Any, name: str, message: LayerMessage) -> None:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if self._loop is None or self._loop is here or self._loop.is_closed():
            put(name, message)
        else:
            self._loop.call_soon_threadsafe(put, name, message)

    def _put_all(self, group: str, message: LayerMessage) -> None:
        for channel in self._groups.get(group, ()):
            self._put(channel, message)

    def _put(self, channel: str, message: LayerMessage) -> None:
        if take := self._takers.get(channel):
            take(message)
        elif (queue := self._queues.get(channel)) and not queue.full():
            queue.put_nowait(message)


def _discard(sets: dict[str, set[str]], key: str, value: str) -> None:
    """Take a value out of a set, and an empty set out of the dictionary."""
    members = sets.get(key, set())
    members.discard(value)
    if not members:
        sets.pop(key, None)
