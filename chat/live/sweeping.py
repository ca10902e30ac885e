"""The sweep of a web process: turns whose holder has died are ended. Before each it looks whether
the database fits, and leaves one alone that does not."""

import asyncio

import structlog
from django.conf import settings
from django.utils import timezone

from chat import tasks
from chat.db.outages import DATABASE
from chat.db.scrubbing import scrubbing
from chat.db.threads import RETRY_SECONDS, UNAVAILABLE, in_db
from chat.live.enqueuing import put_in_queue
from chat.queries import schema
from chat.services.library import import_jobs
from chat.services.turns import leases, schedules, sweep
from spending.budgets import repair_counters

log = structlog.get_logger(__name__)

REPAIR_SECONDS = 300.0  # between two looks whether the counters of budgets are right
SCRUB_AGAIN = 1.0  # seconds until more of the database's file is cleaned


async def sweep_forever() -> None:
    """The sweep of a web process: at once, and whenever a lease may have run out."""
    leases.keeper.watch_others()
    away, repair_at = False, 0.0
    while True:
        try:
            wait = await in_db(_look_and_sweep)
            if (now := asyncio.get_running_loop().time()) >= repair_at:
                repair_at = now + REPAIR_SECONDS
                await in_db(_repair_counters)
            if away:
                away = False
                DATABASE.note_success()
        except UNAVAILABLE as error:
            away, wait = True, RETRY_SECONDS
            leases.keeper.note_disturbance()  # no lease could be extended
            DATABASE.note_failure(error)
        except Exception:
            log.exception("sweep failed")
            wait = settings.LEASE_SECONDS / 2
        await asyncio.sleep(wait)


def _look_and_sweep() -> float:
    """Returns the seconds until the next time."""
    if schema.watch.look():
        return settings.LEASE_SECONDS / 2
    _look_at_schedules()
    wait = sweep.seconds_to_next()
    if ended := sweep.sweep():
        log.info("swept", ended=ended)
    if import_jobs.is_any_waiting():  # its task got lost, or the import before it died
        put_in_queue(tasks.run_imports)
    return wait if scrubbing.work() else min(wait, SCRUB_AGAIN)


def _look_at_schedules() -> None:
    """Have the workers send what is due, and tell who has to know that something rests. Each web
    process looks; whoever comes first does it. Where the queue is away, the next look does."""
    for due in schedules.find_due(timezone.now()):
        put_in_queue(tasks.send_scheduled, due)
    for unsettled in schedules.find_unsettled():
        if schedules.settle(unsettled):
            put_in_queue(tasks.mail_schedule, unsettled)


def _repair_counters() -> None:
    """Those that differ from the rows of their calls: a process may not have known of a budget."""
    if not schema.watch.misfit and (repaired := repair_counters()):
        log.warning("counters of budgets repaired", count=repaired)
