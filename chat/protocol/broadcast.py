"""From a changed status to the browsers: events go out after commit, in the order they were made.

The layer delivers at most once. Whoever misses an event asks for a snapshot.
"""

from collections.abc import Callable
from uuid import UUID

import structlog
from channels.layers import get_channel_layer
from django.db import DatabaseError, transaction

from chat.html.failsafe import draw_safely
from chat.protocol.events import Event, encode_frame
from chat.protocol.local_layer import RESYNC, LayerMessage

log = structlog.get_logger(__name__)

SESSION_DOUBT = "session.doubt"  # for the sockets themselves: not a frame
EVERYBODY = "everybody"  # the group of all sockets
QUEUE_NEWS = "queue.news"  # the group of all web processes, and what they hear there


def conversation_group(conversation_id: UUID | str) -> str:
    return f"conversation.{conversation_id}"


def user_group(user_id: int) -> str:
    return f"user.{user_id}"


def emit(group: str, event: Event) -> None:
    """Send an event when the current transaction commits; at once where there is none. For
    services, in any thread without a running loop. An event that is lost is logged; the data
    that it announces is stored."""
    message = _message(event)
    # No `partial`: Django cannot name it where it fails.
    transaction.on_commit(lambda: get_channel_layer().deliver(group, message), robust=True)


def emit_later(group: str, make: Callable[[], Event]) -> None:
    """`emit` for an event that takes a while to make, as all with HTML do: it is made after the
    commit too. Rendering takes up to 100 ms, in which nobody else could write to SQLite. Where it
    cannot be made, that is logged and the sockets send a snapshot: the data is stored. Nor is it
    made where it is known that nobody listens: who comes later gets a snapshot."""

    def tell() -> None:
        if not get_channel_layer().has_listeners(group):
            return
        try:
            message = draw_safely("event", lambda: _message(make()), lambda: RESYNC)
        except DatabaseError:  # away since the commit
            log.exception("event could not be read", group=group)
            message = RESYNC
        get_channel_layer().deliver(group, message)

    transaction.on_commit(tell, robust=True)


def emit_session_check(user_id: int) -> None:
    """When the current transaction commits, let every socket of a user check its session. Ending
    a session must not fail because the channel layer is away: sockets also check by themselves."""
    emit_access_check(user_group(user_id))


def emit_access_check(group: str) -> None:
    """The same for the sockets of a group, which ask whether their user may still see what they
    show."""
    message = {"type": SESSION_DOUBT}
    transaction.on_commit(lambda: get_channel_layer().deliver(group, message), robust=True)


def emit_queue_news(conversation_id: UUID) -> None:
    """When the current transaction commits, let the web processes look at a conversation's queue.
    They look by themselves too."""
    message = {"type": QUEUE_NEWS, "conversation_id": str(conversation_id)}
    transaction.on_commit(lambda: get_channel_layer().deliver(QUEUE_NEWS, message), robust=True)


async def send(group: str, event: Event) -> None:
    """Send an event that changes nothing in the database: a delta or progress."""
    await get_channel_layer().group_send(group, _message(event))


def _message(event: Event) -> LayerMessage:
    # Encoded once for all sockets.
    return {"type": "relay", "name": event.type, "frame": encode_frame(event)}
