"""One call for one text of a summary: asked for, verified, audited and cut to size."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.compaction.chapters import cut_to_tokens
from agent.compaction.choice import choose_max_tokens, choose_previous_chapters, does_text_fit
from agent.compaction.instructions import split_instructions
from agent.compaction.job import Ask, Job, WrittenSummary, convert_to_raw
from agent.compaction.requests import HEADINGS, Form, build_serialised_request
from agent.compaction.verify import Source, audit
from agent.context.request import Request
from agent.messages import Message, plain_text
from agent.model.reply import Reply

CUT = ("max_tokens", "model_context_window_exceeded")


# Replies of a chapter, or of a merge, that cannot be used before no model is asked any more.
MOST_REJECTED = 3


class SummaryRejected(Exception):
    """What the model wrote cannot be used, or it cannot be asked: the text says why."""


class Declined(SummaryRejected):
    """The model refused or wrote nothing: the same request would bring the same again."""


async def write_part(
    job: Job, result: WrittenSummary, messages: Sequence[Message], form: Form
) -> str:
    """A chapter of some messages by the summary model."""
    previous = choose_previous_chapters(job, result.chapters)

    def build(form: Form) -> Request:
        return build_serialised_request(
            messages, previous, form, model=job.writer.name, max_tokens=choose_max_tokens(job, form)
        )

    return await write_text(job, result, build, form, messages)


async def write_text(
    job: Job,
    result: WrittenSummary,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[Message],
    previous: str = "",
) -> str:
    """`write_checked_text` by the summary model, of a text request that fits its window."""
    if not does_text_fit(job, build(form)):
        raise SummaryRejected("the request would not fit the window")
    return await write_checked_text(job, result, job.ask, build, form, source, previous)


async def write_checked_text(
    job: Job,
    result: WrittenSummary,
    ask: Ask | None,
    build: Callable[[Form], Request],
    form: Form,
    source: Sequence[Message],
    previous: str = "",
) -> str:
    """One chapter's text, verified and audited, with one corrective retry where it is not a
    summary, but none where the model declined."""
    assert ask, "a job without `ask` can only be looked at"
    for attempt in range(2):
        reply = await ask(build(form))
        result.calls += 1
        try:
            text = verify(reply, source, previous)
        except SummaryRejected as error:
            result.rejected += 1
            if attempt or isinstance(error, Declined) or result.rejected >= MOST_REJECTED:
                raise
            form = replace(form, correction=str(error))
            continue
        text, named = split_instructions(text)
        result.named.add(named, job.plan.summarise)
        text, findings = audit(text, Source(source, previous))
        result.findings += findings
        return cut_to_tokens(text, convert_to_raw(job, 2 * form.tokens), job.counter)
    raise AssertionError  # the loop returns or raises


def verify(reply: Reply, source: Sequence[Message], previous: str = "") -> str:
    """The chapter's text, or `SummaryRejected`: refused, a tool call, empty, without the headings,
    or not smaller than what it replaces: the source, and in a merge the `previous` chapters."""
    if reply.stop_reason == "refusal":
        raise Declined("the model refused to summarise this part")
    if any(block["type"] == "tool_use" for block in reply.blocks):
        raise SummaryRejected("it calls a tool instead of being a summary")
    text = "\n\n".join(b["text"] for b in reply.blocks if b["type"] == "text").strip()
    if not text:
        raise Declined("it is empty")
    found = {line[3:].strip().casefold() for line in text.splitlines() if line.startswith("## ")}
    missing = [heading for heading in HEADINGS if heading.casefold() not in found]
    # A summary cut at its limit lacks the last headings only, and what it has is worth keeping.
    if missing and (reply.stop_reason not in CUT or len(missing) > len(HEADINGS) // 2):
        raise SummaryRejected(f"the heading “{missing[0]}” is missing")
    replaced = len(previous) + sum(len(plain_text(message.blocks)) for message in source)
    if len(text) > max(replaced, 2_000):
        raise SummaryRejected("it is longer than what it replaces")
    return text
