"""What `choose` names is what writes the summary: a preview tells no other story than the run."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.ladder import summarise
from agent.compaction.plan import Plan
from agent.compaction.policy import METHODS, Method, Policy, Reason
from agent.compaction.skills import HEADINGS
from agent.compaction.writing.choice import CHUNK_SHARES, MARGIN, Choice, choose, split_into_parts
from agent.compaction.writing.job import Job
from agent.context.assemble import Context
from agent.context.request import Request
from agent.messages import RealTokens, Usage, plain_text
from agent.model.reply import Reply
from agent.tokens import Factor, Limits, Model, Prices
from tests.agent.conversations import (
    COUNTER,
    LIMITS,
    assistant,
    contexts,
    exchanges,
    limits,
    text,
    user,
)

SUMMARY = "\n".join(f"## {heading}\n- Something was said." for heading in HEADINGS)


async def good(request: Request) -> Reply:
    return Reply([text(SUMMARY)], "end_turn", usage=Usage(100, 10), complete=True)


prices = st.builds(
    Prices.of,
    input=st.floats(0, 20),
    output=st.floats(0, 100),
    cache_read=st.floats(0, 2),
    cache_write=st.floats(0, 25),
)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Any compaction of any conversation, by any model."""
    made: Context = draw(contexts())
    assume(len(made.messages) > 1)
    cut = draw(st.integers(1, len(made.messages)))
    own = Model("claude-test", made.limits, draw(prices))
    other = st.builds(Model, st.just("claude-small"), limits(), prices)
    written = draw(st.sampled_from([0, 0, 1, 3, 9]))
    chapters = [
        Chapter("- Said before. " * draw(st.integers(1, 400)), n, n) for n in range(1, written + 1)
    ]
    return Job(
        context=made,
        plan=Plan(made.messages[:cut], made.messages[cut:]),
        chapters=chapters,
        used=draw(st.integers(0, made.limits.window)),
        policy=Policy(
            engine=draw(st.sampled_from([Method.AUTO, Method.AUTO, *METHODS])),
            input_characters=draw(st.sampled_from([0, 0, 20_000])),
        ),
        counter=COUNTER,
        own=own,
        writer=draw(st.one_of(st.just(own), other)),
        warm=draw(st.booleans()),
        focus=draw(st.sampled_from(["", "the port"])),
        ask=good,
        ask_own=good,
    )


@given(jobs())
@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
def test_the_method_that_is_named_before_is_the_one_that_writes(job: Job) -> None:
    choice = choose(job)
    written = asyncio.run(summarise(job))
    event(f"{choice.method}: {choice.reason}")
    assert (written.method, written.reason) == (choice.method, choice.reason)
    assert written.failures == list(choice.skipped)
    assert written.dollars == choice.dollars


def job(**values: object) -> Job:
    history = exchanges(20, 1_000)
    model = Model("claude-test", LIMITS, Prices.of(2.0, 10.0, 0.2, 2.5))
    made = Context("claude-test", LIMITS, messages=history)
    base = Job(made, Plan(history[:-2], history[-2:]), [], 40_000, Policy(), COUNTER, model, model)
    return replace(base, **values)


def by(method: Method, **values: object) -> Choice:
    return choose(job(policy=Policy(engine=method), **values))


def test_prices_count_what_is_read_and_what_is_written_in_dollars() -> None:
    own = job().own
    dear = replace(own, name="dear", prices=Prices.of(0.0, 1_000.0, 0.2, 2.5))
    assert float(by(Method.SERIALISED).price) == pytest.approx(0.02, rel=0.3)
    # It reads for nothing, but what it writes costs more than to read the cache.
    choice = choose(job(warm=True, writer=dear))
    assert choice.method == Method.WARM_PREFIX
    assert choice.price < choice.dollars[Method.SERIALISED]
    assert by(Method.EXTRACT).price == 0.0


def test_a_way_that_does_not_fit_is_skipped_and_named() -> None:
    small = Limits(8_000, 2_000, 8_000, LIMITS.factor)
    long = [user(n, "word " * 400) for n in range(1, 21)]
    made = Context("claude-test", LIMITS, messages=long)
    choice = choose(job(context=made, plan=Plan(long, []), writer=Model("small", small)))
    assert choice.method == Method.CHUNKS
    assert [failure.step for failure in choice.skipped] == [Method.SERIALISED]
    assert choice.reason == Reason.TOO_LARGE


@pytest.mark.parametrize(
    ("sent", "method"), [(True, Method.SERIALISED), (False, Method.WARM_PREFIX)]
)
def test_a_warm_prefix_leaves_room_for_what_is_only_estimated(sent: bool, method: Method) -> None:
    """The prompt of a turn that was broken off, which no reply has reported. One that comes first
    with the next request is no part of the prefix."""
    prompt = user(41, "word " * 8_000)
    broken_off = [assistant(42, ""), user(43, "And now?")] if sent else []
    made = Context("claude-test", LIMITS, messages=[*exchanges(20, 1_000), prompt, *broken_off])
    limits = replace(LIMITS, window=62_000, budget=62_000, max_output=1_000)
    own = Model("claude-test", limits, Prices.of(2.0, 10.0, 0.2, 2.5))
    asked = job(
        context=replace(made, limits=limits),
        plan=Plan(made.messages[:41], made.messages[41:]),
        used=RealTokens(59_000),
        unreported=RealTokens(8_000),
        warm=True,
        own=own,
        writer=replace(own, limits=replace(limits, window=200_000)),
    )
    assert choose(asked).method == method


@pytest.mark.parametrize(("window", "reserve"), [(200_000, 20_000), (32_000, 6_400)])
def test_parts_leave_room_for_reply_and_instruction(window: int, reserve: int) -> None:
    """20,000 tokens, a fifth of a small window, also where the model's replies are short."""
    writer = Model("short", Limits(window, 1_000, window, Factor(1.0, 0)))
    long = [user(n, "word " * 400) for n in range(1, 601)]
    made = Context("claude-test", LIMITS, messages=long)
    read = job(context=made, plan=Plan(long, []), writer=writer)
    parts = split_into_parts(read, Method.CHUNKS)
    assert len(parts) > 1
    assert all(MARGIN * part.tokens <= CHUNK_SHARES[0] * (window - reserve) for part in parts)


def test_a_job_without_a_model_can_be_looked_at_but_not_done() -> None:
    looked_at = job()
    assert choose(looked_at).method == Method.SERIALISED
    with pytest.raises(AssertionError, match="only be looked at"):
        asyncio.run(summarise(looked_at))


def test_the_words_of_a_reason_are_for_people_only() -> None:
    """What is stored and compared holds when its words change."""
    from agent.compaction.policy import REASON_WORDS

    assert set(REASON_WORDS) == set(Reason)
    assert not set(REASON_WORDS.values()) & {reason.value for reason in Reason}
    assert plain_text([text(REASON_WORDS[Reason.PRICE])])
