"""One call for one text of a summary: asked for, verified, audited and cut to size."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.compaction.chapters import cut
from agent.compaction.job import (
    Job,
    Result,
    Writer,
)
from agent.compaction.requests import (
    HEADINGS,
    PROMPT,
    Form,
    serialised_request,
)
from agent.compaction.verify import (
    Source,
    audit,
)
from agent.context.request import Request
from agent.messages import Message, plain_text
from agent.model.reply import Reply

# Share of the writing model's prompt limit that the chapters shown with a part take.
PREVIOUS_SHARE = 0.20
CUT = ("max_tokens", "model_context_window_exceeded")
# Many models think before they write, and their thinking counts as output.
THINKING_TOKENS = 8_000


class SummaryRejected(Exception):
    """What the model wrote is no summary; the text says why."""


async def write_part(job: Job, result: Result, messages: Sequence[Message], form: Form) -> str:
    """A chapter of some messages by the summary model."""
    previous = previous_chapters(job, result)

    def build(form: Form) -> Request:
        return serialised_request(
            messages, previous, form, model=job.writer.model, max_tokens=max_tokens(job, form)
        )

    return await write_text(job, result, build, form, messages)


def previous_chapters(job: Job, result: Result) -> str:
    """The newest chapters that leave room for what is to be read: with a summary model of a small
    window not all do."""
    limits = job.writer.limits
    room = int(limits.prompt_limit * PREVIOUS_SHARE)
    texts: list[str] = []
    for chapter in reversed(result.chapters):
        room -= limits.factor.apply(job.counter.count(chapter.text))
        if room < 0:
            break
        texts.insert(0, chapter.text)
    return "\n\n".join(texts)


def max_tokens(job: Job, form: Form) -> int:
    """Twice what is asked for, as what is a little too long is cut by code, and the thinking."""
    return min(2 * form.tokens + THINKING_TOKENS, job.writer.limits.reserve)


async def write_text(
    job: Job,
    result: Result,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[Message],
    previous: str = "",
) -> str:
    """`write` by the summary model, of a text request that fits its window."""
    (message,) = build(form).messages
    limits = job.writer.limits
    text = PROMPT + plain_text(message["content"])
    if limits.factor.apply(job.counter.count(text)) > limits.prompt_limit:
        raise SummaryRejected("the request would not fit the window")
    return await write(job, result, job.writer, build, form, source, previous)


async def write(
    job: Job,
    result: Result,
    writer: Writer,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[Message],
    previous: str = "",
) -> str:
    """One chapter's text, verified and audited; one corrective retry where it is no summary."""
    for attempt in range(2):
        reply = await writer.client.complete(build(form))
        result.calls += 1
        try:
            text = verify(reply, source, previous)
        except SummaryRejected as error:
            if attempt:
                raise
            form = replace(form, correction=str(error))
            continue
        text, findings = audit(text, Source(source, previous))
        result.findings += findings
        most = int(2 * form.tokens / job.context.limits.factor.value)
        return cut(text, most, job.counter)
    raise AssertionError  # the loop returns or raises


def verify(reply: Reply, source: Sequence[Message], previous: str = "") -> str:
    """The chapter's text, or `SummaryRejected`: refused, a tool call, empty, without the headings,
    or not smaller than what it replaces: the source, and in a merge the `previous` chapters."""
    if reply.stop_reason == "refusal":
        raise SummaryRejected("the model refused to summarise this part")
    if any(block["type"] == "tool_use" for block in reply.blocks):
        raise SummaryRejected("it calls a tool instead of being a summary")
    text = "\n\n".join(b["text"] for b in reply.blocks if b["type"] == "text").strip()
    if not text:
        raise SummaryRejected("it is empty")
    found = {line[3:].strip().casefold() for line in text.splitlines() if line.startswith("## ")}
    missing = [heading for heading in HEADINGS if heading.casefold() not in found]
    # A summary cut at its limit lacks the last headings only, and what it has is worth keeping.
    if missing and (reply.stop_reason not in CUT or len(missing) > len(HEADINGS) // 2):
        raise SummaryRejected(f"the heading “{missing[0]}” is missing")
    replaced = len(previous) + sum(len(plain_text(message.blocks)) for message in source)
    if len(text) > max(replaced, 2_000):
        raise SummaryRejected("it is longer than what it replaces")
    return text
