"""Tasks for the workers, from the web process: the queue may be away."""

import asyncio
from typing import Any
from uuid import UUID

from celery import Task
from kombu.exceptions import OperationalError

from chat import tasks
from chat.db.outages import QUEUE
from chat.services.summary import gaps


async def enqueue(task: Task, *args: Any, countdown: float | None = None) -> bool:
    """`put_in_queue` on a thread, as the queue is on the network."""
    return await asyncio.to_thread(put_in_queue, task, *args, countdown=countdown)


def put_in_queue(task: Task, *args: Any, countdown: float | None = None) -> bool:
    """Hand a task to the workers; False where the queue could not be reached."""
    try:
        task.apply_async(args, countdown=countdown)
    except OperationalError as error:
        QUEUE.note_failure(error)
        return False
    QUEUE.note_success()
    return True


def ask_for_rebuild(conversation_id: UUID) -> None:
    """Have the chapters written again that have lost their text, when no more changes come, so that
    quick ones are one rebuild. If the queue is away, the end of the next turn asks again."""
    if gaps.note_change(conversation_id) and not put_in_queue(
        tasks.rebuild, str(conversation_id), countdown=gaps.REBUILD_DELAY
    ):
        gaps.forget_change(conversation_id)
