"""What the frames about the queue do."""

from typing import assert_never
from uuid import UUID

from accounts.models import User
from chat.protocol.frames import (
    AddToQueue,
    EditQueued,
    QueueFrame,
    RemoveQueued,
    ResumeQueue,
    SendQueuedNow,
)
from chat.services.turns import queue
from chat.services.turns.queue import AlreadySent
from chat.services.turns.turns import NewMessage


def handle(user: User, conversation_id: UUID, frame: QueueFrame, zone: str) -> str | None:
    """In a database thread. Returns the `client_id` of what is a message already. Raises Refused
    and DoesNotExist."""
    match frame:
        case AddToQueue():
            try:
                _add(user, conversation_id, frame, zone)
            except AlreadySent:
                return frame.client_id
        case EditQueued():
            queue.edit_queued(user, conversation_id, frame.id, frame.text, frame.pasted)
        case RemoveQueued():
            queue.remove_queued(user, conversation_id, frame.id)
        case SendQueuedNow():
            queue.send_queued_now(user, conversation_id, frame.id)
        case ResumeQueue():
            queue.resume_queue(user, conversation_id)
        case _:
            assert_never(frame)
    return None


def _add(user: User, conversation_id: UUID, frame: AddToQueue, zone: str) -> None:
    if frame.command:
        queue.queue_compaction(user, conversation_id, frame.text, client_id=frame.client_id)
        return
    new = NewMessage(frame.text, frame.attachments, frame.pasted, frame.client_id, zone)
    queue.queue_prompt(user.pk, conversation_id, new, send_now=frame.send_now)
