"""The one order of steps before a request, and the meter that it starts from."""

import math
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from agent.compaction.policy import Policy, Trigger
from agent.context.assemble import Context, measure
from agent.context.shortening.previews import preview_limit
from agent.engine import (
    BreakerOpen,
    Compact,
    MeteredContext,
    Prune,
    Send,
    Step,
    Swap,
    Trim,
    UsageReport,
    find_pause_to_use,
    meter,
    next_step,
    plan_next,
    send_or_trim,
    trim_if_needed,
)
from agent.messages import Block, RealTokens, Usage
from tests.agent.conversations import (
    COUNTER,
    LIMITS,
    assistant,
    call,
    context,
    contexts,
    exchanges,
    image,
    message,
    result,
    text,
    user,
)

POLICY = Policy()
FULL = LIMITS.request_limit + 1
LOG = "line of a log\n" * 12_000
# Old results that are worth pruning, and newer messages that stay whole.
PRUNABLE = [
    user(1),
    message(2, "assistant", [call("t1")]),
    message(3, "user", [result("t1", LOG)]),
    message(4, "assistant", [call("t2")]),
    message(5, "user", [result("t2", LOG)]),
    message(6, "assistant", [call("t3")]),
    message(7, "user", [result("t3", LOG)]),
    *exchanges(4, start=8),
]


@dataclass
class Situation:
    """A situation by hand; `questions` are those that the engine had to ask."""

    asked: bool = False
    rounds: int = 0
    warm: bool = True
    ready: Trigger | None = None
    writing: bool = False
    is_open: bool = False
    questions: list[str] = field(default_factory=list)

    def find_prepared(self) -> Trigger | None:
        self.questions.append("prepared")
        return self.ready

    def is_writing(self) -> bool:
        self.questions.append("writing")
        return self.writing

    def is_breaker_open(self) -> bool:
        self.questions.append("breaker")
        return self.is_open


def metered(used: int, made: Context | None = None) -> MeteredContext:
    size = meter(made or context(*exchanges(4)), COUNTER)
    return replace(size, used=used)


def step(used: int, policy: Policy = POLICY, made: Context | None = None, **values: object) -> Step:
    return next_step(metered(used, made), policy, Situation(**values), COUNTER)


@pytest.mark.parametrize(
    ("used", "situation", "expected"),
    [
        (1_000, {}, Send()),
        (1_000, {"ready": Trigger.PREPARED}, Send()),
        (160_000, {"ready": Trigger.PREPARED}, Swap()),
        (160_000, {"ready": Trigger.IDLE}, Swap()),
        # Just over the trigger nobody waits: the summary is prepared after the reply.
        (175_999, {}, Send()),
        (176_000, {}, Compact(Trigger.AUTO)),
        (176_000, {"writing": True}, Send()),
        (160_000, {"is_open": True}, BreakerOpen()),
        (FULL, {"writing": True}, Compact(Trigger.AUTO)),
        (FULL, {"is_open": True, "ready": Trigger.PREPARED}, Swap()),
        # In a pause that outlived the cache the swap costs nothing, if the context is large.
        (100_000, {"ready": Trigger.IDLE, "warm": False}, Swap()),
        (100_000, {"ready": Trigger.IDLE}, Send()),
        (100_000, {"ready": Trigger.PREPARED, "warm": False}, Send()),
        (79_999, {"ready": Trigger.IDLE, "warm": False}, Send()),
        # One that was made in a pause near the trigger is soon due anyway.
        (139_999, {"ready": Trigger.IDLE}, Send()),
        (140_000, {"ready": Trigger.IDLE}, Swap()),
        (159_999, {"ready": Trigger.PREPARED}, Send()),
        # The model's own wish comes first, as it names what to keep.
        (1_000, {"asked": True}, Compact(Trigger.TOOL)),
        (160_000, {"asked": True, "ready": Trigger.PREPARED}, Compact(Trigger.TOOL)),
        (1_000, {"asked": True, "is_open": True}, BreakerOpen()),
        (160_000, {"asked": True, "is_open": True, "ready": Trigger.PREPARED}, Swap()),
    ],
)
def test_the_cheapest_step_that_makes_room_comes_first(
    used: int, situation: dict[str, object], expected: Step
) -> None:
    assert step(used, **situation) == expected


def test_a_swap_comes_before_pruning_and_pruning_before_a_compaction() -> None:
    made = context(*PRUNABLE)
    assert step(160_000, made=made, ready=Trigger.PREPARED) == Swap()
    pruned = step(160_000, made=made)
    assert isinstance(pruned, Prune)
    made = replace(made, pruned_through=pruned.pruning.through)
    assert step(176_000, made=made) == Compact(Trigger.AUTO)


def test_results_that_much_was_written_after_are_pruned_only_where_somebody_would_wait() -> None:
    """To write all that anew costs more than a compaction does for as much."""
    made = context(*PRUNABLE, *exchanges(40, 1_500, start=16))
    assert step(160_000, made=made) == Send()
    assert isinstance(step(160_000, made=made, warm=False), Prune), "all is written anew anyway"
    assert step(176_000, made=made, writing=True) == Send()
    assert isinstance(step(176_000, made=made), Prune)
    assert isinstance(step(160_000, made=made, is_open=True), Prune)


def test_after_a_summary_results_before_the_recent_messages_are_pruned_too() -> None:
    made = context(*PRUNABLE, *exchanges(4, 4_000, start=16), summary_through=1)
    made = replace(made, messages=made.messages[1:])
    pruned = step(70_000, made=made, warm=False)
    assert isinstance(pruned, Prune)
    assert pruned.pruning.through < 22, "20,000 tokens stay as they are"
    assert step(70_000, made=made) == Send(), "what is cached is not written again"
    assert step(70_000, Policy(enabled=False), made=made, warm=False) == Send()


def test_a_turn_waits_at_the_trigger_where_nothing_is_prepared() -> None:
    assert step(160_000, Policy(prepare_ratio=0)) == Compact(Trigger.AUTO)


def test_many_rounds_compact_for_their_own_reason() -> None:
    policy = Policy(every_iterations=8)
    assert step(30_000, policy, rounds=8) == Compact(Trigger.ITERATIONS)


def test_with_compaction_off_a_context_is_only_trimmed() -> None:
    off = Policy(enabled=False)
    idle = {"ready": Trigger.IDLE, "warm": False}
    assert step(160_000, off, **idle) == Send()
    assert step(FULL, off, **idle) == Trim(LIMITS.request_limit)


def test_a_server_that_takes_less_than_its_window_gets_less() -> None:
    assert send_or_trim(metered(1_000)) == Send()
    assert send_or_trim(metered(1_000), 900) == Trim(900)
    assert send_or_trim(metered(FULL), 10 * FULL) == Trim(LIMITS.request_limit)
    assert trim_if_needed(metered(1_000), COUNTER).omitted == 0
    assert trim_if_needed(metered(1_000), COUNTER, 900).omitted > 0


def test_a_short_conversation_costs_no_question() -> None:
    situation = Situation(warm=False)
    next_step(metered(1_000), POLICY, situation, COUNTER)
    assert situation.questions == []


situations = st.builds(
    Situation,
    asked=st.booleans(),
    rounds=st.integers(0, 20),
    warm=st.booleans(),
    ready=st.sampled_from([None, Trigger.PREPARED, Trigger.IDLE]),
    writing=st.booleans(),
    is_open=st.booleans(),
)
policies = st.builds(
    Policy,
    enabled=st.booleans(),
    held=st.booleans(),
    every_iterations=st.sampled_from([0, 8]),
    threshold_ratio=st.floats(0.05, 1.0),
    idle_ratio=st.floats(0.0, 1.0),
)


@given(contexts(), policies, situations, st.floats(0, 1.5))
def test_from_any_state_a_few_steps_lead_to_a_request_or_a_compaction(
    made: Context, policy: Policy, situation: Situation, fill: float
) -> None:
    """Each step that makes room is done once; what a state asks for is possible in it."""
    taken = []
    while True:
        state = metered(int(fill * made.limits.window), made)
        taken.append(next_step(state, policy, situation, COUNTER))
        match taken[-1]:
            case Swap():
                assert situation.ready
                situation.ready = None
            case Prune(pruning):
                assert pruning.through > made.pruned_through
                made = replace(made, pruned_through=pruning.through)
            case Compact(trigger):
                assert not situation.is_open
                assert (trigger == Trigger.TOOL) == situation.asked
                break
            case BreakerOpen():
                assert situation.is_open
                break
            case Send():
                assert state.fits
                break
            case Trim(most):
                assert not state.fits
                assert most == made.limits.request_limit
                # Only where nothing can be compacted: a full window is due by any setting.
                assert not policy.enabled
                break
    kinds = [type(each) for each in taken]
    assert len(set(kinds)) == len(kinds)
    assert [kind for kind in kinds if kind in (Swap, Prune)] == kinds[:-1]
    event(" ".join(kind.__name__ for kind in kinds))


# --- The meter ------------------------------------------------------------------------------------


def test_the_meter_adds_an_estimate_of_what_is_newer_to_the_last_report() -> None:
    made = context(*exchanges(2, 100))  # messages 1 to 4
    usage = Usage(input_tokens=1_000, output_tokens=50)
    assert meter(made, COUNTER).estimated
    assert meter(made, COUNTER).used == meter(made, COUNTER).size.total
    at_end = meter(made, COUNTER, UsageReport(4, usage))
    assert (at_end.used, at_end.estimated) == (1_050, False)
    before = meter(made, COUNTER, UsageReport(2, usage))
    assert (before.used, before.estimated) == (1_250, True)


def test_a_report_of_a_stopped_reply_leaves_most_of_its_text_to_be_estimated() -> None:
    made = context(*exchanges(2, 100))
    seen = meter(made, COUNTER, UsageReport(4, Usage(1_000, 1), complete=False))
    assert (seen.used, seen.estimated) == (1_100, True)


def test_thinking_counts_only_while_its_turn_runs() -> None:
    usage = Usage(1_000, 50)
    over = context(*exchanges(1, 100))
    assert meter(over, COUNTER, UsageReport(2, usage, thinking=40)).used == 1_010
    asks = message(2, "assistant", [call("t1")], 100)
    running = context(user(1), asks, message(3, "user", [result("t1")], 100))
    assert meter(running, COUNTER, UsageReport(2, usage, thinking=40)).used == 1_150


def test_thinking_counts_in_all_turns_of_a_model_that_keeps_it() -> None:
    usage = Usage(1_000, 50)
    thoughts = {2: RealTokens(20), 4: RealTokens(60)}
    history = [replace(m, thinking=thoughts.get(m.number, 0)) for m in exchanges(2, 100)]
    over = replace(context(*history), model="claude-sonnet-5-5")
    assert meter(over, COUNTER, UsageReport(4, usage, thinking=60)).used == 1_050
    assert measure(over, COUNTER).conversation == 4 * 100 + 20 + 60
    long = replace(over, messages=[replace(m, thinking=RealTokens(9_000)) for m in history])
    assert not meter(long, COUNTER, UsageReport(4, usage, 9_000)).doubted
    moved_on = replace(over, thinking_from=4)  # the prompt changed before the last reply
    assert measure(moved_on, COUNTER).conversation == 4 * 100 + 60
    assert meter(replace(over, thinking_from=5), COUNTER, UsageReport(4, usage, 60)).used == 990


@pytest.mark.parametrize(
    ("share", "doubted"), [(0.0005, True), (0.49, True), (0.5, False), (3.0, False)]
)
def test_a_report_under_half_of_the_estimate_is_not_believed(share: float, doubted: bool) -> None:
    made = context(*exchanges(10, 1_000))
    asked = meter(context(*made.messages[:-1]), COUNTER).used
    # What it wrote is no part of what it was asked with.
    reported = Usage(math.ceil(share * asked), output_tokens=20_000)
    seen = meter(made, COUNTER, UsageReport(20, reported))
    assert (seen.doubted, seen.estimated) == (doubted, doubted)
    assert seen.used == (seen.size.total if doubted else reported.total)


@pytest.mark.parametrize(("share", "doubted"), [(0.001, True), (0.49, True), (0.5, False)])
def test_an_answer_of_which_too_few_tokens_were_reported_is_counted(
    share: float, doubted: bool
) -> None:
    made = context(user(1, tokens=100), assistant(2, tokens=8_000), user(3, tokens=50))
    written, newest = (LIMITS.factor.apply(m.tokens) for m in made.messages[1:])
    usage = Usage(1_000, math.ceil(share * written))
    seen = meter(made, COUNTER, UsageReport(2, usage))
    assert (seen.doubted, seen.estimated) == (doubted, True)
    assert seen.used == 1_000 + (written if doubted else usage.output_tokens) + newest


def test_few_tokens_of_a_short_answer_or_of_the_servers_own_tools_are_no_reason_to_doubt() -> None:
    short = context(user(1), assistant(2, tokens=90))
    assert not meter(short, COUNTER, UsageReport(2, Usage(100, 1))).doubted
    block = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    paused = context(user(1), message(2, "assistant", [block, text("Found.")], 9_000))
    assert not meter(paused, COUNTER, UsageReport(2, Usage(100, 3))).doubted


@pytest.mark.parametrize(
    "block",
    [
        image(),
        result("t1", [image()]),
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
    ],
)
def test_what_only_the_server_can_count_is_no_reason_to_doubt_it(block: Block) -> None:
    pages = message(1, "user", [block, text("What is on it?")], 70_000)
    made = context(pages, assistant(2, tokens=100))
    told = meter(made, COUNTER, UsageReport(2, Usage(3_000, 100)))
    assert (told.used, told.doubted) == (3_100, False)
    assert meter(made, COUNTER, UsageReport(2, Usage(1, 100))).doubted


def test_what_is_newer_counts_as_it_is_sent() -> None:
    made = context(*exchanges(2, 100), user(5, tokens=300_000))
    seen = meter(made, COUNTER, UsageReport(4, Usage(1_000, 50)))
    assert seen.used == 1_050 + preview_limit(made.messages[-1], LIMITS)


@pytest.mark.parametrize(
    ("pauses", "expected"), [([], None), ([299.0], None), ([10.0, 301.0, 20.0], 120.0)]
)
def test_a_pause_is_used_where_the_user_came_back_after_one(
    pauses: list[float], expected: float | None
) -> None:
    """In time for a summary, and its correction, to be there when the cache expires."""
    assert find_pause_to_use(100_000, LIMITS, POLICY, pauses=pauses, cached=300.0) == expected


@pytest.mark.parametrize(
    ("used", "expected"), [(79_999, None), (139_999, 3_420.0), (140_000, 120.0)]
)
def test_near_the_trigger_a_pause_is_used_though_the_cache_outlives_it(
    used: int, expected: float | None
) -> None:
    pauses = [360.0]
    assert find_pause_to_use(used, LIMITS, POLICY, pauses=pauses, cached=3_600.0) == expected


def test_a_prepared_summary_leaves_room_for_what_comes_until_it_is_used() -> None:
    """What it keeps and what comes until the trigger are together as long as that should be. One
    that is written in a pause is used next."""
    made = context(*exchanges(100, 1_000))

    def keep(used: int, trigger: Trigger) -> int:
        planned = plan_next(metered(used, made), POLICY, trigger)
        assert planned is not None
        return sum(message.tokens for message in planned.keep)

    assert keep(155_000, Trigger.PREPARED) == 15_000
    assert keep(161_000, Trigger.PREPARED) == 20_000
    assert keep(100_000, Trigger.PREPARED) == 10_000, "not everything that is kept is to come"
    assert keep(155_000, Trigger.IDLE) == keep(155_000, Trigger.AUTO) == 20_000
