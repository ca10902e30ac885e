"""A turn ends, and frees its lock, whatever becomes of its end."""

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import (
    DataError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)
from django.test import Client
from django.utils import timezone

from chat.db.outages import DATABASE
from chat.db.threads import AWAY, NO_SPACE, THREADS, UNWRITABLE, explain_unavailable, in_db
from chat.live.runner import runner
from chat.models import Conversation, Message, Turn
from chat.models.notices import Notice
from chat.services.turns import endings, requests, sweep, turns
from chat.services.turns.endings import TurnOutcome
from chat.web import metrics
from tests.chat.factories import HOLDER, make_conversation
from tests.chat.sockets import Chat
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

Event = dict[str, Any]

BEGUN: list[Event] = [
    {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "What came before. "},
    },
]
TEXT_NULL = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "text_delta", "text": None},
}
MANY_TOKENS = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn"},
    "usage": {"input_tokens": "many"},
}
LONG_REASON = {"type": "message_delta", "delta": {"stop_reason": "x" * 300}, "usage": {}}


@pytest.fixture
async def say(chat: Chat, settings: Any) -> AsyncIterator[Callable[..., Any]]:
    """`say(events)`: from now on the model's server answers with these events, byte by byte."""
    told: list[Event] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        body = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in told)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
        writer.write(b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield told.extend
    server.close()


@pytest.mark.parametrize("wrong", [TEXT_NULL, MANY_TOKENS, LONG_REASON], ids=lambda e: str(e)[-30:])
async def test_a_damaged_event_fails_the_turn_and_frees_the_lock(
    chat: Chat, say: Callable[..., Any], wrong: Event
) -> None:
    say([*BEGUN, wrong, {"type": "message_stop"}])
    tab = await chat.open()
    tab.say("Tell me")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "stream_cut"
    message = await chat.last()
    assert (message.text, message.status) == ("What came before. ", "failed")
    assert await chat.is_idle()


async def test_a_turn_whose_end_cannot_be_made_ends_plainly_with_its_text(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StopIteration("of a library that counts")

    chat.script.reply("All of the answer.")
    tab = await chat.open()
    opening = await in_db(begin, chat.conversation)
    monkeypatch.setattr(endings, "load_state_for", fail)
    runner.start(opening)
    finished = await tab.next("turn.finished", status="failed")
    assert (finished["error"]["code"], finished["html"]) == ("internal", "")
    assert (await chat.last()).text == "All of the answer."
    assert await chat.is_idle()


async def test_a_turn_whose_text_cannot_be_stored_ends_without_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise DataError("string or blob too big")

    chat.script.reply("All of the answer.")
    tab = await chat.open()
    opening = await in_db(begin, chat.conversation)
    monkeypatch.setattr(endings, "load_state_for", fail)
    monkeypatch.setattr(endings, "text_blocks", fail)
    runner.start(opening)
    await tab.next("turn.finished", status="failed")
    assert (await chat.last()).status == "failed"
    assert await chat.is_idle()


async def test_a_turn_whose_end_cannot_be_drawn_ends_whole_and_the_tabs_ask_for_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StopIteration("of a library that renders")

    chat.script.reply("All of the answer.")
    tab = await chat.open()
    opening = await in_db(begin, chat.conversation)
    monkeypatch.setattr("chat.protocol.from_rows.render_message", fail)
    snapshots = len(tab.all("snapshot"))
    runner.start(opening)
    await tab.until(lambda: len(tab.all("snapshot")) > snapshots)
    assert tab.all("snapshot")[-1]["turn"] is None
    message = await chat.last()
    assert (message.text, message.status) == ("All of the answer.", "complete")
    assert await chat.is_idle()


def begin(conversation: Conversation) -> requests.AnswerStart:
    """A turn as `requests.send_message` leaves it."""
    with transaction.atomic():
        return requests.open_answer_turn(conversation, runner.holder)


def answer_row(turn: Turn) -> Message:
    Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.RUNNING)
    return turns.append_answer(turn.conversation, turns.find_head(turn.conversation), turn)


class Panic(BaseException):
    """As libraries in Rust raise it."""


async def test_a_panic_ends_the_turn_too(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: Any) -> None:
        raise Panic("a million spaces")

    monkeypatch.setattr("chat.engine.model_server.assemble", panic)
    tab = await chat.open()
    tab.say("Tell me")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "internal"
    assert await chat.is_idle()


# --- The database cannot store --------------------------------------------------------------------


async def in_all_threads(statement: str) -> None:
    """Run a statement on the connection of every ORM thread."""
    all_there = threading.Barrier(THREADS)

    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)
        all_there.wait(PATIENCE)

    await asyncio.gather(*(in_db(run) for _ in range(THREADS)))


@pytest.mark.skipif("postgresql" in str(settings.DATABASES), reason="SQLite's own errors")
@pytest.mark.parametrize("stopped", ["full", "locked"])
async def test_an_answer_waits_in_memory_until_the_database_takes_it(
    chat: Chat, stopped: str
) -> None:
    gate = chat.script.stall("Begun", then=" and ended. " + "A long story. " * 20_000)
    tab = await chat.open()
    tab.say("Tell me")
    await gate.wait_reached()
    await tab.until(lambda: tab.all("turn.delta"))
    holder = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    if stopped == "full":
        await in_all_threads("VACUUM")  # no pages are free any more
        await in_all_threads("PRAGMA max_page_count = 1")  # as many as there are
    else:
        await in_all_threads("PRAGMA busy_timeout = 20")
        holder.execute("BEGIN IMMEDIATE")
    try:
        gate.release()
        notice = await tab.next("turn.notice")
        assert "kept in memory" in notice["text"]
        assert ("disk is full" in notice["text"]) == (stopped == "full")
        assert DATABASE.is_ongoing
        assert not tab.all("turn.finished"), "nothing is claimed that was not checked"
        if stopped == "full":
            tab.say("Another")
            assert "answer is being written" in (await tab.next("error"))["message"]
    finally:
        if stopped == "full":
            await in_all_threads("PRAGMA max_page_count = 1000000")
        else:
            holder.execute("ROLLBACK")
            await in_all_threads("PRAGMA busy_timeout = 30000")
        holder.close()
    await tab.next("turn.finished", status="completed")
    message = await chat.last()
    assert message.text == tab.text
    assert message.text.endswith("A long story. ")
    assert await chat.is_idle()
    assert not DATABASE.is_ongoing


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("database or disk is full", NO_SPACE),
        ("disk I/O error", UNWRITABLE),
        ("attempt to write a readonly database", UNWRITABLE),
        ("database is locked", AWAY),
        ("connection refused", AWAY),
    ],
)
def test_the_page_names_what_cannot_be_stored(
    said: str, words: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OperationalError(said)
    assert explain_unavailable(error) == words

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(metrics, "_has_token", fail)
    client.raise_request_exception = False
    page = client.get("/metrics")
    assert page.status_code == 503
    assert words in page.content.decode().replace("&#x27;", "'")
    script = client.get("/metrics", headers={"x-requested-with": "fetch"})
    assert script.content.decode().startswith(words)
    assert DATABASE.is_ongoing
    DATABASE.note_success()


# --- The sweep ------------------------------------------------------------------------------------


def stale(conversation: Conversation, text: str = "So far") -> Turn:
    """A turn whose holder is gone, with a checkpoint."""
    turn = turns.begin_turn(conversation, Turn.Kind.ANSWER, HOLDER)
    message = answer_row(turn)
    turns.checkpoint([turn.pk], [(message.pk, text, lambda: None)])
    Turn.objects.filter(pk=turn.pk).update(lease_expires=timezone.now() - timedelta(seconds=1))
    return turn


def test_a_row_that_cannot_be_ended_whole_keeps_no_other(
    user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (make_conversation(owner=user, messages=2) for _ in range(2))
    bad_turn, good_turn = stale(bad, "Bad"), stale(good, "Good")
    load = endings.load_state_for

    def fail(conversation: Conversation, *rest: Any) -> Any:
        if conversation.pk == bad.pk:
            raise StopIteration("of a library that counts")
        return load(conversation, *rest)

    monkeypatch.setattr(endings, "load_state_for", fail)
    assert sweep.sweep() == 2
    bad_turn.refresh_from_db()
    good_turn.refresh_from_db()
    assert (bad_turn.status, good_turn.status) == ("failed", "interrupted")
    assert Message.objects.get(turn=bad_turn).text == "Bad"
    assert Message.objects.get(turn=good_turn).text == "Good"


def test_a_sweep_that_fails_for_one_row_goes_on_to_the_next(
    user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (stale(make_conversation(owner=user, messages=2)) for _ in range(2))
    end = endings.end_turn

    def fail(turn_id: int, ending: TurnOutcome) -> Any:
        if turn_id == first.pk:
            raise ValueError("a damaged row")
        return end(turn_id, ending)

    monkeypatch.setattr(endings, "end_turn", fail)
    monkeypatch.setattr("chat.services.turns.sweep.endings.finish_plainly", lambda *_: 1 / 0)
    assert sweep.sweep() == 1
    second.refresh_from_db()
    assert second.status == "interrupted"


async def test_a_turn_keeps_its_lease_while_the_event_loop_is_stuck(chat: Chat) -> None:
    gate = chat.script.stall("Half an ans", then="wer.")
    tab = await chat.open()
    tab.say("Write")
    await gate.wait_reached()
    with ThreadPoolExecutor(1) as other:  # the loop waits for it
        other.submit(wait_for_lease).result()
    gate.release()
    await tab.next("turn.finished", status="completed")


def wait_for_lease() -> None:
    """Take the turn's lease away, and wait until it has one again."""
    close_old_connections()
    Turn.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    deadline = time.monotonic() + PATIENCE
    while Turn.objects.get().lease_expires < timezone.now():
        assert time.monotonic() < deadline
    connection.close()


def test_a_holder_that_was_given_up_stores_the_whole_answer_once(user: Any) -> None:
    conversation = make_conversation(owner=user, messages=2)
    turn = stale(conversation, "Beg")
    assert sweep.sweep() == 1
    blocks = [{"type": "text", "text": "Begun and ended."}]
    whole = TurnOutcome(Turn.Status.COMPLETED, blocks=blocks, usage={"input_tokens": 5})
    assert endings.end_turn(turn.pk, whole) is not None
    assert endings.end_turn(turn.pk, whole) is None
    turn.refresh_from_db()
    conversation.refresh_from_db()
    message = Message.objects.get(turn=turn)
    assert (message.text, message.status, turn.status) == (
        "Begun and ended.",
        "complete",
        "completed",
    )
    assert turn.notice == Notice.STORED_LATE


def test_a_holder_that_was_given_up_stops_for_the_next_turn(user: Any) -> None:
    conversation = make_conversation(owner=user, messages=2)
    turn = stale(conversation, "Beg")
    assert sweep.sweep() == 1
    assert turns.checkpoint([turn.pk], []) == set()
    conversation.refresh_from_db()
    turns.begin_turn(conversation, Turn.Kind.ANSWER, HOLDER)
    assert turns.checkpoint([turn.pk], []) == {turn.pk}


def test_the_sweep_wakes_when_the_earliest_lease_ends(user: Any) -> None:
    assert sweep.seconds_to_next() == settings.LEASE_SECONDS / 2
    turn = turns.begin_turn(make_conversation(owner=user, messages=2), Turn.Kind.ANSWER, HOLDER)
    row = Turn.objects.filter(pk=turn.pk)
    row.update(lease_expires=timezone.now() + timedelta(seconds=4))
    assert 2 < sweep.seconds_to_next() <= 4
    row.update(lease_expires=timezone.now() - timedelta(seconds=4))
    assert sweep.seconds_to_next() == sweep.SHORTEST_WAIT


def test_a_dead_holder_is_found_within_the_lease_that_is_promised() -> None:
    granted = (turns.next_lease_end() - timezone.now()).total_seconds()
    assert granted + sweep.SHORTEST_WAIT < settings.LEASE_SECONDS


def test_a_process_that_stops_leaves_no_turn_behind(user: Any) -> None:
    mine = turns.begin_turn(make_conversation(owner=user, messages=2), Turn.Kind.ANSWER, "stopping")
    other = turns.begin_turn(make_conversation(owner=user, messages=2), Turn.Kind.ANSWER, HOLDER)
    assert sweep.interrupt_all_of("stopping") == 1
    mine.refresh_from_db()
    other.refresh_from_db()
    assert (mine.status, other.status) == ("interrupted", "queued")
