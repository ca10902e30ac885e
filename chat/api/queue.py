"""The API: what waits to be sent in a conversation."""

from typing import Annotated
from uuid import UUID, uuid4

from django.http import HttpRequest
from django.utils.translation import gettext
from ninja import Router, Status

from chat.api.auth import get_user, reads, uploads
from chat.api.conversations import find_conversation
from chat.api.errors import ApiError
from chat.api.messages import IDEMPOTENCY_KEY
from chat.api.rows import as_queued
from chat.api.schemas import ERRORS, ErrorOut, QueuedIn, QueuedOut, QueueOut, RowId
from chat.models import Message
from chat.queries.queue import list_queue
from chat.services.turns import queue
from chat.services.turns.turns import NewMessage

router = Router(tags=["queue"])


@router.get("/{uuid:conversation}/queue", auth=reads, response={200: QueueOut, ERRORS: ErrorOut})
def get_queue(request: HttpRequest, conversation: UUID) -> QueueOut:
    """The messages that wait to be sent, in the order in which they go out."""
    row = find_conversation(request, conversation)
    return QueueOut(items=[as_queued(each) for each in list_queue(row.pk)])


@router.post(
    "/{uuid:conversation}/queue", auth=uploads, response={201: QueuedOut, ERRORS: ErrorOut}
)
def queue_message(
    request: HttpRequest,
    conversation: UUID,
    body: QueuedIn,
    idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
) -> Status[QueuedOut]:
    """Send a message when the conversation is free: at once, or when the answer that runs has
    ended; with `send_now` in between two of its tool rounds."""
    user = get_user(request)
    new = NewMessage(
        body.text,
        [str(each) for each in body.files],
        client_id=idempotency_key or uuid4().hex,
        zone=body.time_zone,
        source=Message.Source.API,
    )
    try:
        row = queue.queue_prompt(user.pk, conversation, new, send_now=body.send_now)
    except queue.AlreadySent as sent:
        number = Message.objects.values_list("number", flat=True).get(pk=sent.message_id)
        words = gettext("This is message #{number} by now.").format(number=number)
        raise ApiError(409, "already_sent", words) from None
    return Status(201, as_queued(row))


@router.delete(
    "/{uuid:conversation}/queue/{int:queued}", auth=uploads, response={204: None, ERRORS: ErrorOut}
)
def remove_queued(request: HttpRequest, conversation: UUID, queued: RowId) -> Status[None]:
    """Take a message out of the queue; 404 where it has gone out."""
    row = find_conversation(request, conversation)
    row.queued_prompts.get(pk=queued)  # or 404
    queue.remove_queued(get_user(request), conversation, queued)
    return Status(204, None)
