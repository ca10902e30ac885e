"""Limits on what costs money or much time: how many turns a user may begin in a minute, and have
running at once, and how much of what others share a user may read."""

import time
from contextlib import suppress

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.utils.translation import gettext, gettext_noop, ngettext

from chat.errors import RefusalCode, Refused
from chat.models import Turn

MINUTE = 60  # seconds
SHARED_READS = 600  # pages and files in a minute: a page that is read to its end asks for many
CROWD_SECONDS = 10  # until another try makes sense where too many answers run

MANY_TURNS = gettext_noop(
    "You have asked for more than {count} answers or summaries in a minute. Your text is kept; try "
    "again in {seconds} s."
)
MANY_READS = gettext_noop("You have read very much in a minute. Try again in {seconds} s.")


def count_turn(user_id: int) -> None:
    """Count a turn that a user is about to begin. Refused above the limit of the current minute,
    and while too many of the user's turns run. The cache may be on the network: not for an event
    loop."""
    running = _count_running(user_id)
    if running >= settings.TURNS_AT_ONCE:
        raise Refused(
            RefusalCode.RATE_LIMITED,
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
    _count("turns", user_id, settings.MESSAGES_PER_MINUTE, MANY_TURNS)


def forget_turn(user_id: int) -> None:
    """Take back what `count_turn` has counted: the turn has not begun, and is begun again."""
    with suppress(ValueError):  # another minute has begun
        cache.decr(_key("turns", user_id, int(time.time()) // MINUTE))


def count_shared_read(user_id: int) -> None:
    """Count a page or a file of a shared conversation that a user asks for. Refused above the limit
    of the current minute."""
    _count("shared", user_id, SHARED_READS, MANY_READS)


def explain_limit(user_id: int) -> str:
    """Why a user's next turn would be refused now, "" where it would not: counts nothing."""
    minute = int(time.time()) // MINUTE
    if _count_running(user_id) >= settings.TURNS_AT_ONCE:
        return gettext("Many answers are being written for you at the moment.")
    if cache.get(_key("turns", user_id, minute), 0) >= settings.MESSAGES_PER_MINUTE:
        return gettext("You have asked for {count} answers or summaries in this minute.").format(
            count=settings.MESSAGES_PER_MINUTE
        )
    return ""


def _count_running(user_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_RUNNING, [user_id, *Turn.ACTIVE])
        return int(cursor.fetchone()[0])


# With every send: the ORM would take 0.7 ms to put it together.
_RUNNING = """
    SELECT COUNT(*) FROM chat_turn JOIN chat_conversation ON chat_conversation.id = conversation_id
    WHERE owner_id = %s AND status IN (%s, %s, %s)
"""


def _count(what: str, user_id: int, most: int, words: str) -> None:
    """Count that a user does something once more in this minute. Refused above `most`, with these
    words. All processes share the count, except while Redis is away (`config.caches`)."""
    minute, second = divmod(int(time.time()), MINUTE)
    key = _key(what, user_id, minute)
    cache.add(key, 0, 2 * MINUTE)
    try:
        count = cache.incr(key)
    except ValueError:  # Redis has just gone, or come back: another cache counts from here
        count = 1
    if count > most:
        left = MINUTE - second
        raise Refused(
            RefusalCode.RATE_LIMITED,
            gettext(words).format(count=most, seconds=left),
            retryable=True,
            retry_after=left,
        )


def _key(what: str, user_id: int, minute: int) -> str:
    return f"{what}:{user_id}:{minute}"
