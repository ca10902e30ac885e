"""Writing the summary of a compaction, in a worker."""

import asyncio
import os
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.preferences import speaking_to
from agent.compaction.failures import SummaryRejected, list_failures
from agent.compaction.policy import BACKGROUND, Origin
from agent.compaction.writing.job import Job, WrittenSummary
from agent.context.assemble import Context, assemble
from agent.engine import CompactedContext, Count, rewrite_chapter, run_compaction
from agent.errors import AgentError
from agent.model.client import Client
from chat.db.threads import UNAVAILABLE, in_db, run_long
from chat.engine import attachment_contents, model_server
from chat.engine.providers import Endpoint
from chat.models import Compaction
from chat.queries import summary_versions
from chat.services.ledgers import JobLedger
from chat.services.summary import compaction_jobs, compactions, gaps
from chat.services.turns import leases
from spending.models import ModelCall

log = structlog.get_logger(__name__)

T = TypeVar("T")

BEAT_SECONDS = 1.0


class Unwanted(Exception):
    """The compaction was cancelled, or was ended because its worker seemed to be dead."""


def write_summary(compaction_id: int) -> bool:
    """Write the summary of a compaction that was begun and hand it in, or say why there is none:
    False."""
    task = compaction_jobs.claim(compaction_id, os.getpid())
    if task is None:
        log.info("compaction not taken up: it has ended", compaction=compaction_id)
        return False
    owner_id = task.state.conversation.owner_id
    with leases.keeper.holding(Compaction, compaction_id), speaking_to(owner_id):
        return _write_claimed(task)


def _write_claimed(task: compaction_jobs.SummaryTask) -> bool:
    compaction_id = task.compaction.pk
    try:
        written = run_long(ask_for_summary, task)
    except Unwanted:
        log.info("compaction was ended elsewhere", compaction=compaction_id)
    except (AgentError, SummaryRejected) as error:
        failures = list_failures(error)
        compactions.fail(compaction_id, failures[-1].cause, failures=failures)
    except Exception:
        compactions.fail(
            compaction_id,
            gettext_noop(
                "Something went wrong in Everlong; the log has the details. Nothing was lost."
            ),
        )
        raise
    else:
        if isinstance(written, WrittenSummary):
            return gaps.fill(task, written)
        return compaction_jobs.complete(task, written)
    return False


async def ask_for_summary(
    task: compaction_jobs.SummaryTask,
) -> CompactedContext | WrittenSummary:
    """The new version, or the chapter that is written again; not stored yet."""
    ledger = JobLedger(compaction_jobs.describe_calls(task))
    if task.is_by_rule:  # no server need be there
        job = await in_db(_make_job, task)
        return await _while_wanted(task.compaction.pk, _write(task, job), ledger)
    where, where_written = await in_db(_load_endpoints, task)
    new_client = partial(model_server.new_client, owner_id=task.state.conversation.owner_id)
    own = new_client(where)
    writer = own if where_written == where else new_client(where_written)
    try:
        job = await in_db(_make_job, task)
        job = replace(
            job,
            ask=lambda request: writer.complete(request, ledger),
            ask_own=lambda request: own.complete(request, ledger),
        )
        work = _write(task, job, partial(_count, own, ledger))
        return await _while_wanted(task.compaction.pk, work, ledger)
    finally:
        await own.close()
        if writer is not own:
            await writer.close()


def _load_endpoints(task: compaction_jobs.SummaryTask) -> tuple[Endpoint, Endpoint]:
    """Where the conversation's model is asked, and where the one that writes."""
    own = model_server.load_endpoint(task.state.conversation.model)
    return own, model_server.load_writer_endpoint(task.compaction.model)


async def _count(own: Client, ledger: JobLedger, context: Context) -> int | None:
    request = assemble(context)
    counted = await own.count_tokens(request, ledger.of_kind(ModelCall.Kind.COUNT))
    if counted is None and settings.COUNT_BY_PROBE:
        return await own.probe(request, ledger.of_kind(ModelCall.Kind.PROBE))
    return counted


async def _write(
    task: compaction_jobs.SummaryTask, job: Job, count: Count | None = None
) -> CompactedContext | WrittenSummary:
    if task.compaction.origin == Origin.REBUILT:
        return await rewrite_chapter(job)
    # Messages may have come since the row was written; a rewrite starts from more than there is.
    return await run_compaction(job, before=task.compaction.tokens_before, count=count)


def _make_job(task: compaction_jobs.SummaryTask) -> Job:
    """Without the clients that it is done with."""
    state, compaction = task.state, task.compaction

    # Of a summary whose middle is written again, what comes later would only mislead.
    begins = task.plan.summarise[0].number
    earlier = [chapter for chapter in task.chapters if chapter.through < begins]
    job = summary_versions.make_job(
        state, task.plan, earlier, model=compaction.model, focus=compaction.focus
    )
    seconds = state.policy.deadline_seconds
    return replace(
        job,
        edited=task.edited,
        progress=lambda text: in_db(compaction_jobs.report_progress, compaction, text),
        read=lambda ids: in_db(attachment_contents.read_files, ids),
        is_waited_for=lambda: in_db(compaction_jobs.takes_extract, compaction.pk),
        time_up=Deadline(compaction, seconds).pass_by if seconds else None,
    )


class Deadline:
    """When nobody should wait for a compaction any longer: `seconds` after it locked the page. A
    preparation has none until a turn adopts it."""

    def __init__(self, compaction: Compaction, seconds: float) -> None:
        self._compaction = compaction
        self._seconds = seconds
        self._locked_at: float | None = None  # by the loop's clock

    async def pass_by(self) -> None:
        """Return when it has passed."""
        now = asyncio.get_running_loop().time
        while self._locked_at is None:
            if await self._is_waited_for():
                self._locked_at = now() - self._age()
            else:
                await asyncio.sleep(BEAT_SECONDS)
        await asyncio.sleep(max(0.0, self._locked_at + self._seconds - now()))

    async def _is_waited_for(self) -> bool:
        try:
            return await in_db(compaction_jobs.is_waited_for, self._compaction.pk)
        except UNAVAILABLE:  # `_is_wanted` tells of it
            return False

    def _age(self) -> float:
        """For how long it has been waited for, when that is first seen."""
        if self._compaction.trigger in BACKGROUND:
            return 0.0
        return (timezone.now() - self._compaction.created_at).total_seconds()


async def _while_wanted(compaction_id: int, work: Coroutine[Any, Any, T], ledger: JobLedger) -> T:
    """Do the work; each second keep what its calls have used so far, and look whether it is still
    wanted. Raises Unwanted, with the model call ended, when somebody else has ended the row."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait({task}, timeout=BEAT_SECONDS)
        leases.keeper.beat(Compaction, compaction_id)
        if not task.done() and not await _is_wanted(compaction_id, ledger):
            task.cancel()
            await asyncio.wait({task})
            raise Unwanted
    return task.result()


async def _is_wanted(compaction_id: int, ledger: JobLedger) -> bool:
    try:
        await in_db(ledger.keep_progress)
        return await in_db(compaction_jobs.is_wanted, compaction_id)
    except UNAVAILABLE as error:  # the database may be back before the summary is written
        log.warning("compaction not looked up", compaction=compaction_id, reason=str(error))
        return True
