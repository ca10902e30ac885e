"""The rungs of the ladder: ways to have a chapter written, from the best to the last resort."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from agent.compaction.job import (
    Job,
    Result,
    instruction_tokens,
    next_form,
)
from agent.compaction.requests import (
    Form,
    cap,
    merge_request,
    shortened,
    split,
    warm_instruction,
    warm_request,
)
from agent.compaction.verify import Findings
from agent.compaction.write import (
    SummaryRejected,
    max_tokens,
    previous_chapters,
    write,
    write_part,
    write_text,
)
from agent.context.assemble import measure
from agent.context.request import Request
from agent.errors import AgentError
from agent.messages import Message

# Shares of the writing model's prompt limit that one part may take. The second is for estimates that
# were too low. Both, and the margin, are OpenClaw's.
CHUNK_SHARES = (0.40, 0.15)
MARGIN = 1.2
# Of the same limit: all parts' records when they are merged.
RECORDS_SHARE = 0.40
SMALLEST_RECORD = 150  # tokens; more parts than that allows are given up


async def _warm(job: Job, result: Result) -> str:
    if reason := why_not_warm(job):
        raise SummaryRejected(reason)
    form = next_form(job, result)

    def build(form: Form) -> Request:
        return warm_request(job.context, job.plan.summarise, form)

    return await write(job, result, job.own, build, form, job.plan.summarise)


def why_not_warm(job: Job) -> str:
    """Why the conversation's own request cannot be asked for this summary; "" where it can."""
    context, limits = job.context, job.own.limits
    if job.plan.summarise[0].number <= context.summary_through:
        return "its messages are no longer in the conversation's request"
    # The meter may know better than the estimate, or know less of what came last.
    used = max(job.used, measure(context, job.counter).total)
    if used + warm_tokens(job) > limits.prompt_limit:
        return "the warm prefix would not fit the window"
    return ""


def warm_tokens(job: Job) -> int:
    """Real tokens of the instruction after a warm prefix."""
    form = Form(job.policy.summary_max_tokens, job.focus)
    instruction = warm_instruction(job.plan.summarise, form)
    return job.own.limits.factor.apply(job.counter.count(instruction))


def to_read(job: Job) -> tuple[list[Message], str]:
    """What a serialised request or its parts may hold of the messages, and the numbers of what is
    left out: a cheap model's input is capped."""
    return cap(job.plan.summarise, job.policy.input_characters or 2**62)


async def _serialised(job: Job, result: Result) -> str:
    """All at once, cut in the middle where the cheap model's input is capped."""
    messages = _reading(job, result)
    room = job.writer.limits.prompt_limit / MARGIN - instruction_tokens(job)
    room -= job.writer.limits.factor.apply(job.counter.count(previous_chapters(job, result)))
    if len(split(messages, int(room), job.writer.limits.factor, job.counter)) > 1:
        raise SummaryRejected("it does not fit one request")
    return await write_part(job, result, messages, next_form(job, result))


async def _chunks(job: Job, result: Result) -> str:
    """In several parts on message boundaries, and the parts' chapters merged."""
    messages = _reading(job, result)
    error: Exception = SummaryRejected("it does not fit")
    for share in CHUNK_SHARES:
        room = int(job.writer.limits.prompt_limit * share / MARGIN)
        parts = split(messages, room, job.writer.limits.factor, job.counter)
        try:
            return await _in_parts(job, result, parts)
        except AgentError as failed:
            if failed.code != "too_long":
                raise
            error = failed
    raise error


async def _without_oversized(job: Job, result: Result) -> str:
    """Messages of more than half a part as previews, which code names in place of the rest."""
    limit = int(job.writer.limits.prompt_limit * CHUNK_SHARES[-1])
    messages = [shortened(message, limit // 2) for message in _reading(job, result)]
    room = int(limit / MARGIN)
    parts = split(messages, room, job.writer.limits.factor, job.counter)
    return await _in_parts(job, result, parts)


RUNGS: dict[str, Callable[[Job, Result], Awaitable[str]]] = {
    "warm prefix": _warm,
    "serialised": _serialised,
    "chunks": _chunks,
    "without oversized messages": _without_oversized,
}


def _reading(job: Job, result: Result) -> list[Message]:
    messages, left_out = to_read(job)
    if left_out:
        result.findings += Findings(left_out=[left_out])
    return messages


async def _in_parts(job: Job, result: Result, parts: Sequence[Sequence[Message]]) -> str:
    form = next_form(job, result)
    limits = job.writer.limits
    # A record may be twice as long as asked for, in tokens of the conversation's model.
    factor = limits.factor.value / job.context.limits.factor.value
    most = int(limits.prompt_limit * RECORDS_SHARE / factor / (2 * len(parts)))
    if most < SMALLEST_RECORD:
        raise SummaryRejected(f"it would take {len(parts)} parts, whose records would not fit")
    record = replace(form, tokens=min(form.tokens, most)) if len(parts) > 1 else form
    texts = []
    for index, part in enumerate(parts, 1):
        if job.progress and len(parts) > 1:
            await job.progress(f"Reading part {index} of {len(parts)}")
        texts.append(await write_part(job, result, part, record))
    if len(texts) == 1:
        return texts[0]
    joined = "\n\n".join(texts)

    def build(form: Form) -> Request:
        return merge_request(
            joined, (), form, model=job.writer.model, max_tokens=max_tokens(job, form)
        )

    return await write_text(job, result, build, form, job.plan.summarise, joined)
