"""Where to cut; test_policy.py has when. Numbers in names: the cases of docs/compaction.md."""

from dataclasses import replace

import pytest

from agent.compaction.plan import Plan, apply_compaction, find_protected_first, plan_compaction
from agent.compaction.policy import ContextLoad, Extent, Policy, Trigger, find_trigger
from agent.context.assemble import assemble
from agent.context.summary import Summary
from agent.messages import AgentMessage, Usage
from agent.tokens import Factor, Limits
from tests.agent.conversations import (
    LIMITS,
    assistant,
    call,
    context,
    exchanges,
    message,
    result,
    text,
    user,
)

# Trigger at 8,000, target 4,000 of which a chapter may take 500.
SMALL = Limits(window=20_000, max_output=1_000, budget=10_000, factor=Factor(1.0, 0))
POLICY = Policy()
FEW = Policy(keep_recent_messages=2, keep_recent_tokens=0)


def numbers(messages: list[AgentMessage] | Plan | None) -> list[int] | None:
    """The numbers of the kept messages."""
    kept = messages.keep if isinstance(messages, Plan) else messages
    return None if kept is None else [m.number for m in kept]


def cut(
    messages: list[AgentMessage], policy: Policy = FEW, *, fixed: int = 0, manual: bool = False,
    first: AgentMessage | None = None, limits: Limits = SMALL,
) -> list[int] | None:  # fmt: skip
    trigger: Trigger = "manual" if manual else "auto"
    made = plan_compaction(messages, policy, limits, fixed=fixed, trigger=trigger, first=first)
    if made:
        assert [*made.summarise, *made.keep] == messages
    return numbers(made)


def summary(text: str) -> Summary:
    return Summary((text,))


# --- Due ------------------------------------------------------------------------------------------


def test_due_where_the_request_would_not_fit_the_window_whatever_the_ratio() -> None:
    tight = replace(SMALL, window=10_000)
    late = Policy(threshold_ratio=5.0)
    assert find_trigger(ContextLoad(tight.request_limit, tight), late) is None
    assert find_trigger(ContextLoad(tight.request_limit + 1, tight), late) == "auto"


def test_what_the_cache_served_counts_3() -> None:
    """271,000 + 2,000 from the cache + 1,000 out are over a limit of 272,000."""
    usage = Usage(input_tokens=271_000, cache_read_input_tokens=2_000, output_tokens=1_000)
    limits = Limits(340_000, 64_000, 340_000, Factor(1.0, 0))
    assert POLICY.trigger_tokens(limits) == 272_000
    assert find_trigger(ContextLoad(usage.input_tokens, limits), POLICY) is None
    assert find_trigger(ContextLoad(usage.total, limits), POLICY) == "auto"


@pytest.mark.parametrize("budget", [8_192, 32_000, 200_000, 1_000_000])
def test_sizes_shrink_with_the_budget(budget: int) -> None:
    limits = Limits(budget, 128_000, budget, Factor(1.5, 0))
    assert POLICY.chapter_tokens(limits) <= min(2_000, budget / 10)
    assert POLICY.total_tokens(limits) <= min(16_000, budget * 0.15)
    pins, index = POLICY.pins_and_index(limits)
    assert pins + index <= min(3_000, budget * 0.09)
    assert POLICY.trigger_tokens(limits) == int(budget * 0.8)


# --- Plan -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("messages", [[], [user(1)], exchanges(1), [*exchanges(1), user(3)][:2]])
def test_there_is_nothing_to_summarise_before_the_last_exchange(
    messages: list[AgentMessage], manual: bool
) -> None:
    assert cut(messages, manual=manual) is None


def test_one_message_is_too_little_to_summarise() -> None:
    assert cut([assistant(1), user(2), assistant(3)], manual=True) is None


def test_the_last_messages_are_kept_and_more_of_them_while_they_are_small() -> None:
    history = exchanges(20, 100)
    assert cut(history, FEW) == [39, 40]
    assert cut(history, Policy(keep_recent_messages=6, keep_recent_tokens=0)) == [*range(35, 41)]
    # A fifth of the budget is the most that tokens alone keep.
    assert cut(history, Policy(keep_recent_messages=0)) == [*range(21, 41)]


def test_what_is_kept_stays_under_the_target() -> None:
    history = exchanges(10, 700)
    assert cut(history, POLICY) == [16, 17, 18, 19, 20]
    assert cut(history, POLICY, fixed=500) == [17, 18, 19, 20]


def test_the_protected_first_message_takes_its_place_in_the_target() -> None:
    history = exchanges(10, 700)
    assert cut(history, POLICY, first=user(0, tokens=1_000)) == [18, 19, 20]


def test_a_last_exchange_over_the_target_is_kept_alone() -> None:
    history = [*exchanges(3, 100), user(7, tokens=6_000), assistant(8, tokens=6_000)]
    assert cut(history, POLICY) == [7, 8]


def test_keeping_what_is_there_is_a_no_op_2() -> None:
    """A target that everything fits into."""
    assert cut(exchanges(3, 100), POLICY) is None


def test_by_hand_everything_but_the_last_exchange_goes() -> None:
    assert cut(exchanges(3, 100), POLICY, manual=True) == [5, 6]


@pytest.mark.parametrize("trigger", ["manual", "overflow", "model_switch", "tool"])
def test_a_full_window_leaves_the_last_exchange_as_well(trigger: Trigger) -> None:
    done = plan_compaction(exchanges(3, 100), POLICY, SMALL, fixed=0, trigger=trigger)
    assert numbers(done) == [5, 6]


def test_a_plan_by_hand_keeps_a_quarter_at_most() -> None:
    history = exchanges(10, 700)
    assert cut(history, POLICY, manual=True) == [19, 20]
    assert cut(history, POLICY) == [16, 17, 18, 19, 20]
    longer = exchanges(40, 100)
    assert len(cut(longer, replace(POLICY, keep_recent_tokens=4_000), manual=True)) == 20


def test_a_gentle_plan_by_hand_keeps_half_at_most_under_the_target() -> None:
    def gentle(history: list[AgentMessage], limits: Limits = SMALL) -> list[int] | None:
        planned = plan_compaction(
            history, POLICY, limits, fixed=0, trigger="manual", extent=Extent.GENTLE
        )
        return numbers(planned)

    longer = exchanges(40, 100)
    assert cut(longer, POLICY, manual=True) == [*range(61, 81)]
    # 3,500 tokens are under the target, though over what is kept without being asked for.
    assert gentle(longer) == [*range(46, 81)]
    assert gentle(longer, replace(SMALL, budget=20_000)) == [*range(41, 81)]
    assert gentle(exchanges(2)) == cut(exchanges(2), manual=True) == [3, 4]


@pytest.mark.parametrize("trigger", ["auto", "messages", "manual", "prepared"])
def test_where_messages_are_limited_half_of_that_are_kept_at_most(trigger: Trigger) -> None:
    few = replace(POLICY, max_messages=20)
    planned = plan_compaction(exchanges(40, 10), few, SMALL, fixed=0, trigger=trigger)
    assert numbers(planned) == [*range(71, 81)]


def test_of_a_long_turn_of_rounds_only_the_newest_are_kept_where_messages_are_limited() -> None:
    history = [*exchanges(1), user(3)]
    for number in range(4, 24, 2):
        history += [
            message(number, "assistant", [call(f"c{number}")]),
            message(number + 1, "user", [result(f"c{number}")]),
        ]
    few = replace(POLICY, max_messages=16)
    planned = plan_compaction(history, few, SMALL, fixed=0, trigger=Trigger.MESSAGES)
    assert numbers(planned) == [*range(18, 24)]


def test_sizes_are_real_tokens() -> None:
    doubled = replace(SMALL, factor=Factor(2.0, 0))
    assert cut(exchanges(10, 350), POLICY, limits=doubled) == cut(exchanges(10, 700), POLICY)


# --- Whole rounds ---------------------------------------------------------------------------------


def rounds(*tokens: int) -> list[AgentMessage]:
    """A prompt, a call, its result, the answer, and the next prompt."""
    h1, a, t, h2, h3 = tokens
    return [
        user(1, tokens=h1),
        message(2, "assistant", [call("c1")], a),
        message(3, "user", [result("c1")], t),
        user(4, tokens=h2),
        user(5, tokens=h3),
    ]


def test_a_call_and_its_result_are_kept_or_summarised_together_1() -> None:
    """500 tokens would take the result and not the call: here the pair is summarised."""
    history = rounds(300, 200, 50, 180, 160)
    keeping = Policy(keep_recent_messages=0, keep_recent_tokens=500)
    assert cut(history, keeping) == [4, 5]
    longer = [user(-1), assistant(0), *history]
    assert cut(longer, replace(keeping, keep_recent_tokens=590)) == [2, 3, 4, 5]


def test_an_open_call_at_the_end_stays_with_its_prompt_8() -> None:
    history = [*exchanges(1), user(3), message(4, "assistant", [call("c1")])]
    assert cut(history, Policy(keep_recent_messages=0, keep_recent_tokens=0)) == [3, 4]


def test_a_last_prompt_that_came_with_results_keeps_their_calls_too() -> None:
    history = [
        *exchanges(1, 3_000),
        user(3),
        message(4, "assistant", [call("c1"), call("c2")], 3_000),
        message(5, "assistant", [text("Hold on.")], 10),
        message(6, "user", [result("c1")], 3_000),
        message(7, "user", [result("c2"), text("Hurry.")], 10),
    ]
    assert cut(history, Policy(keep_recent_messages=0, keep_recent_tokens=0)) == [4, 5, 6, 7]


def test_ids_that_repeat_in_every_round_do_not_chain_the_rounds_together() -> None:
    history = [user(1)]
    for number in range(2, 42, 2):
        history += [
            message(number, "assistant", [call("call_0")], 100),
            message(number + 1, "user", [result("call_0")], 100),
        ]
    history += [assistant(42), user(43)]
    assert cut(history, Policy(keep_recent_messages=5, keep_recent_tokens=0)) == [*range(40, 44)]


def test_a_result_whose_call_is_summarised_already_may_be_cut_off() -> None:
    history = [message(5, "user", [result("gone")]), assistant(6), *exchanges(2, start=7)]
    assert cut(history, FEW) == [9, 10]


# --- Again and again ------------------------------------------------------------------------------


def test_a_second_compaction_reads_what_the_first_one_kept_6() -> None:
    """[u1 a1 u2 a2 u3 a3, summary that keeps from u2, u4 a4]: nothing between is lost."""
    first = plan_compaction(exchanges(3), replace(FEW, keep_recent_messages=4), SMALL, fixed=0)
    assert first
    assert numbers(first.summarise) == [1, 2]
    made = apply_compaction(context(*exchanges(3)), first, summary("Summary 1."), POLICY)
    history = [*made.messages, *exchanges(1, start=7)]
    second = plan_compaction(history, FEW, SMALL, fixed=0)
    assert second
    assert numbers(second.summarise) == [3, 4, 5, 6]
    assert numbers(second.keep) == [7, 8]


def test_after_two_compactions_only_the_newest_summary_is_sent_11() -> None:
    made = context(*exchanges(3), limits=SMALL)
    for number, said in ((7, "SUMMARY1"), (9, "SUMMARY2")):
        done = plan_compaction(made.messages, FEW, SMALL, fixed=0, trigger="manual")
        assert done
        made = apply_compaction(made, done, summary(said), POLICY)
        made = replace(made, messages=[*made.messages, *exchanges(1, start=number)])
    body = str(assemble(replace(made, messages=[*made.messages, user(11, "NEW")])).body())
    assert "SUMMARY2" in body
    assert "SUMMARY1" not in body
    assert [f"Q{n}" in body for n in (1, 3, 5, 7, 9)] == [True, False, False, True, True]
    assert "NEW" in body


def test_the_first_prompt_is_protected_from_the_first_compaction_on() -> None:
    made = context(*exchanges(4))
    assert find_protected_first(made, POLICY) == made.messages[0]
    assert find_protected_first(made, Policy(keep_first_message=False)) is None
    assert find_protected_first(context(), POLICY) is None
    assert find_protected_first(context(assistant(1), *exchanges(2, start=2)), POLICY) is None
    done = plan_compaction(made.messages, FEW, LIMITS, fixed=0)
    assert done
    after = apply_compaction(made, done, summary("S"), POLICY)
    assert (after.first, after.summary_through) == (made.messages[0], 6)
    assert find_protected_first(after, POLICY) == made.messages[0]
    assert (
        apply_compaction(made, done, summary("S"), Policy(keep_first_message=False)).first is None
    )
