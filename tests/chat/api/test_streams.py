"""A turn as events: what a program hears, and how it goes on after its stream broke off."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any
from zlib import crc32

import pytest
from channels.layers import get_channel_layer
from django.conf import settings
from django.utils import timezone

from accounts.models import AccessToken
from chat.api import ear, events
from chat.api.sent_text import Place
from chat.db.threads import in_db
from chat.models import Conversation, Message, Turn
from chat.protocol.broadcast import conversation_group
from chat.protocol.broadcast import send as send_event
from chat.protocol.events import TurnDelta
from chat.services.library.conversations import discard_conversations
from chat.services.turns import turns
from demo.api.protocol import ScriptedReply, text, tool_use
from tests.chat.api.programs import Program, Told, hear, listen, read_along
from tests.chat.factories import add_messages, change_messages, make_turn
from tests.chat.sockets import Chat
from tests.support.patience import PATIENCE

TEXT = "Grüße 😀 from the Mur.\n\nThe end."


async def send(program: Program, chat: Chat, **body: Any) -> Any:
    return await program.post(
        f"/conversations/{chat.conversation.pk}/messages", {"text": "Tell me", **body}
    )


def events_of(chat: Chat, turn_id: int) -> str:
    return f"/conversations/{chat.conversation.pk}/turns/{turn_id}/events"


async def test_a_message_is_answered_as_a_stream(chat: Chat, program: Program) -> None:
    chat.model.script.reply(TEXT)
    heard = await hear(await send(program, chat, stream=True))
    assert heard[0]["name"] == "turn.started"
    assert heard[-1]["name"] == "turn.finished"
    turn = heard[-1]["data"]["turn"]
    assert (turn["status"], turn["prompt"], turn["message"]["number"]) == ("completed", 5, 6)
    assert turn["message"]["text"] == TEXT
    assert read_along(heard) == {6: TEXT}
    prompt = await in_db(Message.objects.get, conversation=chat.conversation, number=5)
    assert prompt.source == Message.Source.API


async def test_a_message_is_answered_whole(chat: Chat, program: Program) -> None:
    chat.model.script.reply(TEXT)
    response = await send(program, chat)
    assert response.status_code == 200
    assert response.json()["message"]["text"] == TEXT


async def test_who_does_not_wait_gets_the_turn_and_asks_again(chat: Chat, program: Program) -> None:
    gate = chat.model.script.stall("Half")
    response = await send(program, chat, wait=0)
    assert response.status_code == 202
    turn = response.json()
    assert turn["finished_at"] is None
    gate.release()
    heard = await hear(await program.get(events_of(chat, turn["id"])))
    assert heard[-1]["data"]["turn"]["status"] == "completed"
    place = f"/conversations/{chat.conversation.pk}/turns/{turn['id']}"
    assert (await program.get(place)).json() == heard[-1]["data"]["turn"]


async def test_a_stream_goes_on_from_each_of_its_events(chat: Chat, program: Program) -> None:
    chat.model.script.reply(TEXT)
    heard = await hear(await send(program, chat, stream=True))
    turn_id = heard[-1]["data"]["turn"]["id"]
    for count in range(1, len(heard)):
        before = heard[:count]
        again = await hear(
            await program.get(events_of(chat, turn_id), **{"Last-Event-ID": before[-1]["id"]})
        )
        assert read_along(again, read_along(before)) == {6: TEXT}
        assert again[-1] == heard[-1]
        lengths = [len(told["data"]["text"]) for told in again if told["name"] == "turn.delta"]
        assert sum(lengths) == len(TEXT) - len(read_along(before).get(6, ""))


@pytest.mark.parametrize("number", [1, 5, 7, 10**30, -3])
async def test_an_id_that_names_no_message_of_the_turn_gets_all_of_it(
    chat: Chat, program: Program, number: int
) -> None:
    chat.model.script.reply(TEXT)
    turn = (await send(program, chat)).json()["id"]
    heard = await gather(program, events_of(chat, turn), f"{turn}:{number}:4:0a0b0c0d")
    assert read_along(heard) == {6: TEXT}


async def test_a_stream_that_breaks_off_goes_on_while_the_answer_is_written(
    chat: Chat, program: Program
) -> None:
    gate = chat.model.script.stall("First half,", then=" second half.")
    first: list[Told] = []
    response = await send(program, chat, stream=True)
    async with aclosing(listen(response)) as stream:
        async for told in stream:
            first.append(told)
            if read_along(first).get(6) == "First half,":
                break
    turn = await in_db(Turn.objects.get, conversation=chat.conversation, finished_at=None)
    again = asyncio.create_task(gather(program, events_of(chat, turn.pk), first[-1]["id"]))
    gate.release()
    heard = await again
    assert read_along(heard, read_along(first)) == {6: "First half, second half."}
    assert read_along(heard, {6: " " * 11})[6].strip() == "second half."  # nothing is sent twice


async def gather(program: Program, path: str, last: str = "") -> list[Told]:
    headers = {"Last-Event-ID": last} if last else {}
    return await hear(await program.get(path, **headers))


async def test_rounds_of_tools_are_messages_of_their_own(chat: Chat, program: Program) -> None:
    call = ScriptedReply((text("I look."), tool_use("search_history", {"query": "Hello"})))
    chat.model.script.reply(call).reply("Found.")
    heard = await hear(await send(program, chat, stream=True))
    assert read_along(heard) == {6: "I look.", 8: "Found."}
    names = [told["name"] for told in heard if told["name"].startswith("tool.")]
    assert names == ["tool.started", "tool.finished"]
    assert all("html" not in told["data"] for told in heard)
    turn_id = heard[-1]["data"]["turn"]["id"]
    again = await gather(program, events_of(chat, turn_id))
    assert read_along(again) == {6: "I look.", 8: "Found."}


# --- Another process ------------------------------------------------------------------------------


async def begin_elsewhere(chat: Chat, written: str) -> tuple[Turn, Message]:
    """A turn that another process runs, with what it has stored of its answer."""

    def begin() -> tuple[Turn, Message]:
        conversation = Conversation.objects.get(pk=chat.conversation.pk)
        turn = make_turn(conversation, status=Turn.Status.RUNNING, holder="elsewhere")
        add_messages(conversation, ["Tell me", written])
        message = conversation.messages.get(number=6)
        conversation.messages.filter(number__gte=5).update(turn=turn)
        conversation.messages.filter(pk=message.pk).update(status=Message.Status.STREAMING)
        return turn, message

    return await in_db(begin)


async def write_elsewhere(message: Message, written: str) -> None:
    """What a process stores each second."""
    await in_db(turns.checkpoint, [], [(message.pk, written, lambda: None)])


async def end_elsewhere(turn: Turn, message: Message, status: Turn.Status) -> None:
    def end() -> None:
        change_messages(Message.objects.filter(pk=message.pk), status=Message.Status.INTERRUPTED)
        Turn.objects.filter(pk=turn.pk).update(status=status, finished_at=timezone.now())

    await in_db(end)


async def tell_delta(chat: Chat, turn: Turn, message: Message, offset: int, text: str) -> None:
    """An event of the layer's, which only the process that writes sends."""
    await send_event(
        conversation_group(chat.conversation.pk),
        TurnDelta(turn.pk, message.pk, 1, offset=offset, text=text),
    )


async def until_text(stream: AsyncIterator[Told], heard: list[Told], text: str) -> None:
    """Read on until message 6 has this text."""
    async with asyncio.timeout(PATIENCE):
        async for told in stream:
            heard.append(told)
            if read_along(heard).get(6) == text:
                return
    raise AssertionError("the stream has ended")


@pytest.fixture
def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no test waits for long."""
    monkeypatch.setattr(events, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(events, "CATCH_UP_SECONDS", 0.05)


async def test_what_was_missed_comes_of_the_row_and_the_rest_live(
    chat: Chat, program: Program, quick_checks: None
) -> None:
    turn, message = await begin_elsewhere(chat, "One 😀 two")
    heard: list[Told] = []
    async with aclosing(listen(await program.get(events_of(chat, turn.pk)))) as stream:
        await until_text(stream, heard, "One 😀 two")
        await tell_delta(chat, turn, message, 16, " four")  # " three" was lost on the way
        await tell_delta(chat, turn, message, 21, " five")
        await write_elsewhere(message, "One 😀 two three")
        await until_text(stream, heard, "One 😀 two three four five")
        await tell_delta(chat, turn, message, 21, " five")  # it comes twice
        await tell_delta(chat, turn, message, 26, " six")
        await until_text(stream, heard, "One 😀 two three four five six")


async def test_after_a_crash_the_text_is_that_of_the_row(
    chat: Chat, program: Program, quick_checks: None
) -> None:
    """Which is that of the last checkpoint: shorter than what was sent."""
    turn, message = await begin_elsewhere(chat, "One two")
    heard: list[Told] = []
    async with aclosing(listen(await program.get(events_of(chat, turn.pk)))) as stream:
        await until_text(stream, heard, "One two")
        await tell_delta(chat, turn, message, 7, " three")
        await until_text(stream, heard, "One two three")
    resumed = asyncio.create_task(gather(program, events_of(chat, turn.pk), heard[-1]["id"]))
    await end_elsewhere(turn, message, Turn.Status.INTERRUPTED)
    again = await resumed
    assert read_along(again, read_along(heard)) == {6: "One two"}
    assert again[-1]["data"]["turn"]["status"] == "interrupted"
    assert again[-1]["data"]["turn"]["message"]["text"] == "One two"


async def test_a_running_answer_that_is_stored_late_is_waited_for(
    chat: Chat, program: Program, quick_checks: None
) -> None:
    turn, message = await begin_elsewhere(chat, "One")
    place = Place(turn.pk, 6, 7, crc32(b"One two"))
    heard: list[Told] = []
    response = await program.get(events_of(chat, turn.pk), **{"Last-Event-ID": str(place)})
    async with aclosing(listen(response)) as stream:
        reading = asyncio.create_task(anext(stream))
        await tell_delta(chat, turn, message, 7, " three")
        await write_elsewhere(message, "One two three")
        heard.append(await reading)
        assert heard[0]["data"] == {"number": 6, "offset": 7, "text": " three"}


async def test_what_was_written_anew_takes_the_place_of_what_was_sent(
    chat: Chat, program: Program, quick_checks: None
) -> None:
    """A request that failed is sent again: its message begins anew."""
    turn, message = await begin_elsewhere(chat, "Wrong begin")
    heard: list[Told] = []
    async with aclosing(listen(await program.get(events_of(chat, turn.pk)))) as stream:
        await until_text(stream, heard, "Wrong begin")
        await write_elsewhere(message, "Right")
        await end_elsewhere(turn, message, Turn.Status.COMPLETED)
        async for told in stream:
            heard.append(told)
    assert read_along(heard) == {6: "Right"}


async def test_a_slow_reader_gets_the_row(
    chat: Chat, program: Program, quick_checks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ear, "MOST_WAITING", 3)
    turn, message = await begin_elsewhere(chat, "0")
    heard: list[Told] = []
    async with aclosing(listen(await program.get(events_of(chat, turn.pk)))) as stream:
        await until_text(stream, heard, "0")
        for offset in range(1, 10):  # nobody reads meanwhile
            await tell_delta(chat, turn, message, offset, str(offset))
        await write_elsewhere(message, "0123456789")
        await until_text(stream, heard, "0123456789")


# --- Who may go on reading ------------------------------------------------------------------------


async def revoke(chat: Chat) -> None:
    await in_db(AccessToken.objects.filter(user=chat.user).delete)


async def disable(chat: Chat) -> None:
    chat.user.is_active = False
    await in_db(chat.user.save)


async def delete_conversation(chat: Chat) -> None:
    await in_db(discard_conversations, chat.user, [chat.conversation.pk])


@pytest.mark.parametrize(
    ("end", "code"),
    [(revoke, "bad_token"), (disable, "bad_token"), (delete_conversation, "not_found")],
)
async def test_who_is_out_hears_nothing_more(
    chat: Chat, program: Program, quick_checks: None, end: Any, code: str
) -> None:
    turn, message = await begin_elsewhere(chat, "One")
    heard: list[Told] = []
    async with aclosing(listen(await program.get(events_of(chat, turn.pk)))) as stream:
        await until_text(stream, heard, "One")
        await end(chat)
        await write_elsewhere(message, "One two")
        async for told in stream:
            heard.append(told)
    assert (heard[-1]["name"], heard[-1]["id"]) == ("error", "")
    assert heard[-1]["data"]["error"]["code"] == code


async def test_a_quiet_stream_says_that_it_lives(
    chat: Chat, program: Program, quick_checks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.1)
    turn, _ = await begin_elsewhere(chat, "")
    async with aclosing(listen(await program.get(events_of(chat, turn.pk)))) as stream:
        while (await anext(stream))["name"] != "comment":
            pass


async def test_who_leaves_is_forgotten(chat: Chat, program: Program, quick_checks: None) -> None:
    turn, _ = await begin_elsewhere(chat, "One")
    group = conversation_group(chat.conversation.pk)
    async with aclosing(await open_stream(program, events_of(chat, turn.pk))) as stream:
        await anext(stream)
        assert events._open[chat.user.pk] == 1
    del stream  # Django does not close it either
    async with asyncio.timeout(PATIENCE):
        while events._open[chat.user.pk]:
            gc.collect()
            await asyncio.sleep(0.01)
    assert settings.SCALED or not get_channel_layer().has_listeners(group)


async def open_stream(program: Program, path: str) -> Any:
    return (await program.get(path)).streaming_content


async def test_a_person_has_so_many_streams(chat: Chat, program: Program, settings: Any) -> None:
    settings.SOCKETS_PER_USER = 0
    turn, _ = await begin_elsewhere(chat, "One")
    (told,) = await gather(program, events_of(chat, turn.pk))
    assert told["data"]["error"]["code"] == "rate_limited"


async def test_stop_keeps_what_was_written(chat: Chat, program: Program) -> None:
    chat.model.script.stall("Half of it")
    response = await send(program, chat, stream=True)
    heard: list[Told] = []
    async with aclosing(listen(response)) as stream:
        await until_text(stream, heard, "Half of it")
        stopped = await program.post(f"/conversations/{chat.conversation.pk}/stop")
        assert stopped.status_code == 202
        async for told in stream:
            heard.append(told)
    assert heard[-1]["data"]["turn"]["status"] == "cancelled"
    assert read_along(heard) == {6: "Half of it"}
    again = await program.post(f"/conversations/{chat.conversation.pk}/stop")
    assert again.status_code == 409


# --- The same message again -----------------------------------------------------------------------


async def test_a_repeated_message_is_one_turn(chat: Chat, program: Program) -> None:
    chat.model.script.reply("Once.")
    key = {"Idempotency-Key": "my-own-key"}
    path = f"/conversations/{chat.conversation.pk}/messages"
    first = await program.post(path, {"text": "Hello"}, key)
    again = await program.post(path, {"text": "Hello"}, key)
    streamed = await hear(await program.post(path, {"text": "Hello", "stream": True}, key))
    assert first.json() == again.json() == streamed[-1]["data"]["turn"]


async def test_a_message_that_is_repeated_while_it_is_answered_joins_its_stream(
    chat: Chat, program: Program
) -> None:
    gate = chat.model.script.stall("Half", then=" and half.")
    key = {"Idempotency-Key": "my-own-key"}
    path = f"/conversations/{chat.conversation.pk}/messages"
    first = await program.post(path, {"text": "Hello", "wait": 0}, key)
    again = asyncio.create_task(hear_all(program, path, {"text": "Hello", "stream": True}, key))
    await gate.wait_reached()
    gate.release()
    heard = await again
    assert heard[-1]["data"]["turn"]["id"] == first.json()["id"]
    assert read_along(heard) == {6: "Half and half."}


async def hear_all(program: Program, path: str, body: Any, headers: dict[str, str]) -> list[Told]:
    return await hear(await program.post(path, body, headers))


async def test_a_repeated_message_after_a_crash_begins_no_second_turn(
    chat: Chat, program: Program
) -> None:
    turn, message = await begin_elsewhere(chat, "One two")
    prompts = Message.objects.filter(conversation=chat.conversation, number=5)
    await in_db(change_messages, prompts, client_id="my-own-key")
    await end_elsewhere(turn, message, Turn.Status.INTERRUPTED)
    response = await send_again(program, chat)
    assert (response["id"], response["status"]) == (turn.pk, "interrupted")
    assert response["message"]["text"] == "One two"


async def send_again(program: Program, chat: Chat) -> Any:
    path = f"/conversations/{chat.conversation.pk}/messages"
    response = await program.post(path, {"text": "Tell me"}, {"Idempotency-Key": "my-own-key"})
    return response.json()
