"""Where a long message is cut stays, whatever the model's factor does meanwhile."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent.context.assemble import Context, assemble, measure
from agent.context.shortening.previews import (
    count_sent_tokens,
    decide_cuts,
    find_previewed,
    preview_limit,
)
from agent.messages import AgentMessage, Block
from agent.tokens import FALLEN, RISEN, Factor, Limits
from tests.agent.conversations import (
    COUNTER,
    TOOLS,
    assistant,
    call,
    context,
    message,
    result,
    text,
    user,
)

LIMITS = Limits(window=100_000, max_output=4_000, budget=100_000, factor=Factor(1.0, 9))
WANDERING = (0.9999, 1.0001, 1.0999, 1.1001, 0.9501, 1.2, 0.85, 1.0001, 0.7, 1.1501)


def long(tokens: float) -> Block:
    """So many raw tokens."""
    return text("ab c123" * int(tokens / 2))


def asked(block: Block, rest: Sequence[AgentMessage] = ()) -> Context:
    opening = message(1, "user", [block])
    return context(opening, assistant(2), *rest, user(9), limits=LIMITS, tools=TOOLS)


LONG: dict[str, Context] = {
    "a message that is cut": asked(long(60_000)),
    "a message that is cut by a hair": asked(long(39_990)),
    "a message that just fits": asked(long(35_500)),
    "results that are cut": asked(
        text("Read."),
        [
            message(3, "assistant", [call("a"), call("b")]),
            message(4, "user", [result("a", "log " * 60_000), result("b", [long(24_000)])]),
            assistant(5),
        ],
    ),
    "results that just fit": asked(
        text("Read."),
        [message(3, "assistant", [call("a")]), message(4, "user", [result("a", [long(22_000)])])],
    ),
    "the first of a summarised conversation": replace(
        context(user(8), limits=LIMITS), first=message(1, "user", [long(60_000)]), summary_through=4
    ),
}


def remember(made: Context) -> Context:
    """The context of the next request, with what is kept of its messages."""
    opening = [each for each in (made.first, made.prompt) if each]
    cuts = decide_cuts([*opening, *made.messages], made.limits)

    def kept(each: AgentMessage) -> AgentMessage:
        return replace(each, cut_factor=cuts.get(each.number, each.cut_factor))

    return replace(
        made, first=made.first and kept(made.first), messages=[kept(m) for m in made.messages]
    )


def body(made: Context, factor: float) -> list[dict[str, Any]]:
    limits = replace(LIMITS, factor=Factor(factor, 50))
    return list(assemble(replace(made, limits=limits)).messages)


@pytest.mark.parametrize("made", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("first", WANDERING[:3])
def test_the_bytes_stay_while_the_factor_wanders_across_tenths(made: Context, first: float) -> None:
    limits = replace(LIMITS, factor=Factor(first, 50))
    before = body(made, first)
    made = remember(replace(made, limits=limits))
    for factor in WANDERING:
        assert body(made, factor) == before, factor
        made = remember(replace(made, limits=replace(LIMITS, factor=Factor(factor, 50))))


def test_what_is_cut_keeps_within_half_of_the_budget_and_is_measured_as_it_is() -> None:
    made = remember(LONG["a message that is cut"])
    for factor in (FALLEN, 0.8, 1.0, 1.1, RISEN):
        limits = replace(LIMITS, factor=Factor(factor, 50))
        [cut] = body(made, factor)[0]["content"]
        real = COUNTER.count(cut["text"]) * factor
        measured = count_sent_tokens(made.messages[0], limits)
        assert real <= measured <= RISEN * preview_limit(made.messages[0], limits)
        assert measure(replace(made, limits=limits), COUNTER).conversation >= measured


def test_a_factor_that_is_another_one_cuts_anew_and_then_that_stays() -> None:
    """As of another model: its tokenizer gives half as many tokens again."""
    made = remember(LONG["a message that is cut"])
    other = replace(LIMITS, factor=Factor(1.42, 0))
    assert body(made, 1.42) != body(made, 1.0)
    made = remember(replace(made, limits=other))
    assert body(made, 1.2) == body(made, 1.42)
    assert find_previewed(made.messages, LIMITS) == [0]


def test_nothing_is_remembered_of_what_is_never_cut() -> None:
    short = context(user(1), assistant(2), message(3, "user", [long(20_000)]), limits=LIMITS)
    assert decide_cuts(short.messages, LIMITS) == {}
