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

from agent.context import Request, assemble, measure
from agent.errors import AgentError
from agent.messages import Block
from agent.summary import Result, SummaryRejected, describe, summarise
from chat import llm
from chat.db import in_db
from chat.models import Conversation, Message
from chat.profiles import limits_for
from chat.services import compactions, conversations

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
    job = compactions.claim(compaction_id, os.getpid())
    if job is None:
        log.info("compaction not taken up: it has ended", compaction=compaction_id)
        return
    try:
        result, tokens_after = async_to_sync(_summarise)(job)
    except Unwanted:
        log.info("compaction was ended elsewhere", compaction=compaction_id)
    except (AgentError, SummaryRejected) as error:
        compactions.fail(compaction_id, describe(error))
    except Exception:
        compactions.fail(
            compaction_id, "Something went wrong in Everlong; the log has the details."
        )
        raise
    else:
        compactions.complete(job, result, tokens_after=tokens_after)


async def _summarise(job: compactions.Job) -> tuple[Result, int]:
    """The new summary and the context's size with it, in tokens."""
    client = llm.new_client()
    try:
        result = await _while_wanted(
            job.compaction.pk,
            summarise(
                client,
                job.plan,
                job.chapters,
                model=job.model.name,
                model_limits=limits_for(job.model, job.loaded.conversation),
                limits=job.loaded.limits,
                policy=job.loaded.policy,
                counter=llm.counter(),
                focus=job.compaction.focus,
                progress=lambda text: in_db(compactions.report, job.compaction, text),
            ),
        )
        context = replace(
            job.loaded.context,
            summary=result.text,
            summary_through=job.plan.summarise[-1].number,
            first=job.loaded.context.first or _protected_first(job),
            messages=job.plan.keep,
        )
        counted = await client.count_tokens(assemble(context))
    finally:
        await client.close()
    after = counted or measure(context, llm.counter()).total
    if after >= job.compaction.tokens_before:
        raise SummaryRejected("the summary would not have made the context smaller")
    return result, after


def _protected_first(job: compactions.Job) -> Any:
    """The first user message, which the first compaction covers and still keeps."""
    first = job.plan.summarise[0]
    keep = job.loaded.policy.keep_first_message and first.is_prompt and not job.chapters
    return first if keep else None


async def _while_wanted(compaction_id: int, work: Coroutine[Any, Any, T]) -> T:
    """Do the work with a heartbeat on its row. Raises Unwanted, with the model call ended, when
    somebody else has ended the row."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.wait({task}, timeout=BEAT_SECONDS)
        if not task.done() and not await in_db(compactions.beat, compaction_id):
            task.cancel()
            await asyncio.wait({task})
            raise Unwanted
    return task.result()


@shared_task
def suggest_title(conversation_id: str) -> None:
    """Name a conversation after its first exchange, unless the user has named it."""
    conversation = Conversation.objects.filter(pk=UUID(conversation_id)).first()
    if conversation is None or conversation.title_edited:
        return
    opening = Message.objects.filter(conversation=conversation, active=True, position__lt=2)
    texts = [row.text[:2_000] for row in opening.order_by("position")]
    try:
        title = async_to_sync(_ask_for_title)(conversation.model, texts)
    except AgentError as error:
        log.warning("no title", conversation=conversation_id, reason=error.message)
        return
    if title:
        conversations.suggest_title(conversation.pk, title)


async def _ask_for_title(model: str, texts: list[str]) -> str:
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
    client = llm.new_client()
    try:
        reply = await client.complete(request)
    finally:
        await client.close()
    text = " ".join(b["text"] for b in reply.blocks if b["type"] == "text")
    return text.strip().strip("\"'“”").splitlines()[0] if text.strip() else ""
