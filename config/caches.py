"""The caches: that of the scaled profile outlives Redis; both forget by the start of a key."""

import os
import time
from collections.abc import Collection
from typing import Any

import redis
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.retry import Retry

from chat.db.outages import CACHE

REDIS_SECONDS = 0.5  # without an answer
RETRY_SECONDS = 2.0  # while Redis is away, it is tried once in so many seconds
KEYS_AT_ONCE = 1_000  # that Redis looks at in a step: about a millisecond
AWAY = (redis.ConnectionError, redis.TimeoutError, OSError)

_next_try = 0.0


def _surviving(name: str) -> Any:
    """A method of the cache that asks Redis, or this process's own cache while Redis is away."""
    ask = getattr(RedisCache, name)

    def method(self: "SurvivingRedisCache", *args: Any, **kwargs: Any) -> Any:
        global _next_try
        if not CACHE.is_ongoing or time.monotonic() >= _next_try:
            _next_try = time.monotonic() + RETRY_SECONDS  # nobody else waits meanwhile
            try:
                answer = ask(self, *args, **kwargs)
            except AWAY as error:
                _next_try = time.monotonic() + RETRY_SECONDS  # it may have taken as long
                CACHE.note_failure(error)
            else:
                if CACHE.is_ongoing:
                    self.own.clear()
                    CACHE.note_success()
                return answer
        return getattr(self.own, name)(*args, **kwargs)

    return method


class LocalCache(LocMemCache):
    """Django's cache in the memory of this process."""

    def delete_prefixed(self, prefixes: Collection[str]) -> None:
        """Delete what is kept under keys that begin so."""
        begins = tuple(self.make_key(each) for each in prefixes)
        django: Any = self  # its types do not tell what it is made of
        with django._lock:
            for key in [each for each in django._cache if each.startswith(begins)]:
                django._delete(key)


class SurvivingRedisCache(RedisCache):
    """Django's cache in Redis. Without Redis each process counts and keeps for itself, so that rate
    limits still work and nothing is rendered twice. None of that outlives the outage."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "socket_timeout": REDIS_SECONDS,
            "socket_connect_timeout": REDIS_SECONDS,
            # Once more: a connection of the pool may date from before a restart.
            "retry": Retry(NoBackoff(), 1),
        }
        super().__init__(server, params | {"OPTIONS": options | params.get("OPTIONS", {})})
        self.own = LocalCache(f"instead of {server}", {**params, "OPTIONS": {"MAX_ENTRIES": 2000}})

    add = _surviving("add")
    get = _surviving("get")
    set = _surviving("set")
    touch = _surviving("touch")
    delete = _surviving("delete")
    get_many = _surviving("get_many")
    has_key = _surviving("has_key")
    incr = _surviving("incr")
    set_many = _surviving("set_many")
    delete_many = _surviving("delete_many")
    clear = _surviving("clear")

    def delete_prefixed(self, prefixes: Collection[str]) -> None:
        """Delete what is kept under keys that begin so, in Redis and here. It walks through all
        keys, in steps that hold up nobody. While Redis is away its entries stay until they
        expire."""
        self.own.delete_prefixed(prefixes)
        begins = [self.make_key(each) for each in prefixes]
        # What they have in common, so that Redis sends few of the others.
        common = os.path.commonprefix(begins)
        django: Any = self
        client = django._cache.get_client(None, write=True)
        try:
            for key in client.scan_iter(match=f"{common}*", count=KEYS_AT_ONCE):
                if key.decode().startswith(tuple(begins)):
                    client.unlink(key)
        except AWAY as error:
            CACHE.note_failure(error)
