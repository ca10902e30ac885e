"""What a server may send: everything has a limit, is read in proportion to its size, and what came
before is kept. The sizes are those of the tests, where the product's would take seconds."""

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

import pytest

from agent.context.assemble import assemble
from agent.errors import AgentError, ErrorCode
from agent.model import event_rules, parsing, reply, sdk, sse
from agent.model.client import Client
from agent.model.reply import Reply, split_into_events
from agent.model.sse import EventDecoder
from agent.wire import bounded
from tests.agent.conversations import context, fold_message, text, user
from tests.agent.model.asked import answer, asked, connected

REQUEST = assemble(context(user(1, "Hello")))
MILLION = 1_000_000
STREAM = "text/event-stream"
GZIP = "content-encoding: gzip\r\n"
# As in tests/test_growth.py: seconds that are never too much, and times what proportion allows.
FLOOR, GENEROUS = 0.05, 3


def event(kind: str, **fields: Any) -> bytes:
    return f"data: {json.dumps({'type': kind, **fields})}\n\n".encode()


def begin(index: int, block: dict[str, Any]) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(words: str) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": words})


BEGUN = event("message_start", message={"model": "x"}) + begin(0, text("")) + delta("So far. ")
ENDED = (
    event("content_block_stop", index=0)
    + event("message_delta", delta={"stop_reason": "end_turn"})
    + event("message_stop")
)


async def read(asking: Client) -> tuple[Reply, AgentError | None]:
    """What a stream brought, and what broke it off."""
    came = Reply()
    try:
        async for events in asking.stream(REQUEST):
            for each in events:
                came.apply(each)
    except AgentError as error:
        return came, error
    return came, None


async def read_from(body: bytes | Iterator[bytes], **kind: str) -> tuple[Reply, AgentError | None]:
    def answers(head: bytes) -> Iterator[bytes]:
        yield answer(kind=STREAM, **kind)
        yield from [body] if isinstance(body, bytes) else body

    async with asked(answers) as server, connected(server.url) as asking:
        return await read(asking)


def assert_cut(came: Reply, error: AgentError | None) -> None:
    assert error is not None
    assert error.code == ErrorCode.STREAM_CUT
    assert came.partial_blocks()[0]["text"].startswith("So far. ")


# --- Lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 512, 65_536])
@pytest.mark.parametrize(
    "make",
    [
        lambda length: delta("A" * length),
        lambda length: b": " + b"x" * length,
        lambda length: b"data:\n" * (length // 6),
        lambda length: b"event: x\n" * (length // 9),
    ],
)
def test_an_event_is_read_in_time_that_is_proportional_to_it(
    size: int, make: Callable[[int], bytes]
) -> None:
    def measure(length: int) -> float:
        decoder, body, started = EventDecoder(), make(length), thread_time()
        for at in range(0, len(body), size):
            decoder.feed(body[at : at + size])
        return thread_time() - started

    length = 100_000 if size == 1 else 2 * MILLION
    measure(1_000)
    short, long = measure(length), measure(4 * length)
    assert long < FLOOR or long < 4 * GENEROUS * max(short, FLOOR / 4), (short, long)


@pytest.mark.parametrize(
    "endless",
    [
        b"data: " + b"x" * 3_000,
        b"data: x\n" * 400,
        b"data:\n" * 500,
        b"data: " + b"x" * 3_000 + b"\n\n",
    ],
)
async def test_an_event_that_does_not_end_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, endless: bytes
) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT", 2_000)
    came, error = await read_from(BEGUN + endless + b"\n\n" + ENDED)
    assert_cut(came, error)


async def test_comments_and_pings_never_fill_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT", 200)
    kept = b': keep-alive\nevent: ping\n\ndata: {"type": "ping"}\n\n' * 100
    came, error = await read_from(BEGUN + kept + ENDED)
    assert error is None
    assert came.complete


# --- Replies --------------------------------------------------------------------------------------


async def test_a_reply_without_an_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "LARGEST_REPLY", 20_000)

    def endless() -> Iterator[bytes]:
        yield BEGUN
        while True:
            yield b": x\n\n" * 1_000

    came, error = await read_from(endless())
    assert_cut(came, error)


@pytest.mark.parametrize("size", [7, 5_000])
async def test_a_text_without_an_end_is_kept_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(reply, "MOST_WRITTEN", 1_000)
    came, error = await read_from(BEGUN + delta("A" * size) * (5_000 // size) + ENDED)
    assert_cut(came, error)
    assert len(came.partial_blocks()[0]["text"]) == 1_000


@pytest.mark.parametrize("kind", ["thinking", "tool_use", "compaction"])
def test_what_is_not_shown_has_the_same_limit(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(reply, "MOST_WRITTEN", 1_000)
    deltas = {
        "tool_use": ("input_json_delta", "partial_json"),
        "compaction": ("compaction_delta", "content"),
    }
    name, field = deltas.get(kind, ("thinking_delta", "thinking"))
    came = Reply()
    block = {"type": kind, "id": "t", "name": "n", "input": {}}
    came.apply({"type": "content_block_start", "index": 0, "content_block": block})
    piece = {"type": name, field: "x" * 99}
    written = {"type": "content_block_delta", "index": 0, "delta": piece}
    for _ in range(10):
        came.apply(written)
    with pytest.raises(AgentError) as raised:
        came.apply(written)
    assert raised.value.code == ErrorCode.STREAM_CUT


def test_a_call_that_comes_at_once_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply, "MOST_WRITTEN", 1_000)
    block = {"type": "server_tool_use", "id": "t", "name": "n", "input": {"query": "x" * 999}}
    with pytest.raises(AgentError, match="more than Everlong takes"):
        fold_message({"content": [block]})


def test_blocks_values_and_citations_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply, "MOST_BLOCKS", 20)
    monkeypatch.setattr(event_rules, "MOST_VALUES", 100)
    monkeypatch.setattr(event_rules, "MOST_CITATIONS", 10)
    cited = [{"type": "x"}] * 11
    for content in (
        [text("x")] * 22,
        [{"type": "web_search_tool_result", "tool_use_id": "t", "content": [{}] * 200}],
        [text("x") | {"citations": cited}],
    ):
        with pytest.raises(AgentError, match="damaged"):
            fold_message({"content": content})


@pytest.mark.parametrize("shape", [b"[],", b"{},", b"1,"])
def test_an_answer_of_countless_values_is_not_parsed(shape: bytes) -> None:
    many = b'{"content_block_delta": [' + shape * 3 * MILLION + b"1]}"
    with pytest.raises(ValueError, match="too many"):
        parsing.parse(many)


async def test_a_document_of_tens_of_megabytes_arrives_whole() -> None:
    page = {"type": "web_fetch_result", "url": "https://a.example"}
    source = {"type": "base64", "media_type": "application/pdf", "data": "A" * 20 * MILLION}
    content = page | {"content": {"type": "document", "source": source}}
    block = {"type": "web_fetch_tool_result", "tool_use_id": "t", "content": content}
    body = BEGUN + event("content_block_stop", index=0) + begin(1, block)
    came, error = await read_from(body + ENDED.replace(b'"index": 0', b'"index": 1'))
    assert error is None
    assert came.blocks[1] == block


def test_what_is_complete_is_not_looked_at_again_for_a_checkpoint() -> None:
    came = Reply()
    for each in split_into_events({"content": [text("a\0"), text("b")]})[:-3]:
        came.apply(each)
    first, last = came.partial_blocks()
    assert first is came.blocks[0]
    assert (first["text"], last["text"]) == ("a\ufffd", "b")


# --- Packed ---------------------------------------------------------------------------------------


def bomb(before: bytes, unpacked: int) -> bytes:
    """gzip that begins with some bytes and goes on with blanks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(before) + packer.compress(b" " * unpacked) + packer.flush()


@pytest.mark.parametrize("kind", [STREAM, "application/json"])
async def test_a_small_answer_that_unpacks_to_a_large_one_takes_no_memory(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name in ("LARGEST_REPLY", "LARGEST_ANSWER"):
        monkeypatch.setattr(sdk, name, 2 * MILLION)
    packed = bomb(BEGUN if kind == STREAM else b'{"content": [', 200 * MILLION)
    made = answer(packed, kind=kind, more=GZIP)
    async with asked(lambda head: made) as server, connected(server.url) as asking:
        tracemalloc.start()
        try:
            came, error = await read(asking)
            with pytest.raises(AgentError) as raised:
                await asking.models()
            assert await asking.count_tokens(REQUEST) is None
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert error is not None
    assert error.code == raised.value.code == ErrorCode.STREAM_CUT
    assert most < 20 * MILLION
    if kind == STREAM:
        assert_cut(came, error)


async def test_of_a_large_error_the_beginning_is_read() -> None:
    told = b'{"type": "error", "error": {"type": "x", "message": "No scope. '
    for more, body in [
        (GZIP, bomb(told, 90 * MILLION)),
        ("", told * 9_000),
    ]:
        made = answer(body, status="403 Forbidden", more=more)
        async with asked(lambda head, made=made: made) as server, connected(server.url) as asking:
            with pytest.raises(AgentError) as raised:
                await asking.models()
        assert raised.value.code == ErrorCode.NOT_ALLOWED


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "GZIP, identity"])
async def test_a_server_may_pack_although_it_was_not_asked_to(coding: str) -> None:
    body = BEGUN + delta("漢字 " * 30_000) + ENDED
    packed = zlib.compress(body) if coding == "deflate" else gzip.compress(body)
    made = answer(packed, kind=STREAM, more=f"content-encoding: {coding}\r\n")
    async with asked(lambda head: made) as server, connected(server.url) as asking:
        came, error = await read(asking)
    assert error is None
    assert came.blocks == [text("So far. " + "漢字 " * 30_000)]


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip, br", "unheard-of"])
async def test_what_is_packed_in_another_way_is_refused_in_words(coding: str) -> None:
    made = answer(b"whatever", kind=STREAM, more=f"content-encoding: {coding}\r\n")
    async with asked(lambda head: made) as server, connected(server.url) as asking:
        _, error = await read(asking)
    assert error is not None
    assert error.code == ErrorCode.SERVER_ERROR
    assert coding in error.said


async def test_gzip_that_is_damaged_is_a_damaged_stream() -> None:
    made = answer(gzip.compress(BEGUN)[:30] + b"x" * 99, kind=STREAM, more=GZIP)
    async with asked(lambda head: made) as server, connected(server.url) as asking:
        _, error = await read(asking)
    assert error is not None
    assert error.code == ErrorCode.STREAM_CUT


async def test_gzip_that_holds_nothing_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "LARGEST_REPLY", 100_000)
    head = bomb(BEGUN, 0)[:10]

    def endless() -> Iterator[bytes]:
        yield answer(kind=STREAM, more=GZIP) + head
        while True:
            yield b"\x00\x00\x00\xff\xff" * 1_000

    async with asked(lambda _: endless()) as server, connected(server.url) as asking:
        _, error = await read(asking)
    assert error is not None
    assert error.code == ErrorCode.STREAM_CUT


def test_the_limits_leave_room_for_what_models_write() -> None:
    """128,000 tokens, each in an event of its own, beside a request's worth of documents."""
    assert 128_000 * 300 + 32 * MILLION < sdk.LARGEST_REPLY
    assert bounded.PIECE < sse.LARGEST_EVENT < sdk.LARGEST_REPLY
    assert reply.MOST_WRITTEN > 128_000 * 8
