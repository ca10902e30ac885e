"""How each method asks a model for a chapter."""

from collections.abc import Awaitable, Callable, Sequence

from agent.audit.audit import Findings
from agent.compaction.failures import SummaryRejected
from agent.compaction.instructions.named import Named
from agent.compaction.policy import Method
from agent.compaction.writing.choice import (
    CHUNK_SHARES,
    choose_max_tokens,
    choose_part_form,
    split_into_parts,
)
from agent.compaction.writing.drafting import write_checked_text, write_part, write_text
from agent.compaction.writing.job import Job, WrittenSummary, choose_form
from agent.compaction.writing.summary_requests import (
    Form,
    TranscriptPart,
    build_merge_request,
    build_warm_request,
    count_unread_tokens,
)
from agent.context.request import Request
from agent.context.shortening.previews import count_sent_tokens
from agent.errors import AgentError, ErrorCode, gettext_noop


async def _warm(job: Job, result: WrittenSummary) -> str:
    form = choose_form(job, result.chapters)

    def build(form: Form) -> Request:
        return build_warm_request(job.context, job.plan.summarise, form)

    text = await write_checked_text(job, result, job.ask_own, build, form, job.plan.summarise)
    result.findings += _find_previewed(job)
    return text


def _find_previewed(job: Job) -> Findings:
    """The messages that the conversation's own request holds as previews; results are, as far as
    they are too long, in any request."""
    limits = job.context.limits
    unread = {
        message.number: limits.factor.apply(message.tokens) - count_sent_tokens(message, limits)
        for message in job.plan.summarise
        if not message.holds_tool_results
    }
    return Findings.of_unread({number: tokens for number, tokens in unread.items() if tokens > 0})


def _find_unread(job: Job, parts: Sequence[TranscriptPart]) -> Findings:
    """The messages of which the parts hold less than what they say."""
    read = [message for part in parts for message in part.messages]
    unread = {
        message.number: job.context.limits.factor.apply(tokens)
        for message, shown in zip(job.plan.summarise, read, strict=True)
        if (tokens := count_unread_tokens(message, shown, job.counter))
    }
    return Findings.of_unread(unread)


async def _in_parts(job: Job, result: WrittenSummary, parts: Sequence[TranscriptPart]) -> str:
    """A record of each part on message boundaries, and the records merged."""
    text = await _read_parts(job, result, parts)
    result.findings += _find_unread(job, parts)
    return text


async def _read_parts(job: Job, result: WrittenSummary, parts: Sequence[TranscriptPart]) -> str:
    form = choose_part_form(job, result.chapters, len(parts))
    if form is None:
        raise SummaryRejected(gettext_noop("the records of so many parts would not fit"))
    texts = []
    for index, part in enumerate(parts, 1):
        if job.progress and len(parts) > 1:
            await job.progress(f"Reading part {index} of {len(parts)}")
        texts.append(await write_part(job, result, part.messages, form))
    if len(texts) == 1:
        return texts[0]
    joined = "\n\n".join(texts)

    def build(form: Form) -> Request:
        return build_merge_request(
            joined, form, model=job.writer.name, max_tokens=choose_max_tokens(job, form)
        )

    whole = choose_form(job, result.chapters)
    return await write_text(job, result, build, whole, job.plan.summarise, joined)


async def _serialised(job: Job, result: WrittenSummary) -> str:
    return await _in_parts(job, result, split_into_parts(job, Method.SERIALISED))


async def _chunks(job: Job, result: WrittenSummary) -> str:
    """In smaller parts where the server says that these are too long."""
    before = result.findings
    for share in CHUNK_SHARES:
        try:
            return await _in_parts(job, result, split_into_parts(job, Method.CHUNKS, share))
        except AgentError as error:
            if error.code != ErrorCode.TOO_LONG or share == CHUNK_SHARES[-1]:
                raise
            result.findings, result.named = before, Named()
    raise AssertionError  # the loop returns or raises


async def _without_oversized(job: Job, result: WrittenSummary) -> str:
    """Messages of more than half a part as previews, which code names in place of the rest."""
    return await _in_parts(job, result, split_into_parts(job, Method.WITHOUT_OVERSIZED))


WRITERS: dict[Method, Callable[[Job, WrittenSummary], Awaitable[str]]] = {
    Method.WARM_PREFIX: _warm,
    Method.SERIALISED: _serialised,
    Method.CHUNKS: _chunks,
    Method.WITHOUT_OVERSIZED: _without_oversized,
}
