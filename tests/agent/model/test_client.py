"""The client against the scripted server: the real SDK over real HTTP."""

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from agent.context.assemble import assemble
from agent.context.request import Request
from agent.errors import AgentError, ErrorCode
from agent.messages import Usage
from agent.model import client
from agent.model.api_errors import stream_error
from agent.model.client import Client, choose_retry_wait
from agent.model.listing import ModelInfo
from agent.model.reply import Reply
from agent.model.sse import EventDecoder
from agent.model.unreported import was_refused
from demo.api.protocol import (
    Envelope,
    PromptUsage,
    ScriptedReply,
    encode_event,
    error_event,
    stream_events,
)
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.agent.conversations import call, context, text, thinking, user
from tests.support.patience import PATIENCE

REQUEST = assemble(context(user(1, "Hello")))


async def failure(client: Client, request: Request = REQUEST) -> AgentError:
    with pytest.raises(AgentError) as raised:
        await client.complete(request)
    return raised.value


@asynccontextmanager
async def connected(server: DemoServer | str, **options: object) -> AsyncIterator[Client]:
    url = server if isinstance(server, str) else server.base_url
    client = Client(api_key="test", base_url=url, **options)  # type: ignore[arg-type]
    try:
        yield client
    finally:
        await client.close()


async def collect(client: Client, reply: Reply) -> None:
    async for events in client.stream(REQUEST):
        for event in events:
            reply.apply(event)


@asynccontextmanager
async def serving(*answers: bytes | None) -> AsyncIterator[str]:
    """A server that answers each connection with these bytes in turn, piece by piece; None closes
    without a word."""
    left = list(answers)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for at, byte in enumerate(left.pop(0) or b""):
            writer.write(bytes([byte]))
            if at % 7 == 0:
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


def http(body: bytes, content_type: str = "text/event-stream") -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


SCRIPTED = ScriptedReply(
    (thinking("Hm."), text("Grüße 🧪, here it is."), call("t1", query="naïve")), piece_chars=12
)
ENVELOPE = Envelope("msg_1", "claude-test", PromptUsage(12))
EVENTS = list(stream_events(SCRIPTED, ENVELOPE))
STREAM = b"".join(map(encode_event, EVENTS))


def fold(chunks: Iterable[bytes]) -> Reply:
    decoder, reply = EventDecoder(), Reply()
    for chunk in chunks:
        for event in decoder.feed(chunk):
            reply.apply(event)
    for event in decoder.close():
        reply.apply(event)
    if decoder.error:
        raise decoder.error
    return reply


# --- Decoding -------------------------------------------------------------------------------------


def test_a_stream_gives_the_same_reply_wherever_it_is_cut_in_two() -> None:
    whole = fold([STREAM])
    assert whole.blocks == list(SCRIPTED.blocks)
    for at in range(len(STREAM)):
        assert fold([STREAM[:at], STREAM[at:]]) == whole, at


def test_a_stream_gives_the_same_reply_byte_by_byte() -> None:
    assert fold(bytes([byte]) for byte in STREAM) == fold([STREAM])


@pytest.mark.parametrize(
    ("seen", "replacement"),
    [
        (b"\n", b"\r\n"),
        (b"event: ", b": a comment\nid: 7\nretry: 10\nevent: "),
        (b"data: ", b"data:"),
        (b"event: ", b'event: ping\ndata: {"type": "ping"}\n\n: keep-alive\n\nevent: '),
        (b"event: content_block_delta\n", b""),
        (b"\n\n", b"\n\n\n\n"),
        (b'{"type":"content_block_stop"', b'{"type":\ndata: "content_block_stop"'),
        (b"event: message_delta\n", b'data: {"no": "type"}\n\ndata: 7\n\nevent: message_delta\n'),
    ],
)
def test_a_stream_may_be_written_differently(seen: bytes, replacement: bytes) -> None:
    other = STREAM.replace(seen, replacement)
    assert other != STREAM
    assert fold([other]) == fold(bytes([byte]) for byte in other) == fold([STREAM])


def test_the_last_event_may_lack_its_blank_line() -> None:
    assert fold([STREAM.rstrip(b"\n")]).complete


@pytest.mark.parametrize(
    "noise",
    [b"data: [DONE]\n\n", b"data: {\n\n", encode_event(error_event("api_error", request_id="r"))],
)
def test_what_follows_the_end_is_ignored(noise: bytes) -> None:
    """vLLM sends `[DONE]`."""
    assert fold([STREAM + noise]) == fold([STREAM])


def test_text_in_one_piece_with_an_error_is_not_lost() -> None:
    head = STREAM[: STREAM.index(b"event: content_block_stop")]
    error = encode_event(error_event("overloaded_error", request_id="r"))
    decoder = EventDecoder()
    events = decoder.feed(head + error + b"data: [DONE]\n\n")
    assert [e["type"] for e in events][-1] == "content_block_delta"
    assert decoder.error
    assert decoder.error.code == ErrorCode.OVERLOADED


def test_a_damaged_event_is_an_error() -> None:
    with pytest.raises(AgentError) as raised:
        fold([STREAM.replace(b'{"type":"content_block_stop"', b'{"type:"content_block_stop"')])
    assert (raised.value.code, raised.value.retryable) == ("stream_cut", True)


def test_an_event_that_was_cut_off_is_left_out() -> None:
    reply = fold([STREAM[: STREAM.index(b"message_stop") + 40]])
    assert not reply.complete
    assert reply.stop_reason == "tool_use"


# --- Answers --------------------------------------------------------------------------------------


async def test_complete_gives_the_whole_reply(server: DemoServer, client: Client) -> None:
    server.script.reply(SCRIPTED)
    reply = await client.complete(REQUEST)
    assert reply.blocks == list(SCRIPTED.blocks)
    assert (reply.stop_reason, reply.model, reply.complete) == ("tool_use", "claude-test", True)
    assert reply.usage.request_tokens > 0
    assert server.script.requests[0].stream


class Books:
    """A ledger that keeps, for each call, the requests the server had seen when it was opened, and
    how it ended."""

    def __init__(self, server: DemoServer, most: int | None = None) -> None:
        self.opened: list[int] = []
        self.ended: list[str] = []
        self._server, self._most = server, most

    async def open(self, request: Request, reply: Reply) -> int:
        script = self._server.script
        self.opened.append(len(script.requests) + len(script.count_requests))
        return self._most or request.max_tokens

    async def end(self, reply: Reply, error: BaseException | None) -> None:
        if reply.settled:
            self.ended.append(f"settled {reply.usage.output_tokens}")
        else:
            self.ended.append("refused" if was_refused(reply, error) else "lost")


@pytest.mark.usefixtures("quick_retries")
async def test_each_post_is_opened_before_it_goes_out_and_ended_once(server: DemoServer) -> None:
    server.script.error(529).error_event("overloaded_error").drop().reply("At last.")
    books = Books(server)
    async with connected(server, retries=2) as client:
        with pytest.raises(AgentError):
            await client.complete(REQUEST, books)
        reply = await client.complete(REQUEST, books)
        await client.count_tokens(REQUEST, books)
    assert books.opened == [0, 1, 2, 3, 4]
    settled = f"settled {reply.usage.output_tokens}"
    assert books.ended == ["refused", "lost", "lost", settled, "settled 0"]


async def test_a_call_that_is_cancelled_or_cut_is_lost_and_one_that_must_not_go_out_is_not_made(
    server: DemoServer,
) -> None:
    class Closed(Books):
        async def open(self, request: Request, reply: Reply) -> int:
            raise AgentError(ErrorCode.NO_CREDIT, "No.")

    gate = server.script.stall("Half of")
    server.script.cut("Half of")
    books = Books(server)
    async with connected(server, retries=0) as client:
        asking = asyncio.create_task(client.complete(REQUEST, books))
        await gate.wait_reached()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        with pytest.raises(AgentError):
            await client.complete(REQUEST, books)
        assert books.ended == ["lost", "lost"]
        with pytest.raises(AgentError, match="No"):
            await client.complete(REQUEST, Closed(server))
    assert len(server.script.requests) == 2


async def test_a_reply_may_have_no_more_tokens_than_its_ledger_says(server: DemoServer) -> None:
    server.script.reply("Short.").reply("Long.")
    async with connected(server) as client:
        await client.complete(REQUEST, Books(server, most=7))
        await client.complete(REQUEST, Books(server))
    sent = [request.body["max_tokens"] for request in server.script.requests]
    assert sent == [7, REQUEST.max_tokens]


async def test_a_call_that_does_not_pass_the_check_is_not_made(server: DemoServer) -> None:
    def check(request: Request) -> None:
        raise AgentError(ErrorCode.BAD_REQUEST, "No.")

    async with connected(server, check=check) as client:
        with pytest.raises(AgentError, match="No"):
            await client.complete(REQUEST)
    assert server.script.requests == []


async def test_stream_hands_over_text_before_the_answer_is_complete(
    server: DemoServer, client: Client
) -> None:
    gate = server.script.stall("First. ", then="Second.")
    seen = ""
    reply = Reply()
    async for events in client.stream(REQUEST):
        seen += "".join(reply.apply(event) for event in events)
        if seen == "First. ":
            gate.release()
    assert seen == "First. Second."


async def test_the_prompt_cache_is_asked_for_unless_the_request_is_sent_once(
    server: DemoServer, client: Client
) -> None:
    server.script.reply("Hi.", always=True)
    await client.complete(REQUEST)
    await client.complete(replace(REQUEST, once=True))
    async with connected(server, caching=False) as plain:
        await plain.complete(REQUEST)
    cached = ["cache_control" in request.raw.decode() for request in server.script.requests]
    assert cached == [True, False, False]


async def test_a_stream_of_another_server_is_understood() -> None:
    lines = STREAM.replace(b"\n", b"\r\n").replace(b"event: ", b": hello\r\nevent: ")
    async with serving(http(lines + b"data: [DONE]\r\n\r\n")) as url, connected(url) as client:
        assert (await client.complete(REQUEST)).blocks == list(SCRIPTED.blocks)
    async with serving(http(STREAM.rstrip())) as url, connected(url) as client:
        assert (await client.complete(REQUEST)).blocks == list(SCRIPTED.blocks)


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "message", "code", "retryable", "words"),
    [
        (400, None, "bad_request", False, "the request is not valid"),
        (400, "prompt is too long: 9 tokens > 8 maximum", "too_long", False, "9 tokens > 8"),
        (400, "input length and `max_tokens` exceed context limit: 9 + 1 > 8", "too_long", False,
         "does not fit"),
        (400, "the request exceeds the available context size", "too_long", False, "does not fit"),
        (400, "This model's maximum context length is 8 tokens.", "too_long", False, "not fit"),
        (400, "Your credit balance is too low", "no_credit", False, "no credit"),
        (401, None, "bad_key", False, "administrator"),
        (402, None, "no_credit", False, "no credit"),
        (403, None, "not_allowed", False, "is not allowed"),
        (404, "model: x", "unknown_model", False, "model: x"),
        (408, None, "server_error", True, "408"),
        (409, None, "bad_request", False, "refused"),
        (413, None, "request_too_large", False, "size limit"),
        (422, None, "bad_request", False, "refused"),
        (429, None, "rate_limited", True, "Try again later"),
        (500, None, "server_error", True, "500"),
        (502, None, "server_error", True, "502"),
        (503, None, "server_error", True, "503"),
        (504, None, "server_error", True, "504"),
        (529, None, "overloaded", True, "overloaded"),
    ],
)  # fmt: skip
async def test_each_http_error_has_its_own_code_and_words(
    server: DemoServer,
    client: Client,
    status: int,
    message: str | None,
    code: str,
    retryable: bool,
    words: str,
) -> None:
    server.script.error(status, message=message)
    error = await failure(client)
    assert (error.code, error.retryable, error.retry_after) == (code, retryable, None)
    assert words in str(error)
    assert error.message[-1] == "."
    assert not message or message in error.said


@pytest.mark.parametrize("status", [429, 529, 503])
async def test_the_wait_that_a_server_asks_for_is_told(
    server: DemoServer, client: Client, status: int
) -> None:
    server.script.error(status, retry_after=37)
    error = await failure(client)
    assert error.retry_after == 37
    assert error.as_dict()["retry_after"] == 37


@pytest.mark.parametrize(
    ("kind", "message", "code", "retryable"),
    [
        ("overloaded_error", None, "overloaded", True),
        ("rate_limit_error", None, "rate_limited", True),
        ("api_error", None, "server_error", True),
        ("timeout_error", None, "server_error", True),
        ("of_tomorrow", None, "server_error", True),
        ("invalid_request_error", None, "bad_request", False),
        ("invalid_request_error", "prompt is too long: 9 > 8", "too_long", False),
    ],
)
async def test_each_error_event_has_its_own_code_and_follows_the_text_before_it(
    server: DemoServer, client: Client, kind: str, message: str | None, code: str, retryable: bool
) -> None:
    server.script.error_event(kind, after_text="So far.", message=message)
    reply = Reply()
    with pytest.raises(AgentError) as raised:
        await collect(client, reply)
    assert (raised.value.code, raised.value.retryable) == (code, retryable)
    assert reply.partial_blocks() == [text("So far.")]


def test_an_error_event_need_not_have_the_apis_form() -> None:
    for error in ("out of memory", None, {}, {"message": "out of memory"}):
        assert stream_error({"type": "error", "error": error}).code == "server_error"


async def test_a_stream_that_ends_early_is_an_error(server: DemoServer, client: Client) -> None:
    """The SDK raises none."""
    server.script.cut("Half of")
    error = await failure(client)
    assert (error.code, error.retryable) == ("stream_cut", True)


async def test_a_connection_that_drops_in_mid_stream_was_lost(
    server: DemoServer, client: Client
) -> None:
    server.script.drop("Half of")
    reply = Reply()
    with pytest.raises(AgentError) as raised:
        await collect(client, reply)
    assert (raised.value.code, raised.value.retryable) == ("connection_lost", True)
    assert reply.partial_blocks() == [text("Half of")]


async def test_a_connection_that_drops_before_the_headers_was_lost(
    server: DemoServer, client: Client
) -> None:
    server.script.drop()
    assert (await failure(client)).code == "connection_lost"


async def test_a_connection_that_closes_before_the_headers_was_lost() -> None:
    async with serving(None) as url, connected(url, retries=0) as client:
        assert (await failure(client)).code == "connection_lost"


async def test_a_server_that_is_gone_cannot_be_reached() -> None:
    with socket.socket() as bound:  # bound and not listening: refused
        bound.bind(("127.0.0.1", 0))
        async with connected(f"http://127.0.0.1:{bound.getsockname()[1]}") as client:
            error = await failure(client)
    assert (error.code, error.retryable) == ("server_unreachable", True)
    assert "ANTHROPIC_BASE_URL" in error.message


async def test_an_address_that_is_none_cannot_be_reached() -> None:
    async with connected("localhost:8000") as client:
        assert (await failure(client)).code == "server_unreachable"


@pytest.mark.parametrize("after", [None, "Half of"])
async def test_a_stall_ends_at_the_timeout(server: DemoServer, after: str | None) -> None:
    server.script.stall(after)
    async with connected(server, timeout=0.2) as client:
        error = await failure(client)
    assert (error.code, error.retryable) == ("timeout", True)


async def test_a_page_in_place_of_a_stream_names_the_setting() -> None:
    page = http(b"<!doctype html><title>Welcome</title>", "text/html; charset=utf-8")
    async with serving(page, page, page) as url, connected(url, retries=0) as client:
        error = await failure(client)
        assert (error.code, error.retryable) == ("server_error", False)
        assert "ANTHROPIC_BASE_URL" in error.message
        assert await client.count_tokens(REQUEST) is None
        with pytest.raises(AgentError, match="not in the form of the Messages API"):
            await client.models()


MESSAGE = {
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": list(SCRIPTED.blocks),
    "stop_reason": "tool_use",
    "stop_details": None,
    "usage": {"input_tokens": 12, "output_tokens": 3},
}


async def test_the_connection_outlives_a_minute_in_which_the_reader_thinks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(STREAM)}"
        )
        with suppress(asyncio.IncompleteReadError):  # the client has closed it
            while asked := await reader.readuntil(b"\r\n\r\n"):
                [length] = re.findall(rb"(?i)content-length: (\d+)", asked)
                await reader.readexactly(int(length))
                writer.write(f"{head}\r\n\r\n".encode() + STREAM)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        async with connected(url) as client:
            await client.complete(REQUEST)
            later = time.monotonic() + 60
            monkeypatch.setattr("aiohttp.connector.monotonic", lambda: later)
            await client.complete(REQUEST)
    assert connections == 1


async def test_a_whole_message_is_taken_as_if_it_had_streamed() -> None:
    body = http(json.dumps(MESSAGE).encode(), "application/json; charset=utf-8")
    async with serving(body, body) as url, connected(url, retries=0) as client:
        reply = await client.complete(REQUEST)
        events = [event async for batch in client.stream(REQUEST) for event in batch]
    assert reply.blocks == list(SCRIPTED.blocks)
    assert (reply.stop_reason, reply.model, reply.complete) == ("tool_use", "claude-test", True)
    assert reply.usage == Usage(12, 3)
    shown = Reply()
    assert "".join(shown.apply(event) for event in events) == "Grüße 🧪, here it is."
    assert "".join(Reply.read_thinking(event) for event in events) == "Hm."


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ('{"type":"error","error":{"type":"overloaded_error","message":"x"}}', "overloaded", ""),
        ('{"error":{"message":"prompt is too long: 9 tokens > 3"}}', "too_long", "9 tokens"),
        ('{"error":"model not loaded"}', "server_error", "model not loaded"),
        ('{"choices":[{"message":{"content":"Hi"}}]}', "server_error", "ANTHROPIC_BASE_URL"),
        ('["Hi"]', "server_error", "ANTHROPIC_BASE_URL"),
        ('{"type":"message","content":"Hi"}', "server_error", "ANTHROPIC_BASE_URL"),
        ('{"type":"message","content":[{"text":"Hi"}]}', "stream_cut", "damaged"),
        ('{"type":"mess', "server_error", "ANTHROPIC_BASE_URL"),
    ],
)
async def test_other_json_with_status_200_is_an_error_with_its_words(
    body: str, code: str, words: str
) -> None:
    answer = http(body.encode(), "application/json")
    async with serving(answer) as url, connected(url, retries=0) as client:
        error = await failure(client)
    assert error.code == code
    assert words in str(error)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("messages.1.content.0: Invalid `signature` in `thinking` block", "thinking_refused"),
        ("Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
         "thinking_refused"),
        ("messages.3: `thinking` or `redacted_thinking` blocks in the latest assistant message "
         "cannot be modified.", "thinking_refused"),
        ("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
         "thinking_refused"),
        ("thinking.budget_tokens: must be less than `max_tokens`", "bad_request"),
        ("thinking: Extra inputs are not permitted", "bad_request"),
        ("This model does not support thinking.", "bad_request"),
    ],
)  # fmt: skip
async def test_only_refused_blocks_of_thinking_are_called_so(
    server: DemoServer, client: Client, said: str, code: str
) -> None:
    server.script.error(400, message=said)
    error = await failure(client)
    assert (error.code, error.said) == (code, said)


async def test_an_error_page_of_a_proxy_has_the_words_of_its_status() -> None:
    page = b"HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n<html>nginx</html>"
    async with serving(page) as url, connected(url, retries=0) as client:
        assert (await failure(client)).said.startswith("502")


@pytest.mark.parametrize("after", [None, "Half of"])
async def test_cancelling_ends_the_call_at_the_server(after: str | None) -> None:
    with DemoServer() as server:
        gate = server.script.stall(after)
        async with connected(server) as client:
            task = asyncio.create_task(client.complete(REQUEST))
            await gate.wait_reached()
            assert server.script.disconnects == []
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(server.script.wait_for_disconnects, 1)


# --- Retries --------------------------------------------------------------------------------------


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRY_SECONDS", (0.01, 0.02))


@pytest.mark.usefixtures("quick_retries")
async def test_passing_errors_before_any_output_are_retried(server: DemoServer) -> None:
    server.script.error(529).drop().reply("At last.")
    reply, books = Reply(), Books(server)
    async with connected(server, retries=2) as client:
        async for events in client.stream(REQUEST, books, reply):
            for event in events:
                reply.apply(event)
    assert reply.blocks == [text("At last.")]
    assert books.ended == ["refused", "lost"]


@pytest.mark.usefixtures("quick_retries")
async def test_a_stream_that_broke_before_its_first_block_is_retried_from_the_start(
    server: DemoServer,
) -> None:
    server.script.error_event("overloaded_error").reply("At last.")
    async with connected(server, retries=1) as client:
        reply = await client.complete(REQUEST)
    assert reply.blocks == [text("At last.")]
    assert reply.usage.output_tokens < 10


@pytest.mark.usefixtures("quick_retries")
async def test_retries_come_to_an_end(server: DemoServer) -> None:
    server.script.error(500).error(500).error(503)
    async with connected(server, retries=2) as client:
        assert (await failure(client)).code == "server_error"


@pytest.mark.parametrize("fault", ["error_event", "drop", "cut"])
async def test_nothing_is_repeated_after_output(server: DemoServer, fault: str) -> None:
    if fault == "error_event":
        server.script.error_event("overloaded_error", after_text="So far.")
    else:
        getattr(server.script, fault)("So far.")
    async with connected(server, retries=2) as client:
        await failure(client)
    assert len(server.script.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429])
async def test_errors_that_stay_are_not_retried(server: DemoServer, status: int) -> None:
    server.script.error(status)
    async with connected(server, retries=2) as client:
        await failure(client)


@pytest.mark.parametrize("status", [429, 529, 503])
async def test_a_long_wait_is_left_to_the_user(server: DemoServer, status: int) -> None:
    server.script.error(status, retry_after=3)
    async with connected(server, retries=2) as client:
        assert (await failure(client)).retry_after == 3


@pytest.mark.usefixtures("quick_retries")
async def test_a_short_wait_is_kept(server: DemoServer) -> None:
    server.script.error(429, retry_after=0.2).reply("Hi.")
    async with connected(server, retries=1) as client:
        await client.complete(REQUEST)
    first, second = server.script.requests
    assert second.received_ns - first.received_ns >= 0.2e9


@pytest.mark.parametrize(
    ("code", "retryable", "retry_after", "attempt", "wait"),
    [
        ("overloaded", True, None, 0, 0.5),
        ("overloaded", True, None, 1, 2.0),
        ("overloaded", True, None, 7, 2.0),
        ("overloaded", True, 1.0, 0, 1.0),
        ("overloaded", True, 0.0, 0, 0.5),
        ("rate_limited", True, None, 0, None),
        ("rate_limited", True, 0.0, 0, 0.5),
        ("rate_limited", True, 2.0, 0, 2.0),
        ("rate_limited", True, 2.1, 0, None),
        ("server_error", True, 600.0, 0, None),
        ("server_error", False, None, 0, None),
        ("connection_lost", True, None, 0, 0.5),
        ("stream_cut", True, None, 0, None),
        ("timeout", True, None, 0, None),
        ("server_unreachable", True, None, 0, None),
    ],
)
def test_when_a_call_is_repeated(
    code: str, retryable: bool, retry_after: float | None, attempt: int, wait: float | None
) -> None:
    error = AgentError(code, "Words.", retryable=retryable, retry_after=retry_after)
    assert choose_retry_wait(error, attempt) == wait


async def test_cancelling_during_a_wait_ends_at_once(
    server: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.model.client.RETRY_SECONDS", (10 * PATIENCE,))
    server.script.error(529)
    waiting = asyncio.Event()

    class Waiting(Books):
        async def end(self, reply: Reply, error: BaseException | None) -> None:
            waiting.set()

    async with connected(server, retries=1) as client:

        async def consume() -> None:
            async for _ in client.stream(REQUEST, Waiting(server)):
                pass

        task = asyncio.create_task(consume())
        await waiting.wait()
        task.cancel()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(asyncio.CancelledError):
                await task


# --- Counting and models --------------------------------------------------------------------------


async def test_tokens_are_counted_by_the_server(server: DemoServer, client: Client) -> None:
    assert (await client.count_tokens(REQUEST) or 0) > 10
    [counted] = server.script.count_requests
    assert "max_tokens" not in counted.body
    assert "cache_control" not in counted.raw.decode()


async def test_a_count_that_fails_is_none_and_asked_for_again(
    server: DemoServer, client: Client
) -> None:
    server.script.error(529, endpoint="count_tokens")
    assert await client.count_tokens(REQUEST) is None
    assert await client.count_tokens(REQUEST)


async def test_a_model_that_cannot_be_counted_does_not_stop_others(
    server: DemoServer, client: Client
) -> None:
    server.script.error(404, endpoint="count_tokens")
    other = replace(REQUEST, model="claude-other")
    assert await client.count_tokens(REQUEST) is None
    assert await client.count_tokens(REQUEST) is None
    assert await client.count_tokens(other)
    assert len(server.script.count_requests) == 2


async def test_models_are_listed_with_their_windows(client: Client) -> None:
    [model] = await client.models()
    assert (model.name, model.context_window, model.max_output) == ("everlong-demo", 8192, 1024)
    assert model.display_name == "Demo (no AI)"


async def test_a_model_is_listed_with_what_it_can_be_set_to() -> None:
    listed = ListedModel(efforts=("low", "max"), thinking=("enabled", "adaptive", "disabled"))
    with DemoServer(models=[listed]) as server:
        async with connected(server) as client:
            [model] = await client.models()
    assert (model.efforts, model.temperature) == (("low", "max"), False)
    assert model.thinking == ("adaptive", "enabled", "disabled")


@pytest.mark.parametrize(
    "told",
    [
        {"max_model_len": 32_768},  # vLLM
        {"meta": {"vocab_type": 2, "n_ctx": 32_768, "n_ctx_train": 131_072}},  # llama.cpp
    ],
)
async def test_windows_are_read_as_local_servers_tell_them(told: dict[str, object]) -> None:
    listed = {"object": "list", "data": [{"id": "qwen3", "object": "model", **told}]}
    body = http(json.dumps(listed).encode(), "application/json")
    async with serving(body) as url, connected(url) as client:
        assert await client.models() == [ModelInfo("qwen3", "qwen3", 32_768, temperature=True)]


async def test_a_model_list_that_cannot_be_had_is_an_error(
    server: DemoServer, client: Client
) -> None:
    server.script.error(401, endpoint="models")
    with pytest.raises(AgentError) as raised:
        await client.models()
    assert raised.value.code == "bad_key"


async def test_an_empty_list_may_be_null() -> None:
    """Ollama's before the first model was pulled."""
    body = http(b'{"object": "list", "data": null}', "application/json")
    async with serving(body) as url, connected(url) as client:
        assert await client.models() == []


async def test_ollama_answers_without_counts_cache_or_windows() -> None:
    with DemoServer(
        ollama=True, models=[ListedModel("qwen3:8b", display_name="qwen3:8b")]
    ) as server:
        server.script.reply(SCRIPTED)
        async with connected(server) as client:
            assert await client.models() == [ModelInfo("qwen3:8b", "qwen3:8b", temperature=True)]
            assert await client.count_tokens(REQUEST) is None
            assert await client.count_tokens(REQUEST) is None
            reply = await client.complete(REQUEST)
        assert len(server.script.count_requests) == 1
        assert reply.blocks == list(SCRIPTED.blocks)
        assert reply.usage == Usage(reply.usage.input_tokens, reply.usage.output_tokens)
        server.script.assert_done()
