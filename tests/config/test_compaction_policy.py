"""The environment's variables of compaction: each sets one field, and the field does something."""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agent.compaction.plan import Plan, find_protected_first, plan_compaction
from agent.compaction.policy import (
    METHODS,
    Attempt,
    ContextLoad,
    Policy,
    find_breaker_end,
    find_trigger,
)
from agent.compaction.writing.methods import WRITERS
from agent.engine import find_pause_to_use, wants_preparation
from agent.messages import AgentMessage
from config.compaction_policy import VARIABLES, site_policy
from config.variables import Variables
from tests.agent.conversations import LIMITS, call, context, exchanges, message, result, user

NOW = datetime(2026, 11, 21, tzinfo=UTC)
HISTORY = exchanges(100, 1_000)
ROUNDS = [
    user(1),
    *(
        made
        for n in range(2, 42, 2)
        for made in (
            message(n, "assistant", [call(f"t{n}")]),
            message(n + 1, "user", [result(f"t{n}")]),
        )
    ),
]
EVERY = {"COMPACTION_EVERY_ITERATIONS": "8"}


def policy(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> Policy:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Policy(**site_policy(Variables()))


def triggered(used: int, rounds: int = 0) -> Callable[[Policy], Any]:
    return lambda policy: find_trigger(ContextLoad(used, LIMITS, rounds), policy)


def kept(policy: Policy, messages: list[AgentMessage] = HISTORY, trigger: Any = "auto") -> int:
    made = plan_compaction(messages, policy, LIMITS, fixed=0, trigger=trigger)
    assert isinstance(made, Plan)
    return len(made.keep)


def rests(*, failed: bool, number: int, after: int) -> Callable[[Policy], bool]:
    """Whether the breaker holds so many seconds after that many attempts within nine turns."""
    ended = NOW - timedelta(seconds=after)
    attempts = [Attempt(ended, failed, turns_ago=9)] * number
    return lambda policy: find_breaker_end(attempts, policy, NOW) is not None


# Each variable with another value than the usual one, and the field that it sets.
SETS = [
    ("COMPACTION_ENABLED", "false", "enabled"),
    ("COMPACTION_THRESHOLD", "0.9", "threshold_ratio"),
    ("COMPACTION_THRESHOLD_TOKENS", "50000", "threshold_tokens"),
    ("COMPACTION_EVERY_ITERATIONS", "8", "every_iterations"),
    ("COMPACTION_ITERATIONS_MINIMUM", "10000", "iterations_minimum"),
    ("COMPACTION_KEEP_ITERATIONS", "5", "keep_recent_iterations"),
    ("COMPACTION_MAX_MESSAGES", "24", "max_messages"),
    ("COMPACTION_KEEP_FIRST", "false", "keep_first_message"),
    ("COMPACTION_KEEP_MESSAGES", "40", "keep_recent_messages"),
    ("COMPACTION_KEEP_TOKENS", "10000", "keep_recent_tokens"),
    ("SUMMARY_FORM", "short", "summary_form"),
    ("SUMMARY_MAX_TOKENS", "500", "summary_max_tokens"),
    ("SUMMARY_TOTAL_TOKENS", "8000", "summary_total_tokens"),
    ("SUMMARY_PIN_TOKENS", "200", "pin_tokens"),
    ("SUMMARY_INDEX_TOKENS", "300", "index_tokens"),
    ("COMPACTION_ENGINE", "chunks", "engine"),
    ("SUMMARY_INPUT_CHARACTERS", "50000", "input_characters"),
    ("COMPACTION_EXTRACT", "false", "extract_on_failure"),
    ("COMPACTION_DEADLINE_SECONDS", "5", "deadline_seconds"),
    ("COMPACTION_PREPARE", "0.5", "prepare_ratio"),
    ("COMPACTION_PREPARE_BUDGETS", "0", "prepare_budgets"),
    ("COMPACTION_IDLE", "0", "idle_ratio"),
    ("COMPACTION_OVERFLOW_TRIES", "1", "overflow_tries"),
    ("COMPACTION_BREAKER_FAILURES", "2", "breaker_failures"),
    ("COMPACTION_BREAKER_TURNS", "9", "breaker_turns"),
    ("COMPACTION_BREAKER_SECONDS", "60", "breaker_seconds"),
]
# A function of the policy, and its results without and with that value. What the last five do is
# seen in whole compactions: `test_ladder`, `test_socket_compaction`, `test_summary`.
EFFECTS: dict[str, tuple[Callable[[Policy], Any], Any, Any]] = {
    "enabled": (triggered(170_000), "auto", None),
    "threshold_ratio": (triggered(170_000), "auto", None),
    "threshold_tokens": (triggered(50_000), None, "auto"),
    "every_iterations": (triggered(30_000, 8), None, "iterations"),
    "iterations_minimum": (triggered(15_000, 20), None, "iterations"),
    "keep_recent_iterations": (lambda p: kept(p, ROUNDS, "iterations"), 6, 10),
    "max_messages": (kept, 20, 12),
    "keep_first_message": (lambda p: find_protected_first(context(user(1)), p), user(1), None),
    "keep_recent_messages": (kept, 20, 40),
    "keep_recent_tokens": (kept, 20, 10),
    "summary_form": (lambda p: p.chapter_tokens(LIMITS), 2_000, 500),
    "summary_max_tokens": (lambda p: p.chapter_tokens(LIMITS), 2_000, 500),
    "summary_total_tokens": (lambda p: p.total_tokens(LIMITS), 16_000, 8_000),
    "pin_tokens": (lambda p: p.pins_and_index(LIMITS)[0], 1_000, 200),
    "index_tokens": (lambda p: p.pins_and_index(LIMITS)[1], 2_000, 300),
    "prepare_ratio": (lambda p: wants_preparation(100_000, LIMITS, p), False, True),
    "prepare_budgets": (lambda p: p.prepare_tokens_a_day(LIMITS), 4_000_000, None),
    "idle_ratio": (
        lambda p: find_pause_to_use(100_000, LIMITS, p, pauses=[600], cached=300),
        120,
        None,
    ),
    "breaker_failures": (rests(failed=True, number=2, after=1), False, True),
    "breaker_turns": (rests(failed=False, number=3, after=1), False, True),
    "breaker_seconds": (rests(failed=True, number=3, after=90), True, False),
    "engine": (attrgetter("engine"), "auto", "chunks"),
    "input_characters": (attrgetter("input_characters"), 0, 50_000),
    "extract_on_failure": (attrgetter("extract_on_failure"), True, False),
    "overflow_tries": (attrgetter("overflow_tries"), 3, 1),
    "deadline_seconds": (attrgetter("deadline_seconds"), 60.0, 5.0),
}
# Has an effect only where tool rounds compact.
OF_ROUNDS = ("iterations_minimum", "keep_recent_iterations")


@pytest.mark.parametrize(("variable", "value", "field"), SETS)
def test_a_variable_sets_its_field_which_has_an_effect(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, field: str
) -> None:
    before = policy(monkeypatch, EVERY if field in OF_ROUNDS else {})
    after = policy(monkeypatch, {variable: value})
    changed = [f.name for f in fields(Policy) if getattr(before, f.name) != getattr(after, f.name)]
    assert changed == [field]
    effect, usual, then = EFFECTS[field]
    assert (effect(before), effect(after)) == (usual, then)


def test_every_field_has_a_variable_but_what_a_revert_sets() -> None:
    assert {f.name for f in fields(Policy)} - {"held"} == set(VARIABLES)
    assert {field: variable for variable, _, field in SETS} == VARIABLES


def test_without_variables_the_policy_is_the_usual_one() -> None:
    assert Policy(**site_policy(Variables())) == Policy()
    assert site_policy(Variables(), input_characters=5_000)["input_characters"] == 5_000


@pytest.mark.parametrize("engine", METHODS)
def test_every_method_can_be_chosen(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    assert policy(monkeypatch, {"COMPACTION_ENGINE": engine}).engine == engine
    assert list(METHODS) == ["auto", *WRITERS, "extract"]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"COMPACTION_ENGINE": "serialized"}, "one of: auto, warm prefix, serialised, chunks"),
        ({"SUMMARY_FORM": "five parts"}, "SUMMARY_FORM is “five parts”; .* one of: full, short"),
        ({"COMPACTION_THRESHOLD": "80"}, "COMPACTION_THRESHOLD is 80.0; it can be 0.05 to 1.0"),
        ({"COMPACTION_THRESHOLD": "0"}, "COMPACTION_THRESHOLD is 0.0"),
        ({"COMPACTION_PREPARE": "1.5"}, "COMPACTION_PREPARE is 1.5; it can be 0.0 to 1.0"),
        ({"COMPACTION_IDLE": "-1"}, "COMPACTION_IDLE"),
        ({"COMPACTION_KEEP_MESSAGES": "-6"}, "COMPACTION_KEEP_MESSAGES is -6; it can be 0 or more"),
        ({"COMPACTION_BREAKER_FAILURES": "0"}, "COMPACTION_BREAKER_FAILURES is 0; it can be 1"),
        ({"SUMMARY_MAX_TOKENS": "10"}, "SUMMARY_MAX_TOKENS is 10; it can be 100 or more"),
        ({"SUMMARY_MAX_TOKENS": "20000"}, "no more than SUMMARY_TOTAL_TOKENS"),
        ({"SUMMARY_INPUT_CHARACTERS": "100"}, "SUMMARY_INPUT_CHARACTERS is 100; it can be 0"),
        ({"COMPACTION_MAX_MESSAGES": "11"}, "is 11; it can be 0 .no limit., or at least twice"),
        (EVERY | {"COMPACTION_KEEP_ITERATIONS": "8"}, "less than COMPACTION_EVERY_ITERATIONS"),
        (EVERY | {"COMPACTION_KEEP_ITERATIONS": "0"}, "COMPACTION_KEEP_ITERATIONS is 0"),
    ],
)
def test_what_makes_no_sense_stops_the_start_with_what_is_possible(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=words):
        policy(monkeypatch, variables)


def test_rounds_to_keep_do_not_matter_where_rounds_do_not_compact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert policy(monkeypatch, {"COMPACTION_KEEP_ITERATIONS": "0"}).keep_recent_iterations == 0
