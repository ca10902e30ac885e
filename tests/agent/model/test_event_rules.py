"""What a server may send instead of what it should: a sound reply, or a typed error."""

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import AgentError, ErrorCode
from agent.messages import Usage, plain_text, sanitise
from agent.model.reply import Reply, StreamEvent, read_outcome
from agent.model.sse import EventDecoder
from tests.agent.conversations import fold_message

MESSAGE: StreamEvent = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "role": "assistant",
        "model": "claude-test",
        "content": [],
        "usage": {"input_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 0}},
    },
}
CITATION = {
    "type": "web_search_result_location",
    "url": "https://example.org/",
    "title": "Example",
    "cited_text": "Words",
    "encrypted_index": "x",
}
FOUND = {"type": "web_search_result", "url": "https://example.org/", "title": "Example"}
BLOCKS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"type": "thinking", "thinking": "", "signature": ""},
        [
            {"type": "thinking_delta", "thinking": "Let me see."},
            {"type": "signature_delta", "signature": "c2ln"},
        ],
    ),
    ({"type": "redacted_thinking", "data": "eA=="}, []),
    (
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        [{"type": "input_json_delta", "partial_json": '{"query": "x"}'}],
    ),
    ({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [FOUND]}, []),
    (
        {"type": "text", "text": "", "citations": []},
        [
            {"type": "text_delta", "text": "Words"},
            {"type": "citations_delta", "citation": CITATION},
        ],
    ),
    (
        {"type": "tool_use", "id": "t1", "name": "search_history", "input": {}},
        [{"type": "input_json_delta", "partial_json": '{"query": [1, {"a": 2}]}'}],
    ),
]
END: list[StreamEvent] = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_details": None},
        "usage": {"output_tokens": 5, "cache_read_input_tokens": 0},
    },
    {"type": "message_stop"},
]
DEEP: Any = "bottom"
for _ in range(400):
    DEEP = [DEEP]
WRONG: list[Any] = [
    None, True, -1, 0, 2.5, 10**30, math.nan, math.inf, "", "many", "\ud800\0", [], ["x"], {},
    {"type": 5}, {"a": [None]}, [[1]], DEEP, "x" * 300,
]  # fmt: skip


def events_of_a_reply() -> list[StreamEvent]:
    events = [MESSAGE]
    for index, (block, deltas) in enumerate(BLOCKS):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    return copy.deepcopy(events + END)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value within a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))


PLACES = list(places(events_of_a_reply()))


def changed(events: list[StreamEvent], path: tuple[Any, ...], value: Any) -> list[StreamEvent]:
    holder: Any = events
    for key in path[:-1]:
        holder = holder[key]
    if value is REMOVED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return events


REMOVED = ...  # stays itself when it is copied


def fold(events: list[Any]) -> Reply:
    """By the way of the bytes, as a turn does it."""
    decoder, reply = EventDecoder(), Reply()
    for event in events:
        for decoded in decoder.feed(f"data: {json.dumps(event)}\n\n".encode()):
            shown = reply.apply(decoded)
            assert isinstance(shown, str)
            assert isinstance(reply.read_thinking(decoded), str)
            check(reply)
        if decoder.error:
            raise decoder.error
    return reply


def check(reply: Reply) -> None:
    """Whatever has been folded so far can be stored, shown, charged and sent back."""
    for blocks in (reply.partial_blocks(), sanitise(reply.blocks)):
        stored = json.dumps([blocks, reply.raw_usage], allow_nan=False)
        stored.encode()
        assert "\\u0000" not in stored
        assert isinstance(plain_text(blocks), str)
        assert all(isinstance(block["type"], str) for block in blocks)
    calls = [block["id"] for block in reply.calls]
    assert all(isinstance(each, str) and each for each in calls)
    assert len(set(calls)) == len(calls)
    assert all(isinstance(call.get("input", {}), dict) for call in reply.calls)
    numbers = reply.usage.as_dict().values()
    assert all(type(n) is int and 0 <= n < 2**40 for n in numbers)
    assert Usage.from_api(reply.raw_usage) == reply.usage
    assert isinstance(reply.stop_reason, str)
    assert len(reply.stop_reason) <= 40  # the column's
    assert isinstance(reply.model, str)


def test_what_is_changed_here_is_a_good_reply_before() -> None:
    reply = fold(events_of_a_reply())
    assert read_outcome(reply).name == "TOOLS"
    assert [block["type"] for block in reply.blocks] == [block["type"] for block, _ in BLOCKS]
    body = MESSAGE["message"] | {"content": reply.blocks, "stop_reason": "tool_use"}
    assert fold_message(body).blocks == reply.blocks


@pytest.mark.parametrize("value", [*WRONG, REMOVED], ids=lambda value: repr(value)[:20])
def test_one_wrong_value_anywhere_gives_a_sound_reply_or_a_typed_error(value: Any) -> None:
    refused = 0
    for path in PLACES:
        try:
            fold(changed(events_of_a_reply(), path, copy.deepcopy(value)))
        except AgentError:
            refused += 1
    assert refused > 10


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(WRONG)), max_size=4), st.data())
@settings(max_examples=100)
def test_wrong_values_and_events_out_of_order_do_too(
    changes: list[tuple[tuple[Any, ...], Any]], data: st.DataObject
) -> None:
    events = events_of_a_reply()
    for path, value in changes:
        try:
            changed(events, path, copy.deepcopy(value))
        except (LookupError, TypeError):
            continue  # an earlier change took the place away
    order = data.draw(st.lists(st.sampled_from(range(len(events))), max_size=6))
    for position in order:
        events.insert(data.draw(st.integers(0, len(events))), copy.deepcopy(events[position]))
    try:
        fold(events)
    except AgentError as error:
        assert error.code  # noqa: PT017 - any code, but a typed error


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
def test_one_wrong_value_in_a_whole_reply_does_too(value: Any) -> None:
    body = MESSAGE["message"] | {
        "content": fold(events_of_a_reply()).blocks,
        "stop_reason": "tool_use",
    }
    for path in places(body):
        (changed_body,) = changed([copy.deepcopy(body)], (0, *path), copy.deepcopy(value))
        try:
            check(fold_message(changed_body))
        except AgentError as error:
            assert error.code == ErrorCode.STREAM_CUT  # noqa: PT017


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": "many"},
        {"input_tokens": True},
        {"output_tokens": -1},
        {"output_tokens": 2.5},
        {"output_tokens": 10**12},
        {"cache_read_input_tokens": [1]},
        {"cache_creation": 5},
        {"cache_creation": {"ephemeral_1h_input_tokens": "x"}},
    ],
)
def test_what_no_number_of_tokens_is_cannot_be_charged(usage: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="tokens|object"):
        Usage.from_api(usage)
    with pytest.raises(AgentError):
        Reply().apply({"type": "message_delta", "delta": {}, "usage": usage})


def test_a_number_of_tokens_may_be_written_as_a_float() -> None:
    assert Usage.from_api({"input_tokens": 12.0}).input_tokens == 12


@pytest.mark.parametrize("nested", ["[" * 100_000, '{"a":' * 100_000, "[" * 3_000 + "]" * 3_000])
def test_nesting_beyond_all_measure_is_a_damaged_stream(nested: str) -> None:
    decoder = EventDecoder()
    decoder.feed(f'data: {{"type": "message_start", "message": {nested}\n\n'.encode())
    assert decoder.error is not None
    assert decoder.error.code == ErrorCode.STREAM_CUT


@pytest.mark.parametrize("written", ["[" * 100_000, '{"a": NaN}', '{"a": 1e999}', '{"a":' * 50_000])
def test_an_input_that_could_not_be_stored_is_told_to_the_model(written: str) -> None:
    events = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": written},
        },
        {"type": "content_block_stop", "index": 0},
    ]
    assert fold(events).calls[0]["input"] == {"invalid_json": written}
