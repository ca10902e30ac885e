"""The cache of the scaled profile, which outlives Redis."""

import time
from typing import Any

import redis
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.retry import Retry

from chat.db.outages import CACHE

REDIS_SECONDS = 0.5  # without an answer
RETRY_SECONDS = 2.0  # while Redis is away, it is tried once in so many seconds
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
        self.own = LocMemCache(f"instead of {server}", {**params, "OPTIONS": {"MAX_ENTRIES": 2000}})

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
