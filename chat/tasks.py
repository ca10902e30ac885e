"""Celery tasks: ids in, one job each. They run in a worker process or in the embedded worker."""

from typing import Any
from uuid import UUID

from celery import Task, shared_task
from celery.exceptions import Ignore
from django.utils import timezone

from chat.jobs import import_process
from chat.jobs.budget_mail import mail_budget_word
from chat.jobs.push import push_answer
from chat.jobs.schedule_mail import mail_rest
from chat.jobs.summary import write_summary
from chat.jobs.title import write_title
from chat.queries import schema
from chat.services.summary import gaps, preparations, records
from chat.services.turns import schedules


class CarefulTask(Task):
    """Left undone while the database does not fit: a sweep ends what waits for it."""

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        if schema.watch.look():
            raise Ignore


@shared_task(base=CarefulTask)
def compact(compaction_id: int) -> None:
    """Write the summary of a compaction that a turn has begun."""
    write_summary(compaction_id)


@shared_task(base=CarefulTask)
def use_pause(conversation_id: str, head: int) -> None:
    """Prepare a summary before the prompt cache expires, if the user has not come back."""
    compaction_id = preparations.prepare_in_pause(UUID(conversation_id), head)
    if compaction_id is not None:
        write_summary(compaction_id)


@shared_task(base=CarefulTask)
def rebuild(conversation_id: str) -> None:
    """Write the chapters that lost their text with a deleted message again, one after another, and
    those of a record by rule whose owner has agreed."""
    if wait := gaps.find_wait(UUID(conversation_id)):
        rebuild.apply_async((conversation_id,), countdown=wait)
        return
    while (compaction_id := gaps.begin_rebuild(UUID(conversation_id))) is not None:
        if not write_summary(compaction_id):
            records.decline_after_failure(compaction_id)
            break


@shared_task(base=CarefulTask)
def suggest_title(conversation_id: str) -> None:
    """Name a conversation after its first exchange, unless the user has named it."""
    write_title(UUID(conversation_id))


@shared_task(base=CarefulTask)
def send_scheduled(scheduled_id: int) -> None:
    """Put a scheduled prompt that is due into the queue of its conversation."""
    schedules.send_due(scheduled_id, timezone.now())


@shared_task(base=CarefulTask)
def mail_schedule(scheduled_id: int) -> None:
    """Tell a person that a scheduled prompt rests, because it failed too often."""
    mail_rest(scheduled_id)


@shared_task(base=CarefulTask)
def mail_budget(user_id: int | None, period: str, unit: str) -> None:
    """Tell a person, or the administrators of the site's budget, how much of it is spent."""
    mail_budget_word(user_id, period, unit)


@shared_task(base=CarefulTask)
def push_end(conversation_id: str, failed: bool) -> None:
    """Tell the browsers of a person that asked for it that an answer has ended."""
    push_answer(UUID(conversation_id), failed=failed)


@shared_task(base=CarefulTask)
def run_imports() -> None:
    """Start the imports that wait, each in a process of its own."""
    import_process.run_waiting()
