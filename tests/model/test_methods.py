"""Each method of the ladder by real weights."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent.compaction.plan import Plan
from agent.compaction.policy import Method, Policy
from agent.compaction.writing.choice import MOST_REJECTED
from agent.compaction.writing.job import Job
from agent.context.assemble import Context, assemble
from agent.engine import CompactedContext, compact_context
from agent.messages import AgentMessage, plain_text
from agent.model.client import Client
from agent.model.rules import find_violations
from agent.tokens import Factor, Limits, Model
from tests.agent.conversations import COUNTER, assistant, user
from tests.model.llama import LlamaServer
from tests.model.oracle import find_invented
from tests.support.lines import Seen

SAID = [
    "From now on, answer in one sentence. The service billing-api listens on port 8443.",
    "Understood. The service billing-api listens on port 8443, and logs to /var/log/billing.log.",
    "Ada wants PostgreSQL 16.2 and a budget of 12,500 euros, because MySQL lost 340 orders in May.",
    "PostgreSQL 16.2 it is. The budget of 12,500 euros covers two servers and a year of support.",
    "The release 4.2.1 failed in eu-west-1 with PaymentTimeoutError after 250 ms. Why?",
    "The gateway answers after 400 ms, so the limit of 250 ms in src/charge.py is too short.",
    "Set it to 900 ms, please, and write a note for Grace about the release 4.2.1.",
    "The limit is 900 ms now. The note for Grace is docs/notes.md; she reviews it on Monday.",
]
TALK = (
    " We went through every step of it once more and found nothing else that was out of order." * 7
)
CHAPTER = 100  # tokens that are asked for
# A chapter may be twice as long, and quotes the user's last request.
MOST = 2 * CHAPTER + 200


def make_messages(start: int = 1) -> list[AgentMessage]:
    """Eight messages to be summarised, and an exchange that is kept."""
    said = [*(text + TALK for text in SAID), "What is left to do?", "Nothing is left."]
    return [(assistant if n % 2 else user)(start + n, text) for n, text in enumerate(said)]


def make_job(
    client: Client, server: LlamaServer, messages: Sequence[AgentMessage], reply: int, **values: Any
) -> Job:
    """A compaction of all but the last exchange. `reply`: tokens that the server may write."""
    limits = Limits(5_000, max_output=reply, budget=5_000, factor=Factor(1.0, 0))
    own = Model(server.weights, limits)
    context = Context(own.name, limits, messages=messages, **values.pop("context", {}))
    return Job(
        context=context,
        plan=Plan(messages[:-2], messages[-2:]),
        used=sum(message.tokens for message in messages),
        policy=Policy(summary_max_tokens=CHAPTER, engine=values.pop("engine", Method.AUTO)),
        counter=COUNTER,
        own=own,
        writer=own,
        warm=True,
        ask=client.complete,
        ask_own=client.complete,
        **{"chapters": [], **values},
    )


async def check(
    job: Job, compacted: CompactedContext, client: Client, read: Sequence[AgentMessage]
) -> None:
    """What holds after every compaction of what was `read`."""
    said = [plain_text(message.blocks) for message in read]
    result = compacted.result
    for chapter in result.chapters:
        assert COUNTER.count(chapter.text) <= MOST
        assert find_invented(chapter.text, said) == []
        assert all(pin.text in " ".join(said) for pin in chapter.pins)
    covered = [(chapter.first, chapter.through) for chapter in result.chapters]
    assert covered[0][0] == read[0].number
    assert covered[-1][1] == job.plan.summarise[-1].number
    assert compacted.tokens < job.used
    assert [m.number for m in compacted.context.messages] == [m.number for m in job.plan.keep]
    request = assemble(compacted.context)
    assert find_violations(request.body(), window=job.own.limits.window) == []
    assert (await client.complete(replace(request, max_tokens=16))).complete


@pytest.mark.parametrize("summariser", ["inventing"], indirect=True)
@pytest.mark.parametrize(
    "method",
    [Method.WARM_PREFIX, Method.SERIALISED, Method.CHUNKS, Method.WITHOUT_OVERSIZED],
)
async def test_what_a_model_invents_is_marked_on_every_method(
    client: Client, summariser: LlamaServer, method: Method, seen: Seen
) -> None:
    messages = make_messages()
    job = make_job(client, summariser, messages, reply=450, engine=method)
    compacted = await compact_context(job)
    result = compacted.result
    seen(f"{result.calls} calls, {result.findings.failed} statements marked")
    assert (result.method, result.failures) == (method, [])
    assert result.findings.failed
    await check(job, compacted, client, messages[:-2])


@pytest.mark.parametrize("summariser", ["garbled", "endless"], indirect=True)
async def test_a_model_that_knows_no_form_ends_in_the_extract(
    client: Client, summariser: LlamaServer, seen: Seen
) -> None:
    messages = make_messages()
    job = make_job(client, summariser, messages, reply=120)
    started = time.monotonic()
    compacted = await compact_context(job)
    result = compacted.result
    seen(f"{result.method} after {result.calls} calls, {time.monotonic() - started:.0f} s")
    assert result.rejected <= MOST_REJECTED
    assert result.method != Method.EXTRACT or len(result.failures) > 0
    await check(job, compacted, client, messages[:-2])
