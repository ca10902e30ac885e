"""Tasks for the workers, from the web process: the queue may be away."""

import asyncio
from typing import Any

from celery import Task
from kombu.exceptions import OperationalError

from chat.outages import QUEUE


async def enqueue(task: Task, *args: Any, countdown: float | None = None) -> bool:
    """Hand a task to the workers, on a thread as the queue is on the network; False where it could
    not be reached."""
    try:
        await asyncio.to_thread(task.apply_async, args, countdown=countdown)
    except OperationalError as error:
        QUEUE.note_failure(error)
        return False
    QUEUE.note_success()
    return True
