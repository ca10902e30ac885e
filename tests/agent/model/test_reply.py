"""Folding stream events. `tests/data` does the same with what the API really sent."""

from collections.abc import Iterable
from typing import Any

import pytest

from agent.errors import AgentError
from agent.messages import Usage, plain_text, shown_text
from agent.model.reply import OUTCOMES, Outcome, Reply, StreamEvent, read_outcome
from tests.agent.conversations import call, fold_message, text, thinking


def start(index: int, block: dict[str, Any]) -> StreamEvent:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> StreamEvent:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> StreamEvent:
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "end_turn", **usage: int) -> list[StreamEvent]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


def fold(events: Iterable[StreamEvent], reply: Reply | None = None) -> Reply:
    reply = reply or Reply()
    for event in events:
        reply.apply(event)
    return reply


def text_block(index: int, *pieces: str) -> list[StreamEvent]:
    deltas = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [start(index, text("")), *deltas, stop(index)]


def tool_block(index: int, *pieces: str) -> list[StreamEvent]:
    deltas = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [start(index, call("t1")), *deltas, stop(index)]


# --- Folding --------------------------------------------------------------------------------------


def test_text_is_joined_and_shown_as_it_comes() -> None:
    reply = Reply()
    shown = [reply.apply(event) for event in text_block(0, "Hel", "lo")]
    assert shown == ["", "Hel", "lo", ""]
    assert reply.blocks == [text("Hello")]


def test_text_in_the_start_event_counts() -> None:
    reply = Reply()
    assert reply.apply(start(0, text("Well"))) == "Well"
    assert fold([delta(0, "text_delta", text=", yes"), stop(0)], reply).blocks == [
        text("Well, yes")
    ]


def test_a_second_text_block_is_a_new_paragraph_to_the_reader() -> None:
    reply = Reply()
    events = [*text_block(0, "One"), *text_block(1, "Two")]
    assert "".join(reply.apply(event) for event in events) == "One\n\nTwo"
    assert reply.blocks == [text("One"), text("Two")]


def test_a_surrogate_pair_in_two_deltas_becomes_one_character() -> None:
    assert fold(text_block(0, "\ud83e", "\uddea")).blocks == [text("🧪")]


def test_thinking_keeps_its_text_and_signature_and_shows_nothing() -> None:
    reply = Reply()
    events = [
        start(0, thinking("", "")),
        delta(0, "thinking_delta", thinking="Let me "),
        delta(0, "thinking_delta", thinking="see."),
        delta(0, "signature_delta", signature="c2ln"),
        stop(0),
    ]
    assert [reply.apply(event) for event in events] == [""] * 5
    assert reply.blocks == [thinking("Let me see.", "c2ln")]


def test_redacted_thinking_is_kept_as_it_came() -> None:
    block = {"type": "redacted_thinking", "data": "AAAA"}
    assert fold([start(0, block), stop(0)]).blocks == [block]


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        (("", '{"query": ', '"x"}'), {"query": "x"}),
        ((), {}),
        (("",), {}),
        (('{"query": ',), {"invalid_json": '{"query": '}),
        # Valid, but the API takes only objects back.
        (("[1]",), {"invalid_json": "[1]"}),
        (("null",), {"invalid_json": "null"}),
        (('{"a": "\\ud83e\\uddea"}',), {"a": "🧪"}),
    ],
)
def test_tool_input_is_always_an_object(pieces: tuple[str], arguments: dict[str, Any]) -> None:
    [block] = fold(tool_block(0, *pieces)).blocks
    assert block["input"] == arguments


def test_a_tool_input_that_came_whole_stays() -> None:
    """Some local servers send no deltas for it."""
    block = call("t1", query="x")
    assert fold([start(0, block), stop(0)]).blocks == [block]


def test_citations_and_compactions_are_collected() -> None:
    reply = fold(
        [
            start(0, text("")),
            delta(0, "text_delta", text="As the page says."),
            delta(0, "citations_delta", citation={"url": "a"}),
            delta(0, "citations_delta", citation={"url": "b"}),
            stop(0),
            start(1, {"type": "compaction", "content": None}),
            delta(1, "compaction_delta", content="A sum"),
            delta(1, "compaction_delta", content="mary"),
            stop(1),
        ]
    )
    assert reply.blocks == [
        text("As the page says.") | {"citations": [{"url": "a"}, {"url": "b"}]},
        {"type": "compaction", "content": "A summary"},
    ]


def test_deltas_and_events_of_tomorrow_are_ignored() -> None:
    events = text_block(0, "Hello")
    events[1:1] = [delta(0, "sparkle_delta", sparkle="*"), {"type": "message_sparkle"}, {}]
    assert fold(events).blocks == [text("Hello")]


def test_what_comes_twice_or_after_the_end_changes_nothing() -> None:
    events = [*text_block(0, "Hello"), stop(0), *end()]
    reply = fold([*events, *text_block(1, "More")])
    assert reply.blocks == [text("Hello")]
    assert reply.complete


def test_a_block_without_its_end_is_closed_by_the_messages_end() -> None:
    reply = fold([start(0, text("")), delta(0, "text_delta", text="Cut"), *end("max_tokens")])
    assert reply.blocks == [text("Cut")]


@pytest.mark.parametrize(
    "events",
    [
        [start(1, text(""))],
        [start(0, text("")), start(0, text(""))],
        [delta(0, "text_delta", text="lost")],
        [delta(0, "input_json_delta", partial_json="{}")],
        [start(0, text("")), stop(0), delta(0, "text_delta", text="late")],
        [{"type": "content_block_delta", "index": 0}],
        [{"type": "content_block_start", "index": None, "content_block": text("")}],
        [{"type": "content_block_start", "index": 0, "content_block": None}],
        [{"type": "message_start"}],
        [{"type": "message_delta", "delta": None}],
    ],
)
def test_events_that_do_not_fit_are_an_error_for_the_page(events: list[StreamEvent]) -> None:
    with pytest.raises(AgentError) as raised:
        fold(events)
    assert raised.value.code == "stream_cut"
    assert raised.value.retryable


def test_a_paused_reply_is_continued_behind_its_blocks() -> None:
    """After `pause_turn` the next stream counts its blocks from 0 again."""
    paused = fold([*text_block(0, "First"), *end("pause_turn")])
    continued = fold([*text_block(0, "then"), *end()], Reply(blocks=list(paused.blocks)))
    assert continued.blocks == [text("First"), text("then")]


# --- Stopped --------------------------------------------------------------------------------------


def test_partial_blocks_keep_the_open_text_and_leave_out_open_thinking_and_calls() -> None:
    reply = fold(
        [
            start(0, thinking("", "")),
            delta(0, "thinking_delta", thinking="Whole."),
            delta(0, "signature_delta", signature="sig"),
            stop(0),
            *text_block(1, "Done."),
            *text_block(2, "  \n"),
            start(3, text("")),
            delta(3, "text_delta", text="In the mid\ud83e"),
        ]
    )
    assert reply.partial_blocks() == [thinking("Whole."), text("Done."), text("In the mid\ufffd")]
    for unfinished in (thinking("", ""), call("t1")):
        assert fold([*text_block(0, "Hi"), start(1, unfinished)]).partial_blocks() == [text("Hi")]


def test_partial_blocks_can_be_asked_for_at_any_time_without_an_effect() -> None:
    events = [*text_block(0, "One"), *tool_block(1, '{"a"', ": 1}"), *end("tool_use")]
    disturbed = Reply()
    for event in events:
        disturbed.apply(event)
        disturbed.partial_blocks()
    assert disturbed.partial_blocks() == disturbed.blocks == fold(events).blocks


# --- Usage ----------------------------------------------------------------------------------------


def test_usage_of_later_events_replaces_that_of_earlier_ones() -> None:
    opening = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}
    reply = fold(
        [
            {"type": "message_start", "message": {"model": "claude-test", "usage": opening}},
            *text_block(0, "Hi"),
            {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5}},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 9, "input_tokens": None, "server_tool_use": {"n": 1}},
            },
            {"type": "message_stop"},
        ]
    )
    assert reply.usage == Usage(input_tokens=10, output_tokens=9, cache_read_input_tokens=90)
    assert reply.raw_usage["server_tool_use"] == {"n": 1}
    assert reply.model == "claude-test"


def test_a_server_without_usage_reports_nothing() -> None:
    reply = fold([{"type": "message_start", "message": {}}, *text_block(0, "Hi"), *end()])
    assert reply.usage == Usage()
    assert not reply.settled


@pytest.mark.parametrize(
    ("opening", "last"),
    [
        ({"input_tokens": 10, "output_tokens": 1}, {}),
        ({"input_tokens": 10, "output_tokens": 1}, {"output_tokens": None}),
        ({}, {"input_tokens": 0, "output_tokens": 0}),
        ({}, {"output_tokens": 9}),
    ],
)
def test_what_a_server_reports_in_part_is_no_bill(
    opening: dict[str, Any], last: dict[str, Any]
) -> None:
    """The first event's tokens of output are those that it had when it began."""
    begin = {"type": "message_start", "message": {"usage": opening}}
    reply = fold([begin, *text_block(0, "Hi"), *end(**last)])
    assert reply.complete
    assert not reply.settled


def test_what_no_number_is_leaves_a_reply_unsettled() -> None:
    reply = fold([{"type": "message_start", "message": {"usage": {"input_tokens": 10}}}])
    with pytest.raises(AgentError):
        reply.apply(end(output_tokens=-5)[0])
    assert not reply.settled


# --- Stop reasons ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", Outcome.FINISH),
        ("stop_sequence", Outcome.FINISH),
        ("max_tokens", Outcome.CUT),
        ("tool_use", Outcome.TOOLS),
        ("pause_turn", Outcome.RESEND),
        ("model_context_window_exceeded", Outcome.OVERFLOW),
        ("refusal", "refused"),
        ("compaction", "unknown_stop_reason"),
        ("of_tomorrow", "unknown_stop_reason"),
        ("", "unknown_stop_reason"),
    ],
)
def test_every_stop_reason_has_an_outcome(reason: str, expected: Outcome | str) -> None:
    reply = fold([*text_block(0, "Hi"), *end(reason)])
    if isinstance(expected, Outcome):
        assert read_outcome(reply) is expected
        return
    with pytest.raises(AgentError) as raised:
        read_outcome(reply)
    assert raised.value.code == expected
    assert not raised.value.retryable


def test_the_table_knows_all_that_the_sdk_knows() -> None:
    from typing import get_args

    from anthropic.types import StopReason

    assert set(OUTCOMES) == set(get_args(StopReason))


def test_a_refusal_names_its_category() -> None:
    reply = Reply(stop_reason="refusal", stop_details={"category": "cyber"}, complete=True)
    with pytest.raises(AgentError, match="declined") as caught:
        read_outcome(reply)
    assert caught.value.said == "cyber"


def test_a_body_folds_like_its_stream() -> None:
    body = {
        "model": "claude-test",
        "content": [text("Hi") | {"citations": None}, call("t1", a="\ud83e")],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    reply = fold_message(body)
    assert reply.blocks == [text("Hi"), call("t1", a="\ufffd")]
    assert (reply.complete, reply.usage.total, read_outcome(reply)) == (True, 7, Outcome.TOOLS)


def test_a_text_that_is_cut_at_a_citation_is_one_sentence() -> None:
    cited = text("") | {"citations": []}
    source = {"type": "web_search_result_location", "url": "https://a.example"}
    events = [
        *text_block(0, "It is "),
        start(1, cited),
        delta(1, "text_delta", text="sunny"),
        delta(1, "citations_delta", citation=source),
        stop(1),
        *text_block(2, ", and warm."),
        *text_block(3, "A new paragraph."),
        *end(),
    ]
    reply = Reply()
    shown = "".join(reply.apply(event) for event in events)
    assert shown == "It is sunny, and warm.\n\nA new paragraph."
    assert shown_text(reply.blocks) == shown
    assert plain_text(reply.blocks) == f"{shown}\n\nhttps://a.example"
