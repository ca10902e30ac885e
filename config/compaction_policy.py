"""The site's defaults of compaction: one environment variable for each field of the policy.

Values that make no sense stop the start: a typo would otherwise show up only in summaries, or
never.
"""

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from agent.compaction.policy import METHODS, ChapterForm, Method, Policy
from config.variables import Variables

VARIABLES = {
    "enabled": "COMPACTION_ENABLED",
    "threshold_ratio": "COMPACTION_THRESHOLD",
    "threshold_tokens": "COMPACTION_THRESHOLD_TOKENS",
    "every_iterations": "COMPACTION_EVERY_ITERATIONS",
    "iterations_minimum": "COMPACTION_ITERATIONS_MINIMUM",
    "keep_recent_iterations": "COMPACTION_KEEP_ITERATIONS",
    "max_messages": "COMPACTION_MAX_MESSAGES",
    "keep_first_message": "COMPACTION_KEEP_FIRST",
    "keep_recent_messages": "COMPACTION_KEEP_MESSAGES",
    "keep_recent_tokens": "COMPACTION_KEEP_TOKENS",
    "summary_form": "SUMMARY_FORM",
    "summary_max_tokens": "SUMMARY_MAX_TOKENS",
    "summary_total_tokens": "SUMMARY_TOTAL_TOKENS",
    "index_tokens": "SUMMARY_INDEX_TOKENS",
    "pin_tokens": "SUMMARY_PIN_TOKENS",
    "engine": "COMPACTION_ENGINE",
    "input_characters": "SUMMARY_INPUT_CHARACTERS",
    "extract_on_failure": "COMPACTION_EXTRACT",
    "deadline_seconds": "COMPACTION_DEADLINE_SECONDS",
    "prepare_ratio": "COMPACTION_PREPARE",
    "prepare_budgets": "COMPACTION_PREPARE_BUDGETS",
    "idle_ratio": "COMPACTION_IDLE",
    "overflow_tries": "COMPACTION_OVERFLOW_TRIES",
    "breaker_failures": "COMPACTION_BREAKER_FAILURES",
    "breaker_turns": "COMPACTION_BREAKER_TURNS",
    "breaker_seconds": "COMPACTION_BREAKER_SECONDS",
}
# The range in which a value makes sense; all other numbers are 0 or more.
RANGES = {
    "threshold_ratio": (0.05, 1.0),
    "prepare_ratio": (0.0, 1.0),
    "idle_ratio": (0.0, 1.0),
    "summary_max_tokens": (100, inf),
    "summary_total_tokens": (100, inf),
    "breaker_failures": (1, inf),
}
LEAST_CHARACTERS = 2_000  # of a summary model's input: less is not a transcript


def site_policy(env: Variables, **defaults: Any) -> dict[str, Any]:
    """The policy's fields with the site's values. `defaults` take the place of the policy's own.
    Raises ImproperlyConfigured, which names the variables and what they can be."""
    values = {name: _read(env, name, defaults) for name in VARIABLES}
    if wrong := [*_out_of_range(values), *_at_odds(Policy(**values))]:
        raise ImproperlyConfigured(" ".join(wrong))
    return values | {
        "engine": Method(values["engine"]),
        "summary_form": ChapterForm(values["summary_form"]),
    }


def _read(env: Variables, name: str, defaults: dict[str, Any]) -> Any:
    default = defaults.get(name, getattr(Policy(), name))
    readers: dict[type, Callable[..., Any]] = {
        bool: env.bool,
        int: partial(env.int, least=-inf),  # RANGES comes later
        float: partial(env.float, least=-inf),
        Method: env.str,
        ChapterForm: env.str,
    }
    return readers[type(default)](VARIABLES[name], default)


def _out_of_range(values: dict[str, Any]) -> list[str]:
    wrong = []
    for name, value in values.items():
        least, most = RANGES.get(name, (0, inf))
        if isinstance(value, int | float) and not least <= value <= most:
            possible = f"{least} or more" if most == inf else f"{least} to {most}"
            wrong.append(f"{VARIABLES[name]} is {value}; it can be {possible}.")
    return wrong


def _at_odds(policy: Policy) -> list[str]:
    wrong = []
    if policy.engine not in METHODS:
        names = ", ".join(METHODS)
        wrong.append(f"COMPACTION_ENGINE is “{policy.engine}”; it can be one of: {names}.")
    if policy.summary_form not in list(ChapterForm):
        names = ", ".join(ChapterForm)
        wrong.append(f"SUMMARY_FORM is “{policy.summary_form}”; it can be one of: {names}.")
    if policy.every_iterations and not 0 < policy.keep_recent_iterations < policy.every_iterations:
        wrong.append(
            f"COMPACTION_KEEP_ITERATIONS is {policy.keep_recent_iterations}; it must be at least 1 "
            f"and less than COMPACTION_EVERY_ITERATIONS ({policy.every_iterations})."
        )
    if 0 < policy.max_messages < 2 * policy.keep_recent_messages:
        wrong.append(
            f"COMPACTION_MAX_MESSAGES is {policy.max_messages}; it can be 0 (no limit), or at "
            f"least twice COMPACTION_KEEP_MESSAGES ({policy.keep_recent_messages}): a compaction "
            "keeps half of it at most."
        )
    if policy.summary_max_tokens > policy.summary_total_tokens:
        wrong.append(
            f"SUMMARY_MAX_TOKENS is {policy.summary_max_tokens}, of one chapter; it can be no more "
            f"than SUMMARY_TOTAL_TOKENS ({policy.summary_total_tokens}), of all."
        )
    if 0 < policy.input_characters < LEAST_CHARACTERS:
        wrong.append(
            f"SUMMARY_INPUT_CHARACTERS is {policy.input_characters}; it can be 0 (all that fits), "
            f"or {LEAST_CHARACTERS} or more."
        )
    return wrong
