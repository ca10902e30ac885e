"""Every recorded answer through the real SDK and our client.

A streamed one is served byte by byte as it was recorded. A plain JSON one is served as the same
reply in events, because our client always streams; and again as recorded, through the SDK's plain
call and `fold_message`: both must give the same blocks.
"""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic

from agent.errors import ErrorCode
from agent.messages import Usage, plain_text, shown_text
from agent.model.client import Client
from agent.model.reply import OUTCOMES, Outcome, Reply, fold_message
from agent.model.sse import EventDecoder
from chat.engine.model_server import get_counter
from chat.html.message import render_message
from chat.models import Message
from tests.data.recordings import Record, blocks_left_open, need
from tests.data.replay import Canned, Played, play, replay_server, sendable

CODES = {
    401: ErrorCode.BAD_KEY,
    402: ErrorCode.NO_CREDIT,
    403: ErrorCode.NOT_ALLOWED,
    404: ErrorCode.UNKNOWN_MODEL,
    408: ErrorCode.SERVER_ERROR,
    413: ErrorCode.REQUEST_TOO_LARGE,
    429: ErrorCode.RATE_LIMITED,
    529: ErrorCode.OVERLOADED,
}


def fails(record: Record) -> bool:
    """Whether a recording that begins with 200 ends in an error: refused, stopped for a reason that
    nobody knows, broken off by the server, or begun anew by a proxy in the middle of a block."""
    reasons = {tag.partition(":")[2] for tag in record.tags if tag.startswith("stop_reason:")}
    if "refusal" in reasons or reasons - OUTCOMES.keys() or "sse:error_event" in record.tags:
        return True
    if not record.streamed:
        return not record.is_message
    return bool(b"event: message_stop" not in record.body or blocks_left_open(record.body))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(recordings: list[Record]) -> AsyncIterator[str]:
    """The recordings as they are: streams, and plain bodies."""
    answers = {r.id: Canned(r.status, r.headers, r.body) for r in recordings}
    async with replay_server(answers) as url:
        yield url


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_recording_ends_in_blocks_or_in_words_for_the_page(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    for record in recordings:
        end = played[record.id]
        if end.error:
            assert len(end.error.message) > 20, record.id
            assert end.error.message[-1] in ".”", (record.id, end.error.message)
        assert (end.error is not None) == (record.status != 200 or fails(record)), record.id


async def test_stored_blocks_can_be_kept_counted_and_shown(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    for record in recordings:
        blocks = played[record.id].blocks
        assert json.loads(json.dumps(blocks)) == blocks, record.id
        assert get_counter().count_blocks(blocks) > 0
        text = plain_text(blocks)
        html = render_message(Message(role="assistant", blocks=blocks, text=text, number=1))
        assert html.count("<article") == 1, record.id
        for block in blocks:
            if block["type"] == "text":
                assert block["text"].strip() in text, record.id


async def test_what_was_stored_can_be_sent_back(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    broken = {
        record.id: rules
        for record in recordings
        if (rules := sendable(record.history, played[record.id].blocks, record.tools))
    }
    assert not broken, "\n".join(f"{name}: {rules[:3]}" for name, rules in broken.items())


async def test_the_visible_text_is_the_stored_text(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    for record in recordings:
        end = played[record.id]
        texts = [b for b in end.reply.blocks if b["type"] == "text"]
        adjacent = all(a["type"] == b["type"] == "text" for a, b in pairwise(end.reply.blocks))
        squeezed = "".join(b["text"] for b in texts)
        assert end.visible.replace("\n\n", "") == squeezed.replace("\n\n", ""), record.id
        if adjacent:
            assert end.visible == shown_text(texts), record.id
        # The stored text goes on with the pages that are cited, and with nothing else.
        assert plain_text(texts).startswith(shown_text(texts)), record.id


async def test_a_reply_is_the_same_streamed_and_in_one_piece(
    server: str, recordings: list[Record], played: dict[str, Played]
) -> None:
    plain = [record for record in recordings if record.is_message]
    need(plain, "plain answer")
    gate = asyncio.Semaphore(8)
    async with AsyncAnthropic(api_key="test", base_url=server, max_retries=0) as sdk:

        async def compare(record: Record) -> None:
            async with gate:
                response = await sdk.messages.with_raw_response.create(
                    model=record.id,
                    max_tokens=100,
                    messages=[{"role": "user", "content": "Hello"}],
                )
            whole = fold_message((await response.parse()).to_dict(warnings=False))
            reply = played[record.id].reply
            assert whole.blocks == reply.blocks, record.id
            assert (whole.stop_reason, whole.usage) == (reply.stop_reason, reply.usage), record.id
            assert whole.stop_details == reply.stop_details, record.id

        await asyncio.gather(*map(compare, plain))


async def test_a_stream_gives_what_the_sdk_itself_makes_of_it(
    server: str, recordings: list[Record], played: dict[str, Played]
) -> None:
    compared = 0
    async with AsyncAnthropic(api_key="test", base_url=server, max_retries=0) as sdk:
        for record in recordings:
            if not record.streamed or fails(record) or several_messages(record):
                continue
            async with sdk.beta.messages.stream(
                model=record.id,
                max_tokens=100,
                messages=[{"role": "user", "content": "Hello"}],
            ) as stream:
                message = (await stream.get_final_message()).to_dict(warnings=False)
            reply = played[record.id].reply
            theirs = fold_message(message)
            for block in theirs.blocks:
                block.pop("parsed_output", None)  # the SDK's own addition
                block.pop("encrypted_content", None)  # of compaction, which is never sent back
            if not cut_in_an_input(record):
                assert theirs.blocks == reply.blocks, record.id
            assert theirs.stop_reason == reply.stop_reason
            assert theirs.usage == reply.usage, record.id
            compared += 1
    need(range(compared), "streamed answer")


def cut_in_an_input(record: Record) -> bool:
    """Whether the arguments of a call are not whole; the SDK then guesses at the rest."""
    inputs: dict[int, str] = defaultdict(str)
    for line in record.body.splitlines():
        event = json.loads(line[5:]) if line.startswith(b"data:") else {}
        if event.get("delta", {}).get("type") == "input_json_delta":
            inputs[event["index"]] += event["delta"]["partial_json"]
    return not all(map(is_json, filter(None, inputs.values())))


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def several_messages(record: Record) -> bool:
    """Some fixtures hold all streams of a session in one file. We stop where the first ends."""
    return record.body.count(b"event: message_start") > 1


async def test_the_cut_of_the_bytes_does_not_matter(recordings: list[Record]) -> None:
    for record in recordings:
        if not record.streamed or "sse:error_event" in record.tags or len(record.body) > 20_000:
            continue
        whole = EventDecoder().feed(record.body)
        for newline in (b"\n", b"\r\n"):
            decoder = EventDecoder()
            body = record.body.replace(b"\n", newline)
            events = [e for at in range(len(body)) for e in decoder.feed(body[at : at + 1])]
            assert events == whole, record.id


async def test_usage_and_stop_reasons_are_those_of_the_body(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    for record in recordings:
        if record.is_message:
            usage = Usage.from_api(record.message["usage"])
            assert played[record.id].reply.usage == usage, record.id
            assert played[record.id].reply.stop_reason == record.message["stop_reason"]


async def test_errors_say_what_to_do_and_when(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    for record in recordings:
        error = played[record.id].error
        if record.status == 200 or error is None:
            continue
        assert error.code in expected_codes(record), (record.id, error.code)
        again = record.status >= 500 or record.status in (408, 429)
        assert error.retryable == (again and error.code != ErrorCode.TOO_LONG), record.id
        if "error:prompt_too_long" in record.tags:
            counted = re.search(rb"\d+ tokens > \d+", record.body)
            assert counted
            assert counted[0].decode() in error.said, record.id
        wait = record.headers.get("retry-after", "")
        seconds = float(wait) if re.fullmatch(r"\d+(\.\d+)?", wait) else None
        assert error.retry_after == (seconds if error.retryable else None), record.id


def expected_codes(record: Record) -> set[str]:
    """What the page may call a recorded error: by its status, and where one status stands for
    several, by its words."""
    if "error:prompt_too_long" in record.tags:
        return {ErrorCode.TOO_LONG}
    if record.status == 400:
        if b"credit balance" in record.body:
            return {ErrorCode.NO_CREDIT}
        thinking = b"thinking" in record.body or b"different conversation" in record.body
        return {ErrorCode.BAD_REQUEST} | ({ErrorCode.THINKING_REFUSED} if thinking else set())
    if record.status >= 500 and record.status != 529:
        return {ErrorCode.SERVER_ERROR}
    return {CODES.get(record.status, ErrorCode.BAD_REQUEST)}


async def test_a_json_answer_to_a_streaming_call_is_taken_as_it_is(
    server: str, recordings: list[Record]
) -> None:
    whole = (r for r in recordings if r.is_message and not fails(r))
    record = need(whole, "plain answer")
    client = Client(api_key="test", base_url=server, retries=0)
    end = await play(client, record.id)
    await client.close()
    assert end.error is None
    assert end.blocks == fold_message(record.message).blocks


async def test_refusals_keep_what_was_said_and_name_the_category(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    """What a reader saw is kept to be shown. It is not sent again: `tests/chat/live`."""
    refusals = [record for record in recordings if "stop_reason:refusal" in record.tags]
    need(refusals, "refusal")
    for record in refusals:
        end = played[record.id]
        assert end.error
        assert end.error.code == ErrorCode.REFUSED
        kept = shown_text(block for block in end.blocks if block["type"] == "text")
        assert kept.strip() == end.visible.strip(), record.id
        assert end.error.said == str((end.reply.stop_details or {}).get("category") or "")


async def test_a_paused_turn_is_sent_back_as_it_is(
    recordings: list[Record], played: dict[str, Played]
) -> None:
    paused = need((r for r in recordings if "stop_reason:pause_turn" in r.tags), "paused turn")
    assert played[paused.id].outcome is Outcome.RESEND
    assert isinstance(played[paused.id].reply, Reply)
