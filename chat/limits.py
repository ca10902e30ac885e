"""Limits on what costs: how many turns a user may begin in a minute, and have running at once."""

import time
from collections import Counter
from threading import Lock

import structlog
from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext, ngettext

from chat import metrics
from chat.errors import Refused
from chat.models import Turn

log = structlog.get_logger(__name__)

MINUTE = 60  # seconds
CROWD_SECONDS = 10  # until another try makes sense where too many answers run


def count_turn(user_id: int) -> None:
    """Count a turn that a user is about to begin. Refused above the limit of the current minute,
    and while too many of the user's turns run. The cache may be on the network: not for an event
    loop."""
    running = Turn.objects.filter(conversation__owner=user_id, status__in=Turn.ACTIVE).count()
    if running >= settings.TURNS_AT_ONCE:
        raise Refused(
            "rate_limited",
            ngettext(
                "{count} answer is being written for you already. Your text is kept; try again "
                "when it is done.",
                "{count} answers are being written for you already. Your text is kept; try again "
                "when one of them is done.",
                running,
            ).format(count=running),
            retryable=True,
            retry_after=CROWD_SECONDS,
        )
    minute, second = divmod(int(time.time()), MINUTE)
    if _counted(user_id, minute) > settings.MESSAGES_PER_MINUTE:
        raise Refused(
            "rate_limited",
            gettext(
                "You have asked for more than {count} answers or summaries in a minute. Your text "
                "is kept; try again in {seconds} s."
            ).format(count=settings.MESSAGES_PER_MINUTE, seconds=MINUTE - second),
            retryable=True,
            retry_after=MINUTE - second,
        )


def _counted(user_id: int, minute: int) -> int:
    """The turns of a user in this minute, one more than before. All processes share the count,
    unless the cache is away: then each limits by its own."""
    key = f"turns:{user_id}:{minute}"
    try:
        count = _count_in_cache(key)
    except ValueError:
        return _own_counts.add(user_id, minute)
    _own_counts.needed = False
    return count


def _count_in_cache(key: str) -> int:
    """One more; ValueError where the cache keeps nothing."""
    try:
        return cache.incr(key)
    except ValueError:  # the first in this minute
        if cache.add(key, 1, 2 * MINUTE):
            return 1
        return cache.incr(key)  # somebody else was first


class _OwnCounts:
    """Counts of this process for the current minute; `needed` while the cache is away."""

    def __init__(self) -> None:
        self.needed = False
        self._lock = Lock()
        self._minute = 0
        self._counts: Counter[int] = Counter()

    def add(self, user_id: int, minute: int) -> int:
        metrics.count("limits_by_process")
        with self._lock:
            if not self.needed:
                self.needed = True
                log.warning(
                    "the cache is away: each process counts for itself",
                    next_step="Check REDIS_URL and the Redis server.",
                )
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[user_id] += 1
            return self._counts[user_id]


_own_counts = _OwnCounts()
