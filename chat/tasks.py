"""Celery tasks: ids in, one job each. They run in a worker process or in the embedded worker."""

import asyncio
import os
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

import structlog
from asgiref.sync import async_to_sync
from celery import shared_task
from django.conf import settings
from django.utils.translation import gettext_noop

from agent.compaction.job import Job
from agent.compaction.ladder import describe
from agent.compaction.write import SummaryRejected
from agent.context.assemble import Context, assemble
from agent.context.request import Request
from agent.engine import Compacted
from agent.engine import compact as compact_context
from agent.errors import AgentError
from agent.messages import Block
from agent.messages import Message as AgentMessage
from agent.model.client import Client, Spent
from chat.db import UNAVAILABLE, in_db
from chat.models import Conversation, Message
from chat.queries import attachments, model_server, summaries
from chat.queries.conversation import agent_message
from chat.services import compaction_jobs, compactions, conversations, preparations

log = structlog.get_logger(__name__)

T = TypeVar("T")

BEAT_SECONDS = 1.0
TITLE_PROMPT = (
    "Write a title for this conversation: at most six words, in its language, without quotation "
    "marks or a full stop. Reply with the title only."
)


class Unwanted(Exception):
    """The compaction was cancelled, or failed by somebody who took its worker for dead."""


@shared_task
def compact(compaction_id: int) -> None:
    """Write the summary of a compaction that a turn has begun."""
    task = compaction_jobs.claim(compaction_id, os.getpid())
    if task is None:
        log.info("compaction not taken up: it has ended", compaction=compaction_id)
        return
    spent: Spent = []
    try:
        try:
            written = async_to_sync(_summarise)(task, spent)
        finally:
            compaction_jobs.charge(task.compaction, spent)
    except Unwanted:
        log.info("compaction was ended elsewhere", compaction=compaction_id)
    except (AgentError, SummaryRejected) as error:
        compactions.fail(compaction_id, describe(error))
    except Exception:
        compactions.fail(
            compaction_id,
            gettext_noop("Something went wrong in Everlong; the log has the details."),
        )
        raise
    else:
        compaction_jobs.complete(task, written)


@shared_task
def use_pause(conversation_id: str, head: int) -> None:
    """Prepare a summary before the prompt cache expires, if the user has not come back."""
    compaction_id = preparations.prepare_in_pause(UUID(conversation_id), head)
    if compaction_id is not None:
        compact(compaction_id)


async def _summarise(task: compaction_jobs.Task, spent: Spent) -> Compacted:
    """The new version, not stored yet. `spent` gets what each model call cost, also those of a
    summary that is not wanted any more or fails."""
    own = model_server.new_client(spent)
    writer = model_server.new_summary_client(spent) if settings.SUMMARY_MODEL else own
    try:
        return await _while_wanted(task.compaction.pk, _write(task, own, writer))
    finally:
        await own.close()
        if writer is not own:
            await writer.close()


async def _write(task: compaction_jobs.Task, own: Client, writer: Client) -> Compacted:
    async def count(context: Context) -> int | None:
        request = assemble(context)
        counted = await own.count_tokens(request)
        if counted is None and settings.COUNT_BY_PROBE:
            return await own.probe(request)
        return counted

    job = replace(await in_db(_job, task), ask=writer.complete, ask_own=own.complete)
    # Messages may have come since the row was written; a rewrite starts from more than there is.
    return await compact_context(job, before=task.compaction.tokens_before, count=count)


def _job(task: compaction_jobs.Task) -> Job:
    loaded, compaction = task.loaded, task.compaction

    async def originals(first: int, through: int) -> list[AgentMessage]:
        return await in_db(_originals, loaded.conversation, first, through)

    job = summaries.job_for(
        loaded, task.plan, task.chapters, model=compaction.model, focus=compaction.focus
    )
    return replace(
        job,
        originals=originals,
        progress=lambda text: in_db(compaction_jobs.report, compaction, text),
        read=lambda ids: in_db(attachments.read, ids),
        waited_for=lambda: in_db(compaction_jobs.is_waited_for, compaction.pk),
    )


def _originals(conversation: Conversation, first: int, through: int) -> list[AgentMessage]:
    rows = Message.objects.filter(
        conversation=conversation, active=True, number__range=(first, through)
    )
    return [agent_message(row) for row in rows.order_by("position")]


async def _while_wanted(compaction_id: int, work: Coroutine[Any, Any, T]) -> T:
    """Do the work with a heartbeat on its row. Raises Unwanted, with the model call ended, when
    somebody else has ended the row."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait({task}, timeout=BEAT_SECONDS)
        if not task.done() and not await _is_wanted(compaction_id):
            task.cancel()
            await asyncio.wait({task})
            raise Unwanted
    return task.result()


async def _is_wanted(compaction_id: int) -> bool:
    try:
        return await in_db(compaction_jobs.beat, compaction_id)
    except UNAVAILABLE as error:  # it may be back before the summary is written
        log.warning("heartbeat failed", compaction=compaction_id, reason=str(error))
        return True


@shared_task
def suggest_title(conversation_id: str) -> None:
    """Name a conversation after its first exchange, unless the user has named it."""
    wanted = Conversation.objects.filter(pk=UUID(conversation_id), owner__is_active=True)
    conversation = wanted.first()
    if conversation is None or conversation.title_edited:
        return
    opening = Message.objects.filter(conversation=conversation, active=True, position__lt=2)
    texts = [row.text[:2_000] for row in opening.order_by("position")]
    spent: Spent = []
    try:
        title = async_to_sync(_ask_for_title)(conversation.model, texts, spent)
    except AgentError as error:
        log.warning("no title", conversation=conversation_id, reason=error.message)
        return
    finally:
        if spent:
            conversations.charge(conversation.pk, spent)
    if title:
        conversations.suggest_title(conversation.pk, title)


async def _ask_for_title(model: str, texts: list[str], spent: Spent) -> str:
    quoted = "\n\n".join(texts).replace("</conversation", "<\\/conversation")
    block: Block = {
        "type": "text",
        "text": f"<conversation>\n{quoted}\n</conversation>\n\n{TITLE_PROMPT}",
    }
    request = Request(
        model=settings.SUMMARY_MODEL or model,
        max_tokens=100,
        system=[{"type": "text", "text": "You name conversations."}],
        messages=[{"role": "user", "content": [block]}],
    )
    client = (
        model_server.new_summary_client(spent)
        if settings.SUMMARY_MODEL
        else model_server.new_client(spent)
    )
    try:
        reply = await client.complete(request)
    finally:
        await client.close()
    text = " ".join(b["text"] for b in reply.blocks if b["type"] == "text")
    return text.strip().strip("\"'“”").splitlines()[0] if text.strip() else ""
