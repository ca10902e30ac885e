"""What a stream hears of a conversation: the events of the channel layer, for a reader who is no
socket."""

import asyncio
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer

from chat.protocol import events as frames
from chat.protocol.broadcast import conversation_group
from chat.protocol.local_layer import RESYNC, LayerMessage

UNUSED_SECONDS = 60.0
MOST_WAITING = 500  # events for a slow reader, who then gets the row
HEARD = {
    kind.type
    for kind in (
        frames.CompressionStarted,
        frames.CompressionProgress,
        frames.CompressionCompleted,
        frames.ToolStarted,
        frames.ToolFinished,
        frames.TurnDelta,
        frames.TurnNotice,
    )
}
# Something was lost, or the rows have more to say.
TO_READ = {RESYNC["name"], frames.TurnFinished.type}


class Ear:
    """Hears what happens in a conversation from when it was opened. `waiting`: frames that were not
    read yet. Memory is bounded by MOST_WAITING of them."""

    def __init__(self, layer: Any, channel: str) -> None:
        self.waiting: deque[bytes] = deque()
        self.is_behind = True  # something was lost: the rows have to be read
        self.is_used = False
        self._layer, self._channel = layer, channel
        self._news = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, conversation_id: UUID) -> "Ear":
        layer = get_channel_layer()
        ear = cls(layer, await layer.new_channel())
        layer.hand_over(ear._channel, ear._hear)
        await layer.group_add(conversation_group(conversation_id), ear._channel)
        return ear

    async def close(self) -> None:
        if self._closing:
            self._closing.cancel()
        await self._layer.leave(self._channel)

    def close_unless_used(self) -> None:
        """Close it by itself where nothing has begun to read by then: a response whose client has
        left is never begun, and nobody is told."""
        self._closing = asyncio.create_task(self._close_unused())

    async def _close_unused(self) -> None:
        await asyncio.sleep(UNUSED_SECONDS)
        if not self.is_used:
            await self._layer.leave(self._channel)

    def _hear(self, message: LayerMessage) -> None:
        """An event of the layer's: for later, as this is called by whoever sends it."""
        name = message.get("name")
        if name in TO_READ:
            self.is_behind = True
        elif name not in HEARD:
            return
        elif len(self.waiting) < MOST_WAITING:
            self.waiting.append(message["frame"])
        else:
            self.waiting.clear()
            self.is_behind = True
        self._news.set()

    def catch_up(self) -> bool:
        """Whether the rows have to be read, which the caller does now."""
        was_behind, self.is_behind = self.is_behind, False
        return was_behind

    async def wait(self, *, until: float) -> bool:
        """Whether an event waits, now or by then (monotonic); False from then on."""
        seconds = until - monotonic()
        if seconds <= 0:
            return False
        if not self.waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()
        self._news.clear()
        return bool(self.waiting)
