"""Endings that nobody recorded, made by hand from what was."""

import json
from dataclasses import replace

import pytest

from agent.errors import AgentError
from agent.messages import Block, shown_text
from agent.model.client import Client
from agent.model.reply import Outcome, Reply
from agent.model.sse import EventDecoder
from tests.data.recordings import Record, need
from tests.data.replay import Canned, Played, play, replay_server, sendable

pytestmark = pytest.mark.asyncio

SSE = {"content-type": "text/event-stream"}


def events(record: Record) -> list[bytes]:
    """A recorded stream as its events, each with its blank line."""
    return [event + b"\n\n" for event in record.body.strip().split(b"\n\n")]


def one_of_each(recordings: list[Record]) -> list[Record]:
    """Short streams of several kinds: text, tools, thinking, citations, server tools."""
    wanted = ["res:text", "res:tool_use", "res:thinking", "delta:citations_delta"]
    wanted += ["res:server_tool_use", "res:redacted_thinking", "res:compaction"]
    found = {}
    for tag in wanted:
        kinds = [r for r in recordings if r.streamed and tag in r.tags and "sse:ping" in r.tags]
        if kinds:
            found[tag] = min(kinds, key=lambda r: len(r.body))
    need(found, "streamed answer")
    return list({record.id: record for record in found.values()}.values())


async def play_bytes(*bodies: bytes) -> list[Played]:
    """Each body as a stream that begins with 200."""
    answers = {str(i): Canned(200, SSE, body) for i, body in enumerate(bodies)}
    async with replay_server(answers) as url:
        client = Client(api_key="test", base_url=url, retries=0)
        ends = [await play(client, name) for name in answers]
        await client.close()
    return ends


def text_stream(recordings: list[Record]) -> Record:
    """A recorded answer of text alone in many pieces."""
    found = (
        r
        for r in recordings
        if r.streamed and r.body.count(b"text_delta") > 10 and r.body.count(b'"end_turn"') == 1
        if not r.tags & {"res:thinking", "res:server_tool_use", "res:tool_use"}
        if b"event: message_stop" in r.body and b"error" not in r.body
    )
    return need(found, "streamed answer of text alone")


def said(blocks: list[Block]) -> str:
    """What a reader sees of an answer's text."""
    return shown_text(block for block in blocks if block["type"] == "text")


async def test_the_window_ran_full(recordings: list[Record]) -> None:
    record = text_stream(recordings)
    full = record.body.replace(b'"end_turn"', b'"model_context_window_exceeded"')
    empty = b"".join(e for e in events(replace(record, body=full)) if b"content_block" not in e)
    [end, nothing] = await play_bytes(full, empty)
    assert end.outcome is nothing.outcome is Outcome.OVERFLOW
    assert end.visible == said(end.blocks) != ""
    assert nothing.blocks == []
    assert sendable(record.history, end.blocks, []) == []


async def test_an_error_after_part_of_the_text_keeps_that_part(recordings: list[Record]) -> None:
    record = text_stream(recordings)
    broken_off = (r.body for r in recordings if "sse:error_event" in r.tags)
    error = need((b for b in broken_off if b"overloaded_error" in b), "error within a stream")
    sent = events(record)
    bodies = [b"".join(sent[:length]) + error for length in range(1, len(sent) - 2)]
    ends = await play_bytes(*bodies)
    for end in ends:
        assert end.error
        assert (end.error.code, end.error.retryable) == ("overloaded", True)
        assert said(end.blocks) == end.visible
        assert sendable(record.history, end.blocks, []) == []
    lengths = [len(end.visible) for end in ends]
    assert lengths == sorted(lengths)
    assert lengths[-1] > lengths[len(lengths) // 2] > 0


async def test_an_overloaded_server_with_retry_after(recordings: list[Record]) -> None:
    overloaded_ones = (r for r in recordings if r.status == 529)
    record = need(overloaded_ones, "answer with the status 529")
    overloaded = Canned(529, record.headers | {"retry-after": "7"}, record.body)
    after = text_stream(recordings)
    briefly = Canned(529, record.headers | {"retry-after": "0.1"}, record.body)
    answers = {"once": [overloaded], "twice": [briefly, Canned(200, SSE, after.body)]}
    async with replay_server(answers) as url:
        asked_once = Client(api_key="test", base_url=url, retries=0)
        asked_twice = Client(api_key="test", base_url=url, retries=1)
        refused, answered = await play(asked_once, "once"), await play(asked_twice, "twice")
        await asked_once.close()
        await asked_twice.close()
    assert refused.error
    assert (refused.error.code, refused.error.retry_after) == ("overloaded", 7.0)
    assert answered.outcome is Outcome.FINISH


async def test_a_stream_cut_anywhere_ends_in_words_and_keeps_what_came(
    recordings: list[Record],
) -> None:
    for record in one_of_each(recordings):
        sent = events(record)
        cuts = range(0, len(sent) - 1, max(1, len(sent) // 25))
        ends = await play_bytes(*(b"".join(sent[:length]) for length in cuts))
        ends += await play_bytes(*(b"".join(sent[:at]) + sent[at][:-9] for at in cuts if at))
        for end in ends:
            assert end.error, record.id
            assert (end.error.code, end.error.retryable) == ("stream_cut", True), record.id
            kept = "".join(b["text"] for b in end.blocks if b["type"] == "text")
            assert squeezed(kept) == squeezed(end.visible), record.id
            assert sendable(record.history, end.blocks, record.tools) == [], record.id


def squeezed(text: str) -> str:
    """Without the breaks between blocks, of which there are none where a citation cuts a text."""
    return text.strip().replace("\n\n", "")


def fold(body: bytes) -> Reply:
    """Without the network: many damaged streams in little time. Raises AgentError."""
    decoder, reply = EventDecoder(), Reply()
    for event in [*decoder.feed(body), *decoder.close()]:
        reply.apply(event)
    return reply


async def test_a_damaged_stream_ends_in_a_reply_or_in_an_agent_error(
    recordings: list[Record],
) -> None:
    """Events lost, doubled, swapped, and each field of each event missing."""
    played = 0
    for record in one_of_each(recordings):
        sent = events(record)[:40]
        damaged = [[*sent[:at], *sent[at + 1 :]] for at in range(len(sent))]
        damaged += [[*sent[: at + 1], *sent[at:]] for at in range(len(sent))]
        damaged += [[*sent[:at], sent[at + 1], sent[at]] for at in range(len(sent) - 1)]
        damaged += [
            [*sent[:at], without, *sent[at + 1 :]]
            for at, event in enumerate(sent)
            for without in _without_fields(event)
        ]
        for pieces in damaged:
            try:
                reply = fold(b"".join(pieces))
            except AgentError:
                continue
            assert sendable(record.history, reply.partial_blocks(), record.tools) == []
            played += 1
    assert played


def _without_fields(event: bytes) -> list[bytes]:
    head, _, data = event.partition(b"data: ")
    whole = json.loads(data)
    found = []
    for key, value in whole.items():
        found.append({k: v for k, v in whole.items() if k != key})
        found.append(whole | {key: None})
        if isinstance(value, dict):
            lacking = ({k: v for k, v in value.items() if k != inner} for inner in value)
            found += [whole | {key: inner} for inner in lacking]
    return [head + b"data: " + json.dumps(damaged).encode() + b"\n\n" for damaged in found]
