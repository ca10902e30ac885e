"""Rate limits: counters per minute in the cache."""

import time

from django.conf import settings
from django.core.cache import cache

from accounts.models import User
from chat.errors import Refused


def count_message(user: User) -> None:
    """Count one message of a user; Refused above the limit of the current minute."""
    minute, second = divmod(int(time.time()), 60)
    key = f"messages:{user.pk}:{minute}"
    cache.add(key, 0, 120)
    if cache.incr(key) > settings.MESSAGES_PER_MINUTE:
        raise Refused(
            "rate_limited",
            f"You have sent {settings.MESSAGES_PER_MINUTE} messages in a minute. Your text is "
            f"kept; send it in {60 - second} s.",
            retryable=True,
        )
