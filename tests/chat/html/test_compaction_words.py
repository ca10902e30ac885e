"""Every outcome of a compaction is told in whole sentences."""

import re
from dataclasses import asdict
from typing import Any

import pytest

from agent.compaction.failures import Failure, SummaryRejected
from agent.compaction.policy import Method, Reason
from agent.errors import AgentError, ErrorCode
from chat.html.compaction_words import CAUSES, explain_compaction, explain_failure, is_stopgap
from chat.models import Compaction
from chat.models.notices import Notice, notice_text
from chat.services.summary import compactions

DOWN = AgentError(
    ErrorCode.SERVER_ERROR,
    "The model's server failed. Retry.",
    said="500 Internal  server error",
    retryable=True,
)
LATE = AgentError(ErrorCode.TIMEOUT, "The model's server did not answer in time. Retry.")
LONG = AgentError(ErrorCode.TOO_LONG, "The conversation does not fit the model.")
EMPTY = SummaryRejected("it is empty")
UNREAD = {"unread_messages": 30, "unread_tokens": 12_300}
# By engine and reason: the failures before, with their steps, and what the audit found.
WRITTEN: list[tuple[Method, str, list[Failure], dict[str, Any], str]] = [
    (Method.WARM_PREFIX, "price", [], {}, ""),
    (Method.SERIALISED, "not cached", [], {}, ""),
    (
        Method.EXTRACT,
        "failure",
        [Failure.of("warm prefix", LATE), Failure.of("serialised", DOWN)],
        UNREAD,
        "The summary was written by rule because the model’s server failed (“500 Internal server "
        "error”), so no model has read its 30 messages (12k tokens); search still finds them.",
    ),
    (
        Method.EXTRACT,
        "failure",
        [Failure.of("serialised", EMPTY), Failure.skipped("chunks", Reason.TOO_MANY_PARTS)],
        UNREAD | {"unread_messages": 1},
        "The summary was written by rule because the model’s text was not usable (it is empty), so "
        "no model has read its 1 message (12k tokens); search still finds it.",
    ),
    (
        Method.EXTRACT,
        "time up",
        [Failure.skipped("chunks", Reason.TIME_UP)],
        UNREAD,
        "The summary was written by rule because the model took longer than anybody should wait, "
        "so no model has read its 30 messages (12k tokens); search still finds them.",
    ),
    (
        Method.EXTRACT,
        "too many parts",
        [Failure.skipped("chunks", Reason.TOO_MANY_PARTS)],
        UNREAD,
        "The summary was written by rule because the messages would have to be read in too many "
        "parts, so no model has read its 30 messages (12k tokens); search still finds them.",
    ),
    (
        Method.EXTRACT,
        "by setting",
        [],
        UNREAD,
        "The summary was written by rule, as the settings say, so no model has read its 30 "
        "messages (12k tokens); search still finds them.",
    ),
    (
        Method.SERIALISED,
        "failure",
        [Failure.of("warm prefix", EMPTY)],
        {},
        "The summary was written at the second attempt; the first failed because the model’s text "
        "was not usable (it is empty).",
    ),
    (
        Method.CHUNKS,
        "failure",
        [Failure.of("warm prefix", DOWN), Failure.of("serialised", LATE)],
        {},
        "The summary was written after 2 attempts that failed, the last because the model’s server "
        "did not answer in time.",
    ),
    (
        Method.CHUNKS,
        "too large",
        [Failure.skipped("serialised", Reason.TOO_LARGE)],
        {},
        "The messages were read in several parts, because all at once did not fit.",
    ),
    (
        Method.WITHOUT_OVERSIZED,
        "failure",
        [Failure.of("chunks", LONG)],
        {},
        "Very long messages were read only in part, because all of it would not have fitted.",
    ),
    (
        Method.WITHOUT_OVERSIZED,
        "failure",
        [Failure.of("chunks", LONG)],
        {"unread_messages": 2, "unread_tokens": 41_200},
        "2 very long messages were read without their middle (41k tokens), which would not have "
        "fitted; search still finds it.",
    ),
    (
        Method.SERIALISED,
        "not in prefix",
        [Failure.skipped("warm prefix", Reason.NOT_IN_PREFIX)],
        {"cut": ["- Lost."]},
        "1 statement was left out, because the summary was longer than its limit.",
    ),
    (
        Method.SERIALISED,
        "not cached",
        [],
        {"unwritten": ["Progress", "Open questions"]},
        "2 parts of the summary are missing or incomplete, because the model reached its limit for "
        "a reply; search still finds the messages.",
    ),
    (
        Method.SERIALISED,
        "not cached",
        [],
        {"left": ["- Old.", "- Older."]},
        "2 earlier statements are no longer sent to the model, because the summary had become too "
        "long; their chapters below still have them, and search has their messages.",
    ),
]


def compacted(engine: str, reason: str, audit: dict[str, Any], **values: Any) -> Compaction:
    return Compaction(
        method=engine, method_reason=reason, audit=audit, summary="A summary", **values
    )


def store(failures: list[Failure]) -> dict[str, Any]:
    """As the job stores them: codes become texts."""
    return {"failures": [{k: str(v) for k, v in asdict(each).items()} for each in failures]}


def assert_sentences(words: str) -> None:
    """Each begins with a capital or a figure and ends with a stop; none is a piece of another, and
    what a server says stands in quotes within one."""
    bare = re.sub(r"“[^”]*”", "it", words)
    assert "  " not in words
    assert re.fullmatch(r"[A-Z\d/][^.]*\.( [A-Z\d/][^.]*\.)*", bare.replace("Everlong;", "it")), (
        words
    )
    assert "retry" not in bare.lower(), "the button says it"


@pytest.mark.parametrize(("engine", "reason", "failures", "found", "said"), WRITTEN)
def test_how_a_summary_was_written_is_one_sentence(
    engine: Method, reason: str, failures: list[Failure], found: dict[str, Any], said: str
) -> None:
    row = compacted(engine, reason, store(failures) | found)
    assert explain_compaction(row) == said
    assert not said or not assert_sentences(said)
    assert is_stopgap(row) == (engine == Method.EXTRACT and reason != "by setting")


# Of a turn, and not of a request for a summary.
OTHER = {"compaction_failed", "imported", "internal", "interrupted", "too_many_rounds"}


@pytest.mark.parametrize("code", [code for code in ErrorCode if code not in OTHER])
def test_each_error_of_the_model_ends_a_compaction_in_a_sentence(code: ErrorCode) -> None:
    assert code in CAUSES
    error = AgentError(code, "It failed. Retry.", said="Overloaded. Please retry\nlater")
    failed = compacted("", "", store([Failure.of("serialised", error)]), error=str(error))
    words = explain_failure(failed)
    assert words.startswith("No summary could be written because ")
    assert words.endswith(" (“Overloaded. Please retry later”). Nothing was lost.")
    assert_sentences(words)


@pytest.mark.parametrize(
    "words",
    [
        compactions.GIVEN_UP,
        compactions.UNHEARD,
        compactions.NOT_TAKEN_UP,
        compactions.NO_QUEUE,
        compactions.CANCELLED,
        compactions.CHANGED,
        notice_text(Notice.TRIMMED),
        notice_text(Notice.COMPACTION_PAUSED),
    ],
)
def test_what_else_ends_or_replaces_a_compaction_is_told_in_sentences(words: str) -> None:
    assert_sentences(explain_failure(compacted("", "", {}, error=words)))


def test_a_failure_that_was_stored_without_a_code_keeps_its_words() -> None:
    audit = {"failures": [{"step": "chunks", "cause": "The server failed. Retry. 500"}]}
    words = explain_compaction(compacted("extract", "failure", audit | UNREAD))
    assert words.startswith(
        "The summary was written by rule because this happened: “The server failed. Retry. 500”, so"
    )
