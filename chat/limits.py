"""Rate limits: counters per minute in the cache."""

import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import ngettext

from accounts.models import User
from chat.errors import Refused

P = ParamSpec("P")
T = TypeVar("T")


def counted(
    service: Callable[Concatenate[User, P], T], user: User, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call the service that stores a user's message, if the user may send one more. The cache may
    be on the network: not for an event loop."""
    count_message(user)
    return service(user, *args, **kwargs)


def count_message(user: User) -> None:
    """Count one message of a user; Refused above the limit of the current minute."""
    minute, second = divmod(int(time.time()), 60)
    key = f"messages:{user.pk}:{minute}"
    cache.add(key, 0, 120)
    if cache.incr(key) > settings.MESSAGES_PER_MINUTE:
        raise Refused(
            "rate_limited",
            ngettext(
                "You have sent {count} message in a minute. Your text is kept; "
                "send it in {seconds} s.",
                "You have sent {count} messages in a minute. Your text is kept; "
                "send it in {seconds} s.",
                settings.MESSAGES_PER_MINUTE,
            ).format(count=settings.MESSAGES_PER_MINUTE, seconds=60 - second),
            retryable=True,
        )
