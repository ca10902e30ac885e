"""When to compact: every trigger, every switch, the breaker."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agent.compaction.plan import plan_compaction
from agent.compaction.policy import (
    Attempt,
    ContextLoad,
    Policy,
    find_breaker_end,
    find_trigger,
)
from agent.engine import wants_preparation
from agent.tokens import Factor, Limits
from tests.agent.conversations import call, message, result, user

LIMITS = Limits(window=1_000_000, max_output=64_000, budget=100_000, factor=Factor(1.0, 0))
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def state(used: int, **values: object) -> ContextLoad:
    return ContextLoad(used, LIMITS, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("used", "trigger"), [(79_999, None), (80_000, "auto"), (81_000, "auto")])
def test_compacts_from_the_ratio_of_the_budget_on(used: int, trigger: str | None) -> None:
    assert find_trigger(state(used), Policy()) == trigger


def test_compacts_from_a_number_of_tokens_on() -> None:
    policy = Policy(threshold_tokens=50_000)
    assert find_trigger(state(49_999), policy) is None
    assert find_trigger(state(50_000), policy) == "auto"


def test_compacts_every_so_many_tool_rounds_but_not_a_small_context() -> None:
    policy = Policy(every_iterations=8)
    assert find_trigger(state(30_000, iterations=7), policy) is None
    assert find_trigger(state(30_000, iterations=8), policy) == "iterations"
    assert find_trigger(state(30_000, iterations=800), Policy()) is None
    large = replace(LIMITS, budget=400_000)
    assert find_trigger(ContextLoad(19_999, large, 8), policy) is None
    assert find_trigger(ContextLoad(20_000, large, 8), policy) == "iterations"


def test_in_a_small_window_fewer_tokens_are_enough_for_the_tool_rounds_to_compact() -> None:
    """A tenth of the budget."""
    policy = Policy(every_iterations=8)
    assert find_trigger(state(9_999, iterations=8), policy) is None
    assert find_trigger(state(10_000, iterations=8), policy) == "iterations"


def test_compacts_a_small_context_of_too_many_messages() -> None:
    assert find_trigger(state(1_000, messages=100_000), Policy()) is None
    few = Policy(max_messages=400)
    assert find_trigger(state(1_000, messages=400), few) is None
    assert find_trigger(state(1_000, messages=401), few) == "messages"
    assert find_trigger(state(1_000, messages=401), replace(few, held=True)) is None
    assert find_trigger(state(81_000, messages=401), few) == "auto"
    assert [wants_preparation(0, LIMITS, few, n) for n in (339, 340)] == [False, True]
    assert not wants_preparation(0, LIMITS, replace(few, prepare_ratio=0.0), 340)


def test_compacts_when_the_window_is_full_before_the_budget() -> None:
    small = Limits(window=50_000, max_output=8_000, budget=50_000, factor=Factor(1.0, 0))
    policy = Policy(threshold_ratio=0.99)
    assert find_trigger(ContextLoad(small.request_limit + 1, small), policy) == "auto"


def test_after_a_revert_only_the_window_compacts() -> None:
    policy = Policy(held=True)
    assert find_trigger(state(99_000), policy) is None
    assert find_trigger(state(LIMITS.request_limit + 1), policy) == "auto"


def test_the_master_switch_stops_all_of_them() -> None:
    off = Policy(enabled=False, every_iterations=1, threshold_tokens=1)
    assert find_trigger(state(999_999, iterations=9), off) is None


def test_the_thresholds_of_preparation_and_pause_follow_the_trigger() -> None:
    assert Policy().prepare_tokens(LIMITS) == 75_000, "a quarter of the recent messages before it"
    assert Policy().near_tokens(LIMITS) == 70_000
    assert Policy().waiting_tokens(LIMITS) == 88_000
    assert Policy().idle_tokens(LIMITS) == 40_000


def test_a_window_with_little_room_above_the_trigger_prepares_before_it() -> None:
    small = replace(LIMITS, window=100_000)  # of which 84,000 are for the request, and 1 % margin
    assert small.request_limit == 83_000
    assert Policy().prepare_tokens(small) == 68_000
    assert Policy().waiting_tokens(small) == 83_000
    larger = replace(LIMITS, window=110_000)
    assert Policy().prepare_tokens(larger) == larger.request_limit - 20_000 < 75_000
    assert Policy(prepare_ratio=0.5).prepare_tokens(small) == 40_000


def test_keeps_the_last_tool_rounds_when_rounds_trigger_it() -> None:
    messages = [user(1)]
    for number in range(2, 18, 2):
        messages.append(message(number, "assistant", [call(f"t{number}")]))
        messages.append(message(number + 1, "user", [result(f"t{number}")]))
    cut = plan_compaction(messages, Policy(), LIMITS, fixed=0, trigger="iterations")
    assert cut is not None
    assert [m.number for m in cut.keep] == [12, 13, 14, 15, 16, 17]


def test_a_chapter_gets_smaller_the_less_room_is_left() -> None:
    policy = Policy()
    big = Limits(window=1_000_000, max_output=64_000, budget=200_000, factor=Factor(1.0, 0))
    assert policy.chapter_tokens(big) == 2_000
    assert policy.chapter_tokens(big, written=12_000) == 1_000
    assert policy.chapter_tokens(big, written=20_000) == 500
    assert Policy(summary_max_tokens=500).chapter_tokens(big) == 500


# --- The breaker ----------------------------------------------------------------------------------


def attempts(*failed: bool, turns_apart: int = 10, minutes_ago: float = 0) -> list[Attempt]:
    """Newest first."""
    ended = NOW - timedelta(minutes=minutes_ago)
    return [Attempt(ended, f, (i + 1) * turns_apart) for i, f in enumerate(failed)]


def test_three_failures_in_a_row_rest_automatic_compaction() -> None:
    policy = Policy()
    assert find_breaker_end(attempts(True, True), policy, NOW) is None
    assert find_breaker_end(attempts(True, True, False), policy, NOW) is None
    assert find_breaker_end(attempts(True, True, True), policy, NOW) == NOW + timedelta(minutes=5)


def test_three_compactions_within_three_turns_rest_it() -> None:
    loop = attempts(False, False, False, turns_apart=1)
    assert find_breaker_end(loop, Policy(), NOW) is not None
    assert find_breaker_end(attempts(False, False, False, turns_apart=2), Policy(), NOW) is None


def test_the_rest_is_over_after_the_cool_down() -> None:
    assert find_breaker_end(attempts(True, True, True, minutes_ago=6), Policy(), NOW) is None
