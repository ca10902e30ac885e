"""Frames from browsers: whatever arrives is a frame or a refusal in words."""

import json
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.compaction.policy import Extent
from chat.errors import Refused
from chat.protocol.frames import (
    MAX_CLIENT_ID,
    MAX_FOCUS,
    CancelCompaction,
    Compact,
    Frame,
    SendMessage,
    StopTurn,
    Sync,
    parse_frame,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
types = st.sampled_from(["message.send", "turn.stop", "compact", "compact.cancel", "sync"])
surrogates = st.text(st.sampled_from("a\0\ud83d\ude00\ud800 "), max_size=8)
frames = st.fixed_dictionaries(
    {"type": types | json_values},
    optional={
        "client_id": surrogates | json_values,
        "text": surrogates | json_values,
        "expected_head": json_values,
        "focus": surrogates | json_values,
        "extent": json_values,
        "pasted": json_values,
    },
)


def parsed(data: str | bytes | None) -> Frame | None:
    """The frame, or None for a refusal; anything else that is raised fails the test."""
    try:
        return parse_frame(data)
    except Refused as refusal:
        if refusal.code != "bad_frame" or not refusal.message:
            raise
        return None


@given(json_values | frames)
def test_any_json_is_a_frame_or_refused(value: Any) -> None:
    parsed(json.dumps(value))


@given(st.text() | st.binary())
def test_any_bytes_are_a_frame_or_refused(data: str | bytes) -> None:
    parsed(data)


@given(surrogates.filter(bool), surrogates)
def test_texts_of_a_frame_can_be_stored(client_id: str, text: str) -> None:
    for value in (
        {"type": "message.send", "client_id": client_id, "text": text},
        {"type": "compact", "focus": text},
    ):
        for stored in astuple(parse_frame(json.dumps(value))):
            assert "\0" not in (stored or "")
            (stored or "").encode("utf-8")


@pytest.mark.parametrize("depth", [10, 900, 990, 999, 5_000, 100_000])
@pytest.mark.parametrize("frame", ["%s", '{"type": %s}', '{"type": "sync", "x": %s}'])
def test_deep_nesting_is_a_frame_or_refused(frame: str, depth: int) -> None:
    parsed(frame % ("[" * depth + "]" * depth))


def test_each_type_becomes_its_frame() -> None:
    sent = {"type": "message.send", "client_id": "a1", "text": " Hi ", "expected_head": 3}
    assert parse_frame(json.dumps(sent)) == SendMessage("a1", " Hi ", 3)
    assert parse_frame('{"type": "message.send", "client_id": "a1", "text": ""}') == SendMessage(
        "a1", "", None
    )
    assert parse_frame('{"type": "turn.stop"}') == StopTurn()
    assert parse_frame('{"type": "compact"}') == Compact("")
    assert parse_frame('{"type": "compact", "focus": " the bill "}') == Compact("the bill")
    assert parse_frame('{"type": "compact"}').extent == Extent.THOROUGH
    assert parse_frame('{"type": "compact", "extent": "gentle"}') == Compact("", Extent.GENTLE)
    assert parse_frame('{"type": "compact.cancel"}') == CancelCompaction()
    assert parse_frame('{"type": "sync"}') == Sync()
    assert parse_frame(b'{"type": "sync"}') == Sync()


@pytest.mark.parametrize(
    "data",
    [
        None,
        "",
        "hello",
        "[]",
        "3",
        '{"type": null}',
        '{"type": "message.sent"}',
        '{"text": "no type"}',
        '{"type": "message.send", "text": "no client_id"}',
        '{"type": "message.send", "client_id": "", "text": "Hi"}',
        '{"type": "message.send", "client_id": 5, "text": "Hi"}',
        '{"type": "message.send", "client_id": "a1", "text": ["Hi"]}',
        '{"type": "message.send", "client_id": "a1", "text": "Hi", "expected_head": -1}',
        '{"type": "message.send", "client_id": "a1", "text": "Hi", "expected_head": true}',
        '{"type": "message.send", "client_id": "a1", "text": "Hi", "expected_head": 1.0}',
        json.dumps({"type": "message.send", "client_id": "x" * (MAX_CLIENT_ID + 1), "text": "Hi"}),
        json.dumps({"type": "compact", "focus": "x" * (MAX_FOCUS + 1)}),
        '{"type": "compact", "extent": "all"}',
        '{"type": "compact", "extent": null}',
        b"\xff\xfe\x00",
    ],
)
def test_malformed_frames_are_refused(data: str | bytes | None) -> None:
    with pytest.raises(Refused) as refusal:
        parse_frame(data)
    assert refusal.value.code == "bad_frame"
