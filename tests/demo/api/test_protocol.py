"""The stream and the plain body say the same; counting and the prompt cache add up."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.api.prompt_cache import PromptCache
from demo.api.protocol import (
    Envelope,
    Event,
    PromptUsage,
    ScriptedReply,
    encode_event,
    message_body,
    redacted_thinking,
    stream_events,
    text,
    thinking,
    tool_use,
)
from demo.api.stream import encode_chunks, split_after
from demo.api.tokens import count_request_tokens

ENVELOPE = Envelope("msg_1", "m", PromptUsage(10, 20, 30, 40))
any_text = st.text(max_size=60)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=6,
)
blocks = st.one_of(
    st.builds(text, any_text),
    st.builds(thinking, any_text),
    st.builds(redacted_thinking, st.text(min_size=1, max_size=20)),
    st.builds(tool_use, any_text, st.dictionaries(any_text, json_values, max_size=3)),
)
replies = st.builds(
    ScriptedReply,
    st.lists(blocks, max_size=5).map(tuple),
    stop_reason=st.sampled_from([None, "end_turn", "max_tokens", "refusal", "pause_turn"]),
    piece_chars=st.integers(0, 20),
)


def fold(events: Iterable[Event]) -> dict[str, Any]:
    """A client that knows nothing but the events."""
    message: dict[str, Any] = {}
    partial = ""
    for event in events:
        match event["type"]:
            case "message_start":
                message = json.loads(json.dumps(event["message"]))
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append(dict(event["content_block"]))
                partial = ""
            case "content_block_delta":
                delta, block = event["delta"], message["content"][-1]
                if delta["type"] == "input_json_delta":
                    partial += delta["partial_json"]
                else:
                    name = delta["type"].removesuffix("_delta")
                    block[name] = block[name] + delta[name]
            case "content_block_stop":
                if partial:
                    message["content"][-1]["input"] = json.loads(partial)
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
    return message


def parse(stream: bytes) -> list[Event]:
    frames = stream.decode("ascii").split("\n\n")[:-1]
    return [json.loads(frame.split("\ndata: ", 1)[1]) for frame in frames]


@given(replies)
def test_the_folded_stream_is_the_plain_body(reply: ScriptedReply) -> None:
    events = list(stream_events(reply, ENVELOPE))
    assert events[-1] == {"type": "message_stop"}
    assert fold(parse(b"".join(map(encode_event, events)))) == message_body(reply, ENVELOPE)


@given(replies, st.integers(0, 8))
def test_a_stream_broken_after_n_deltas_has_n_of_them_and_loses_nothing(
    reply: ScriptedReply, number: int
) -> None:
    events = list(stream_events(reply, ENVELOPE))
    chunks = list(encode_chunks(events, ping=True, stamp=False))
    first, rest = split_after(chunks, number)
    sent = sum(chunk.paced for chunk in first)
    assert sent == min(number, sum(chunk.paced for chunk in chunks))
    assert parse(b"".join(chunk.payload() for chunk in first + rest)) == events


def test_pieces_must_be_the_text() -> None:
    assert ScriptedReply((text("ab"),), pieces=("a", "b")).text == "ab"
    with pytest.raises(ValueError, match="pieces"):
        ScriptedReply((text("ab"),), pieces=("a", "c"))
    with pytest.raises(ValueError, match="pieces"):
        ScriptedReply((text("a"), text("b")), pieces=("a", "b"))


def test_lone_surrogates_survive() -> None:
    reply = ScriptedReply((text("\ud83d"), tool_use("t", {"x": "\udc00"})))
    assert fold(parse(b"".join(map(encode_event, stream_events(reply, ENVELOPE)))))["content"]
    assert count_request_tokens({"messages": [{"role": "user", "content": "\ud83d"}]}) > 0


def test_base64_is_not_counted_by_its_length() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "x" * 1_000_000}
    messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    assert count_request_tokens({"messages": messages}) < 2000


# --- the prompt cache ---


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def marked(value: str, ttl: str = "5m") -> dict[str, Any]:
    return text(value) | {"cache_control": {"type": "ephemeral", "ttl": ttl}}


def asked(*blocks: dict[str, Any], system: Any = (), **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": list(blocks)}]
    return {"model": "m", "system": list(system), "messages": messages, **more}


def test_without_breakpoints_everything_is_input() -> None:
    assert PromptCache().account(asked(text("x" * 400))) == PromptUsage(104)


def test_a_growing_conversation_reads_what_it_wrote() -> None:
    cache = PromptCache(clock=Clock())
    first = cache.account(asked(marked("a" * 384), system=[marked("s" * 400)]))
    assert first == PromptUsage(0, 200, 0, 0)
    # The breakpoint has moved on; where it was, the prefix is still the same.
    second = cache.account(
        asked(text("a" * 384), marked("b" * 400), text("c" * 40), system=[marked("s" * 400)])
    )
    assert second == PromptUsage(10, 100, 0, 200)


def test_a_changed_system_prompt_reads_nothing_and_a_changed_message_only_the_system() -> None:
    cache = PromptCache(clock=Clock())
    cache.account(asked(marked("a" * 384), system=[marked("s" * 400)]))
    assert cache.account(asked(marked("a" * 384), system=[marked("z" * 400)])) == PromptUsage(
        0, 200
    )
    changed = cache.account(asked(marked("z" * 384), system=[marked("s" * 400)]))
    assert changed == PromptUsage(0, 100, 0, 100)


def test_entries_live_five_minutes_after_their_last_use_or_an_hour() -> None:
    clock = Clock()
    cache = PromptCache(clock=clock)
    body = asked(marked("a" * 384), system=[marked("s" * 400, "1h")])
    assert cache.account(body) == PromptUsage(0, 100, 100)
    for clock.now in (299.0, 598.0):
        assert cache.account(body).cache_read_input_tokens == 200
    clock.now = 900.0
    assert cache.account(body) == PromptUsage(0, 100, 0, 100)
    clock.now = 5000.0
    assert cache.account(body) == PromptUsage(0, 100, 100)


def test_lookback_ends_after_twenty_blocks() -> None:
    for more, read in ((19, 104), (20, 0)):
        cache = PromptCache(clock=Clock())
        cache.account(asked(marked("a" * 400)))
        added = [text("b" * 40)] * (more - 1)
        usage = cache.account(asked(text("a" * 400), *added, marked("c")))
        assert usage.cache_read_input_tokens == read


def test_short_prefixes_are_not_cached() -> None:
    cache = PromptCache(minimum_tokens=1024)
    assert cache.account(asked(marked("a" * 400))) == PromptUsage(104)
    assert cache.account(asked(marked("a" * 4096))).cache_creation_input_tokens == 1028


def test_other_tool_settings_spoil_the_messages_but_not_the_system() -> None:
    cache = PromptCache(clock=Clock())
    cache.account(asked(marked("a" * 384), system=[marked("s" * 400)]))
    other = asked(marked("a" * 384), system=[marked("s" * 400)], tool_choice={"type": "none"})
    assert cache.account(other) == PromptUsage(0, 100, 0, 100)


def test_automatic_caching_marks_the_last_block() -> None:
    cache = PromptCache(clock=Clock())
    body = asked(text("a" * 400), cache_control={"type": "ephemeral"})
    assert cache.account(body) == PromptUsage(0, 104)
    assert cache.account(body) == PromptUsage(0, 0, 0, 104)
