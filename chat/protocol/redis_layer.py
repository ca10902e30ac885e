"""The channel layer over Redis, for a site of several processes. `channels_redis` raises at every
send while Redis is away, and forgets who joined then.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import redis
import structlog
from asgiref.sync import async_to_sync
from channels_redis.pubsub import (
    RedisPubSubChannelLayer,
    RedisPubSubLoopLayer,
    RedisSingleShardConnection,
)
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from chat.db.outages import LAYER
from chat.protocol.local_layer import RESYNC, LayerMessage

log = structlog.get_logger(__name__)

REDIS_SECONDS = 2.0  # without an answer
RETRY_SECONDS = 0.5
DELIVERY_SECONDS = 10.0  # for another thread's message
AWAY = (redis.RedisError, OSError)


class RedisChannelLayer(RedisPubSubChannelLayer):
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
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self) -> None:
        """Make the running loop the one through which other threads send: loops of their own would
        open a connection for each message."""
        self._loop = asyncio.get_running_loop()

    async def new_channel(self, prefix: str = "specific.") -> str:
        self.bind()
        name: str = await self._get_layer().new_channel(prefix)
        return name

    def hand_over(self, channel: str, take: Callable[[LayerMessage], None]) -> None:
        """Call `take` with each message of a channel from now on, at once and in the loop that
        receives; there is nothing left for `receive`."""
        self._get_layer().channels[channel] = _HandedOver(take, self.deserialize)

    async def leave(self, channel: str) -> None:
        """Leave all groups: the channel is forgotten."""
        layer = self._get_layer()
        layer.channels.pop(channel, None)
        await layer._get_shard(channel).unsubscribe(channel)
        for group in [name for name, joined in layer.groups.items() if channel in joined]:
            layer.groups[group].remove(channel)
            if not layer.groups[group]:
                del layer.groups[group]
                await layer._get_shard(group).unsubscribe(group)

    def has_listeners(self, group: str) -> bool:
        """Another process may have some."""
        return True

    def deliver(self, group: str, message: LayerMessage) -> None:
        """`group_send` from any thread without a running loop; waits until Redis has it."""
        if self._loop is None or self._loop.is_closed():
            async_to_sync(self.group_send)(group, message)
        else:
            sending = self.group_send(group, message)
            asyncio.run_coroutine_threadsafe(sending, self._loop).result(DELIVERY_SECONDS)

    def _get_layer(self) -> RedisPubSubLoopLayer:
        layer = super()._get_layer()
        if not isinstance(layer._shards[0], _Shard):
            layer._shards = [_Shard(shard.host, layer) for shard in layer._shards]
        return layer


class _HandedOver:
    """Stands in for a channel's queue: whatever is put in is taken at once."""

    def __init__(
        self, take: Callable[[LayerMessage], None], deserialize: Callable[[bytes], LayerMessage]
    ) -> None:
        self._take, self._deserialize = take, deserialize

    def put_nowait(self, message: bytes) -> None:
        self._take(self._deserialize(message))


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
