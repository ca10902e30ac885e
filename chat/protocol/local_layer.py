"""The channel layers: one for the embedded profile, one over Redis.

Of the embedded profile: one process, any thread. Channels' own in-memory layer copies every message
once per socket, walks all groups on every send, and loses or delays what other threads send.
Messages here are immutable, so one object serves all sockets.

Over Redis: `channels_redis` raises at every send while Redis is away, and forgets who joined then.
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import redis
import structlog
from channels.layers import BaseChannelLayer
from channels_redis.pubsub import (
    RedisPubSubChannelLayer,
    RedisPubSubLoopLayer,
    RedisSingleShardConnection,
)
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from chat.db.outages import LAYER

log = structlog.get_logger(__name__)

Message = dict[str, Any]
# What readers get when an outage begins, and when it ends: events of other processes are lost.
RESYNC: Message = {"type": "relay", "name": "resync"}
REDIS_SECONDS = 2.0  # without an answer
RETRY_SECONDS = 0.5
AWAY = (redis.RedisError, OSError)


class LocalChannelLayer(BaseChannelLayer):
    """Groups of queues, used from the loop that receives; `group_send` works from any loop or
    thread. A reader that falls `capacity` messages behind loses the newest and has to resync."""

    extensions = ["groups"]

    def __init__(self, capacity: int = 2000, **options: Any) -> None:
        super().__init__(capacity=capacity, **options)
        self._queues: dict[str, asyncio.Queue[Message]] = {}
        self._groups: dict[str, set[str]] = defaultdict(set)
        self._joined: dict[str, set[str]] = defaultdict(set)  # the groups of each channel
        self._takers: dict[str, Callable[[Message], bool]] = {}
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

    def hand_over(self, channel: str, take: Callable[[Message], bool]) -> None:
        """Call `take` with each message of a channel in a group, at once and in the loop that
        receives. What it does not take, and all that comes while that waits, is for `receive`."""
        self._takers[channel] = take

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
            self._takers.pop(channel, None)

    def has_listeners(self, group: str) -> bool:
        return group in self._groups

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
        if queue is None or queue.full():
            return
        take = self._takers.get(channel)
        if take is None or not queue.empty() or not take(message):
            queue.put_nowait(message)


def _discard(sets: dict[str, set[str]], key: str, value: str) -> None:
    """Take a value out of a set, and an empty set out of the dictionary."""
    members = sets.get(key, set())
    members.discard(value)
    if not members:
        sets.pop(key, None)


class SharedChannelLayer(RedisPubSubChannelLayer):
    """Redis's publish and subscribe, which outlives Redis: while it is away, what is sent reaches
    whoever listens in this process; when it is back, every reader gets RESYNC."""

    def __init__(self, hosts: Sequence[str], **options: Any) -> None:
        connection = {
            "socket_timeout": REDIS_SECONDS,
            "socket_connect_timeout": REDIS_SECONDS,
            # A library that retries silently would also lose events silently.
            "retry": Retry(NoBackoff(), 0),
        }
        super().__init__(hosts=[{"address": host, **connection} for host in hosts], **options)

    def _get_layer(self) -> RedisPubSubLoopLayer:
        layer = super()._get_layer()
        if not isinstance(layer._shards[0], _Shard):
            layer._shards = [_Shard(shard.host, layer) for shard in layer._shards]
        return layer


class _Shard(RedisSingleShardConnection):
    """One Redis, from one loop. While it is away only the receiver asks for it, so that nothing
    else waits."""

    _away = False
    _redis: Any
    _pubsub: Any

    async def publish(self, channel: str, message: bytes) -> None:
        async with self._lock:
            for last in (False, True):  # a connection of the pool may date from before a restart
                if self._away:
                    break
                try:
                    self._ensure_redis()
                    await self._redis.publish(channel, message)
                    return
                except AWAY as error:
                    if last:
                        self._lose(error)
        self._receive_message({"channel": channel, "data": message})

    async def subscribe(self, channel: str) -> None:
        if self._away:
            return  # `_return` subscribes to all that is listened to
        try:
            await super().subscribe(channel)
        except AWAY as error:
            self._lose(error)

    async def unsubscribe(self, channel: str) -> None:
        if self._away:
            return
        try:
            await super().unsubscribe(channel)
        except AWAY as error:
            self._lose(error)

    def _lose(self, error: Exception) -> None:
        LAYER.note_failure(error)
        if not self._away:
            self._away = True
            self._tell_readers()
        self._ensure_receiver()

    async def _do_receiving(self) -> None:
        while True:
            try:
                if self._away:
                    await self._return()
                elif self._pubsub and self._pubsub.subscribed:
                    message = await self._pubsub.get_message(
                        ignore_subscribe_messages=True, timeout=0.1
                    )
                    self._receive_message(message)
                else:
                    await asyncio.sleep(0.1)
            except AWAY as error:
                self._lose(error)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                log.exception("receiving failed")
                await asyncio.sleep(RETRY_SECONDS)

    async def _return(self) -> None:
        """Reconnect, and subscribe again to every channel with listeners. Raises AWAY."""
        layer = self.channel_layer
        async with self._lock:
            if self._redis is not None:
                old, self._redis, self._pubsub = self._redis, None, None
                await old.aclose(close_connection_pool=True)
            self._ensure_redis()
            names = {n for n in (*layer.channels, *layer.groups) if layer._get_shard(n) is self}
            await self._connect(names)
            self._away = False
        LAYER.note_success()
        self._tell_readers()

    async def _connect(self, names: set[str]) -> None:
        await self._redis.ping()
        if names:
            await self._pubsub.subscribe(*names)
        self._subscribed_to = names

    def _tell_readers(self) -> None:
        layer = self.channel_layer
        for channel in set().union(*layer.groups.values()):
            if channel in layer.channels:
                layer.channels[channel].put_nowait(layer.channel_layer.serialize(RESYNC))
