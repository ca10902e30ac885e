"""The real SDK against the scripted server."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic

from demo.api.protocol import ScriptedReply, redacted_thinking, refusal, text, thinking, tool_use
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from demo.api.stream import STAMP
from demo.mind.models import ListedModel
from demo.mind.playing import bench_script
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.asyncio

ASK: dict[str, Any] = {
    "model": "claude-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello"}],
}
TOOLS: list[Any] = [{"name": "search", "input_schema": {"type": "object", "properties": {}}}]
ERRORS: dict[int, type[anthropic.APIStatusError]] = {
    400: anthropic.BadRequestError,
    401: anthropic.AuthenticationError,
    403: anthropic.PermissionDeniedError,
    404: anthropic.NotFoundError,
    413: anthropic.ContentTooLargeError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    529: anthropic.OverloadedError,
}


async def streamed(client: AsyncAnthropic, **changes: Any) -> Any:
    async with client.messages.stream(**{**ASK, **changes}) as stream:
        return await stream.get_final_message()


async def plain(client: AsyncAnthropic, **changes: Any) -> Any:
    return await client.messages.create(**{**ASK, **changes})


async def read_text(client: AsyncAnthropic, seen: list[str]) -> None:
    async with client.messages.stream(**ASK) as stream:
        async for piece in stream.text_stream:
            seen.append(piece)


async def test_a_plain_answer_has_text_and_usage(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply("Good morning.")
    message = await plain(client)
    assert message.content[0].text == "Good morning."
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens == 4  # 13 bytes, four to a token, rounded up
    server.script.assert_done()


async def test_a_streamed_answer_arrives_in_several_deltas(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply(ScriptedReply((text("A longer text in pieces."),), piece_chars=5))
    pieces: list[str] = []
    async with client.messages.stream(**ASK) as stream:
        async for piece in stream.text_stream:
            pieces.append(piece)
        message: Any = await stream.get_final_message()
    assert len(pieces) == 5
    assert "".join(pieces) == message.content[0].text == "A longer text in pieces."
    server.script.assert_done()


async def test_a_tool_loop_passes_with_its_thinking(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    call = tool_use("search", {"query": "größe \U0001f600", "n": [1, 2]})
    server.script.reply([thinking("I should look."), redacted_thinking("abc"), call])
    server.script.reply("Found.")
    first = await streamed(client, tools=TOOLS)
    assert first.stop_reason == "tool_use"
    assert first.content[2].input == call["input"]
    assert first.usage.output_tokens_details.thinking_tokens > 0
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "a hit"}
    messages = [
        *ASK["messages"],
        {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in first.content]},
        {"role": "user", "content": [result]},
    ]
    second = await streamed(client, tools=TOOLS, messages=messages)
    assert second.content[0].text == "Found."
    server.script.assert_done()


@pytest.mark.parametrize("damage", ["text", "signature", "system"])
async def test_thinking_must_come_back_as_it_was_and_where_it_was(
    server: DemoServer, client: AsyncAnthropic, damage: str
) -> None:
    thought, call = thinking("I should look."), tool_use("search", {})
    server.script.reply([thought, call])
    await streamed(client, tools=TOOLS)
    changes = {"system": "Other."} if damage == "system" else {}
    returned = {
        "text": {**thought, "thinking": "I should not."},
        "signature": {**thought, "signature": "forged"},
        "system": thought,
    }[damage]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "a hit"}
    messages = [
        *ASK["messages"],
        {"role": "assistant", "content": [returned, call]},
        {"role": "user", "content": [result]},
    ]
    with pytest.raises(anthropic.BadRequestError, match="thinking"):
        await streamed(client, tools=TOOLS, messages=messages, **changes)
    with pytest.raises(AssertionError, match="violation.*thinking"):
        server.script.assert_done()


async def test_a_refusal_is_a_200_with_its_category(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply(refusal("cyber", "No."))
    message = await streamed(client)
    assert message.stop_reason == "refusal"
    assert message.stop_details.category == "cyber"
    assert message.content == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", sorted(ERRORS))
async def test_each_error_status_raises_its_exception(
    server: DemoServer, client: AsyncAnthropic, status: int, stream: bool
) -> None:
    server.script.error(status)
    with pytest.raises(ERRORS[status]) as caught:
        await plain(client, stream=stream)
    assert caught.value.status_code == status
    assert str(caught.value.request_id).startswith("req_")
    server.script.assert_done()


async def test_retry_after_is_sent_only_if_asked(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.error(429, retry_after=3).error(529)
    with pytest.raises(anthropic.RateLimitError) as limited:
        await plain(client)
    assert limited.value.response.headers["retry-after"] == "3"
    with pytest.raises(anthropic.OverloadedError) as overloaded:
        await plain(client)
    assert "retry-after" not in overloaded.value.response.headers


async def test_an_error_event_comes_after_the_text(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.error_event("overloaded_error", after_text="Half an ans")
    seen: list[str] = []
    with pytest.raises(anthropic.APIStatusError) as caught:
        await read_text(client, seen)
    assert (seen, caught.value.type) == (["Half an ans"], "overloaded_error")


async def test_a_cut_stream_ends_without_a_stop_reason(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.cut("Half an ans").cut()
    message = await streamed(client)
    assert message.stop_reason is None
    assert message.content[0].text == "Half an ans"
    assert (await streamed(client)).content == []
    server.script.assert_done()


async def test_a_cut_can_fall_into_a_tool_call(server: DemoServer, client: AsyncAnthropic) -> None:
    server.script.cut([tool_use("search", {"query": "a long query in pieces"})], deltas=2)
    async with client.messages.stream(**ASK, tools=TOOLS) as stream:
        kinds = [event.type async for event in stream]
    assert kinds.count("content_block_delta") == 2
    assert "content_block_stop" not in kinds


async def test_a_dropped_connection_raises_in_mid_text(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.drop("Half an ans")
    seen: list[str] = []
    with pytest.raises((httpx2.HTTPError, anthropic.APIConnectionError)):
        await read_text(client, seen)
    assert seen == ["Half an ans"]
    assert not server.script.disconnects


@pytest.mark.parametrize("stream", [False, True])
async def test_a_drop_before_the_headers_is_a_connection_error(
    server: DemoServer, client: AsyncAnthropic, stream: bool
) -> None:
    server.script.drop()
    with pytest.raises(anthropic.APIConnectionError):
        await plain(client, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_stall_before_the_first_byte_lasts_until_released(
    server: DemoServer, client: AsyncAnthropic, stream: bool
) -> None:
    gate = server.script.stall(then="At last.")
    asking = asyncio.create_task(streamed(client) if stream else plain(client))
    await gate.wait_reached()
    assert not asking.done()
    gate.release()
    assert (await asking).content[0].text == "At last."


async def test_a_stall_after_text_shows_the_text_first(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    gate = server.script.stall("First", then=" and last.")
    async with client.messages.stream(**ASK) as stream:
        pieces = stream.text_stream
        assert await anext(pieces) == "First"
        await gate.wait_reached()
        gate.release()
        assert await anext(pieces) == " and last."
        assert (await stream.get_final_message()).stop_reason == "end_turn"


async def test_a_client_that_stops_is_recorded(server: DemoServer, client: AsyncAnthropic) -> None:
    gate = server.script.stall("First", then="never read")
    async with client.messages.stream(**ASK) as stream:
        assert await anext(stream.text_stream) == "First"
        await gate.wait_reached()
    await asyncio.to_thread(server.script.wait_for_disconnects, 1)
    assert server.script.disconnects[0].deltas_sent == 1
    assert server.script.disconnects[0].request is server.script.requests[0]


async def test_drip_keeps_its_schedule_and_stamps_its_deltas(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.drip([STAMP] * 10, 0.01, stamp=True)
    message = await streamed(client)
    stamps = [int(stamp) for stamp in message.content[0].text.split()]
    assert len(stamps) == 10
    assert stamps[-1] - stamps[0] >= 85_000_000  # nine intervals of 10 ms


async def test_an_always_reply_comes_after_the_ordered_ones(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply(lambda request: request.last_user_text.upper(), always=True)
    server.script.reply("once", when=is_chat).reply("never", when=is_summary)
    texts = [(await streamed(client)).content[0].text for _ in range(3)]
    assert texts == ["once", "HELLO", "HELLO"]
    assert server.script.unused() == ["reply 'never'"]


async def test_a_stalled_count_counts_when_it_is_released(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    ask = {key: value for key, value in ASK.items() if key != "max_tokens"}
    gate = server.script.stall(endpoint="count_tokens")
    counting = asyncio.create_task(client.messages.count_tokens(**ask))
    await gate.wait_reached()
    assert not counting.done()
    gate.release()
    assert (await counting).input_tokens > 0


async def test_count_tokens_answers_what_usage_will_say(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply("Hi.")
    ask = {key: value for key, value in ASK.items() if key != "max_tokens"}
    counted = await client.messages.count_tokens(**ask, system="Be kind.")
    message = await plain(client, system="Be kind.")
    assert counted.input_tokens == message.usage.input_tokens
    assert len(server.script.count_requests) == 1
    server.script.assert_done()


async def test_counting_can_be_scripted_to_fail(server: DemoServer, client: AsyncAnthropic) -> None:
    server.script.error(429, endpoint="count_tokens")
    ask = {key: value for key, value in ASK.items() if key != "max_tokens"}
    with pytest.raises(anthropic.RateLimitError):
        await client.messages.count_tokens(**ask)
    server.script.assert_done()


async def test_the_demo_model_is_listed_with_its_window(client: AsyncAnthropic) -> None:
    models = [model async for model in client.models.list()]
    assert [(m.id, m.max_input_tokens, m.max_tokens) for m in models] == [
        ("everlong-demo", 8192, 1024)
    ]
    shown = await client.models.retrieve("everlong-demo")
    assert shown.display_name == "Demo (no AI)"
    assert shown.capabilities is not None
    assert shown.capabilities.thinking.supported is False
    with pytest.raises(anthropic.NotFoundError):
        await client.models.retrieve("claude-unknown")


async def test_a_request_over_the_window_of_a_listed_model_is_too_long() -> None:
    with DemoServer(models=[ListedModel(id="claude-test", window=200)]) as server:
        async with AsyncAnthropic(
            max_retries=0, base_url=server.base_url, api_key="test"
        ) as client:
            messages = [{"role": "user", "content": "x" * 900}]
            with pytest.raises(anthropic.BadRequestError, match=r"229 tokens > 200 maximum"):
                await plain(client, messages=messages)


async def test_a_second_request_reads_the_shared_prefix_from_the_cache(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply("One.").reply("Two.")
    system = [{"type": "text", "text": "s" * 4000, "cache_control": {"type": "ephemeral"}}]
    first = await plain(client, system=system)
    other = [{"role": "user", "content": "Another question"}]
    second = await streamed(client, system=system, messages=other)
    assert first.usage.cache_creation_input_tokens == 1000
    assert first.usage.cache_creation.ephemeral_5m_input_tokens == 1000
    assert second.usage.cache_read_input_tokens == 1000
    assert second.usage.cache_creation_input_tokens == 0
    assert second.usage.input_tokens == 8  # 16 bytes of text and 16 for the message


async def test_ollama_mode_has_no_counting_no_cache_and_the_openai_list() -> None:
    with DemoServer(ollama=True) as server:
        async with AsyncAnthropic(
            max_retries=0, base_url=server.base_url, api_key="test"
        ) as client:
            ask = {key: value for key, value in ASK.items() if key != "max_tokens"}
            with pytest.raises(anthropic.NotFoundError):
                await client.messages.count_tokens(**ask)
            listed = (await client.models.with_raw_response.list()).http_response.json()
            assert listed["object"] == "list"
            assert listed["data"][0]["id"] == "qwen3:8b"
            server.script.reply("Hi.").error_event(after_text="Half")
            system = [{"type": "text", "text": "s" * 400, "cache_control": {"type": "ephemeral"}}]
            message = await streamed(client, system=system)
            assert message.usage.cache_creation_input_tokens is None
            assert message.usage.input_tokens == 106
            assert (await streamed(client)).stop_reason is None
            server.script.assert_done()


async def test_assert_done_names_an_unused_reply(server: DemoServer) -> None:
    server.script.reply("never asked for")
    with pytest.raises(AssertionError, match="unused: reply 'never asked for'"):
        server.script.assert_done()


async def test_an_unexpected_request_gets_a_500_that_says_so(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    with pytest.raises(anthropic.InternalServerError, match="expects no such request"):
        await plain(client)
    with pytest.raises(AssertionError, match="unexpected: chat request.*Hello"):
        server.script.assert_done()


async def test_a_violated_rule_gets_a_400_and_fails_the_script(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply("not sent")
    messages = [*ASK["messages"], {"role": "assistant", "content": "Well,"}]
    with pytest.raises(anthropic.BadRequestError, match="prefill"):
        await plain(client, messages=messages)
    with pytest.raises(AssertionError, match="violation: /v1/messages #1: .*prefill"):
        server.script.assert_done()


async def test_a_wrong_key_is_turned_away() -> None:
    with DemoServer(api_key="right") as server:
        async with AsyncAnthropic(
            max_retries=0, base_url=server.base_url, api_key="wrong"
        ) as client:
            with pytest.raises(anthropic.AuthenticationError):
                await plain(client)


async def test_the_recorded_bytes_are_exactly_what_was_sent(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.script.reply("Hi.")
    await plain(client)
    request = server.script.requests[0]
    assert b'"Hello"' in request.raw
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert request.path == "/v1/messages"


async def test_the_server_comes_back_on_the_same_port(
    server: DemoServer, client: AsyncAnthropic
) -> None:
    server.stop()
    with pytest.raises(anthropic.APIConnectionError):
        await plain(client)
    server.start()
    server.script.reply("Back.")
    assert (await plain(client)).content[0].text == "Back."


async def test_another_process_can_script_over_http() -> None:
    with DemoServer(control=True) as server:
        async with (
            httpx2.AsyncClient(base_url=server.base_url) as control,
            AsyncAnthropic(max_retries=0, base_url=server.base_url, api_key="test") as client,
        ):
            entries = [{"reply": "Hi.", "kind": "chat"}, {"stall": None, "then": "Late."}]
            await control.post("/control/script", json=entries)
            assert (await streamed(client)).content[0].text == "Hi."
            asking = asyncio.create_task(streamed(client))
            await asyncio.to_thread(server.script.wait_for_requests, 2)
            await control.post("/control/release")
            assert (await asking).content[0].text == "Late."
            report = (await control.get("/control/report")).json()
            assert (len(report["requests"]), report["problems"]) == (2, [])
            refused = await control.post("/control/script", json=[{"explode": 1}])
            assert refused.status_code == 400


async def test_the_demo_runs_as_its_own_process() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "demo", "--tokens-per-s", "0", cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    base_url = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode().strip()
    try:
        async with AsyncAnthropic(max_retries=0, base_url=base_url, api_key="any") as client:
            message = await streamed(client, max_tokens=1024)
        assert "No AI is connected" in message.content[0].text
    finally:
        process.terminate()
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


async def test_the_bench_script_sends_its_deltas_stamped() -> None:
    with DemoServer(bench_script(30, 0.001, stamp=True)) as server:
        async with AsyncAnthropic(
            max_retries=0, base_url=server.base_url, api_key="test"
        ) as client:
            message = await streamed(client)
    stamps = [int(stamp) for stamp in message.content[0].text.split()]
    assert len(stamps) == 30
    assert stamps == sorted(stamps)
