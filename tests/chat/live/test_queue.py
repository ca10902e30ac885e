"""What is written while an answer runs waits in the conversation's queue, and goes out in order."""

import asyncio
import re
from threading import Event
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from chat.db.threads import in_db
from chat.live import queue as live_queue
from chat.live.queue import PromptQueue
from chat.live.runner import runner
from chat.models import Message, ModelProfile, QueuedPrompt
from chat.services.turns import queue
from chat.services.turns.queue import AlreadySent
from chat.services.turns.turns import NewMessage
from demo.api.script import is_chat, is_summary
from spending.budget_changes import set_budgets
from spending.models import Period, Unit
from tests.chat.sockets import SUMMARY, Chat, Tab, long_text
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both


def add(tab: Tab, text: str, **fields: Any) -> str:
    """Queue a prompt as a page does; its client_id."""
    client_id: str = fields.pop("client_id", None) or uuid4().hex
    tab.send("queue.add", client_id=client_id, text=text, **fields)
    return client_id


def list_words(event: dict[str, Any]) -> list[str]:
    """The prompts that a `queue.changed` shows."""
    return re.findall('class="queued-words">([^<]*)<', event["html"])


async def queued(chat: Chat) -> list[QueuedPrompt]:
    rows = QueuedPrompt.objects.filter(conversation=chat.conversation).order_by("position")
    return await in_db(list, rows)


async def list_said(chat: Chat) -> list[str]:
    """What the user has said since the conversation's first four messages."""
    rows = Message.objects.filter(conversation=chat.conversation, role="user", number__gt=4)
    return await in_db(list, rows.order_by("number").values_list("text", flat=True))


async def test_queued_prompts_go_out_one_after_the_other_in_the_order_of_all_tabs(
    chat: Chat,
) -> None:
    gate = chat.script.pause("One", 0)
    for answer in ("Two", "Three"):
        chat.script.reply(answer)
    first, second = await chat.open(), await chat.open()
    first.say("1")
    await gate.wait_reached()
    two = add(first, "2")
    assert (await second.next("queue.changed"))["count"] == 1
    add(second, "3")
    shown = await first.next("queue.changed", count=2)
    assert list_words(shown) == ["2", "3"]
    later = await chat.open(snapshot=False)
    assert (await later.next("snapshot"))["queue"] == {
        "type": "queue.changed",
        "count": 2,
        "client_ids": shown["client_ids"],
        "html": shown["html"],
    }
    gate.release()
    for _ in range(3):
        await second.next("turn.finished", status="completed")
    assert await list_said(chat) == ["1", "2", "3"]
    assert [each.last_user_text for each in chat.script.requests] == ["1", "2", "3"]
    left = (await second.sync())["queue"]
    assert (left["count"], left["client_ids"], left["html"]) == (0, [], "")
    sent = await in_db(Message.objects.get, client_id=two)
    assert sent.text == "2"


async def test_a_repeated_frame_is_queued_once_and_known_when_it_is_a_message(chat: Chat) -> None:
    gate = chat.script.pause("One", 0)
    chat.script.reply("Two")
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    client_id = add(tab, "2")
    add(tab, "2", client_id=client_id)
    await tab.sync()
    assert len(await queued(chat)) == 1
    gate.release()
    await tab.next("turn.finished", status="completed")
    await tab.next("turn.finished", status="completed")
    add(tab, "2", client_id=client_id)
    await tab.next("snapshot")
    assert (await tab.next("message.created", client_id=client_id))["html"] == ""
    assert await list_said(chat) == ["1", "2"]
    new = NewMessage("2", client_id=client_id)
    with pytest.raises(AlreadySent):
        await in_db(queue.queue_prompt, chat.user.pk, chat.conversation.pk, new)


async def test_a_prompt_of_another_process_goes_out_and_so_does_one_nobody_was_told_of(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_queue, "LOOK_SECONDS", 0.05)
    chat.script.reply("One")
    chat.script.reply("Two")
    tab = await chat.open()
    watching = asyncio.create_task(runner.queue.watch())
    new = NewMessage("1", client_id="one", source=Message.Source.SCHEDULE)
    await in_db(queue.queue_prompt, chat.user.pk, chat.conversation.pk, new)
    await tab.next("turn.finished", status="completed")
    assert (await in_db(Message.objects.get, client_id="one")).source == "schedule"

    def add_silently() -> None:  # as a process leaves it that died after its commit
        rows = QueuedPrompt.objects
        rows.create(conversation=chat.conversation, position=1, text="2", client_id="two")

    await in_db(add_silently)
    await tab.next("turn.finished", status="completed")
    assert await list_said(chat) == ["1", "2"]
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_what_is_heard_of_while_all_queues_are_read_is_not_forgotten(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = PromptQueue(runner.begin, "here")
    begun, may_end = asyncio.Event(), Event()
    loop = asyncio.get_running_loop()

    def read_slowly() -> dict[UUID, bool]:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(PATIENCE)
        return {}

    monkeypatch.setattr(live_queue.queries, "list_waiting", read_slowly)
    look = asyncio.create_task(here._look())
    await begun.wait()
    here.expect(chat.conversation.pk)
    may_end.set()
    await look
    assert here.may_hold(chat.conversation.pk)
    await here._look()
    assert not here.may_hold(chat.conversation.pk), "nothing waits there"


async def test_two_processes_send_a_prompt_once(chat: Chat) -> None:
    other = PromptQueue(runner.begin, "other")
    tab = await chat.open()
    for number in range(3):
        chat.script.reply(f"Answer {number}")
        new = NewMessage(f"{number}", client_id=f"{number}")
        await in_db(queue.queue_prompt, chat.user.pk, chat.conversation.pk, new)
        runner.queue.wake(chat.conversation.pk)
        other.wake(chat.conversation.pk)
        await tab.next("turn.finished", status="completed")
    await other.close()
    assert await list_said(chat) == ["0", "1", "2"]
    assert not await queued(chat)


async def test_a_budget_that_is_used_up_stops_the_queue_until_its_author_acts(chat: Chat) -> None:
    allow = {(Period.MONTH, Unit.MONEY): 0}
    await in_db(lambda: set_budgets(None, allow, user=chat.user))
    tab = await chat.open()
    add(tab, "1")
    add(tab, "2")
    await tab.until(lambda: any("budget" in e["html"] for e in tab.all("queue.changed")))
    await runner.queue.close()
    rows = await queued(chat)
    assert [row.problem and row.problem["code"] for row in rows] == ["budget_used", None]
    assert "Your budget is zero" in rows[0].problem["message"]
    await in_db(lambda: set_budgets(None, {(Period.MONTH, Unit.MONEY): 5}, user=chat.user))
    chat.script.reply("One")
    chat.script.reply("Two")
    tab.send("queue.resume")
    await tab.next("turn.finished", status="completed")
    await tab.next("turn.finished", status="completed")
    assert await list_said(chat) == ["1", "2"]


async def test_a_limit_that_passes_is_waited_for(
    chat: Chat, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_queue, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(live_queue, "LONGEST_PAUSE", 0.1)
    settings.MESSAGES_PER_MINUTE = 0
    watching = asyncio.create_task(runner.queue.watch())
    tab = await chat.open()
    add(tab, "1")
    async with asyncio.timeout(PATIENCE):
        while not runner.queue._pauses:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)
    assert [row.problem for row in await queued(chat)] == [None]
    settings.MESSAGES_PER_MINUTE = 100
    chat.script.reply("One")
    await tab.next("turn.finished", status="completed")
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_after_a_stop_the_queue_waits_and_what_is_written_then_does_not(chat: Chat) -> None:
    gate = chat.script.pause("One", 0)
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    add(tab, "2")
    await tab.next("queue.changed", count=1)
    tab.send("turn.stop")
    assert 'data-problem="paused"' in (await tab.next("queue.changed", count=1))["html"]
    await tab.next("turn.finished", status="cancelled")
    gate.release()
    chat.script.reply("Other")
    tab.say("Something else")
    await tab.next("turn.finished", status="completed")
    assert await list_said(chat) == ["1", "Something else"]
    chat.script.reply("Two")
    tab.send("queue.resume")
    await tab.next("turn.finished", status="completed")
    assert await list_said(chat) == ["1", "Something else", "2"]


async def test_a_failed_answer_pauses_the_queue(chat: Chat) -> None:
    gate = chat.script.pause("One", 0)
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    add(tab, "2")
    await tab.next("queue.changed", count=1)
    turn = runner.find_live(chat.conversation.pk)
    assert turn is not None
    turn.task.cancel()  # type: ignore[union-attr]  # as a server that stops
    assert 'data-problem="paused"' in (await tab.next("queue.changed"))["html"]
    await tab.next("turn.finished", status="interrupted")
    gate.release()


async def test_a_prompt_is_edited_until_it_goes_out(chat: Chat) -> None:
    gate = chat.script.pause("One", 0)
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    add(tab, "2")
    await tab.next("queue.changed", count=1)
    (row,) = await queued(chat)
    tab.send("queue.edit", id=row.pk, text="  Two, please ", pasted=[[2, 5]])
    await tab.next("queue.changed")
    whole = await chat.http.get(f"/c/{chat.conversation.pk}/queue/{row.pk}/")
    assert (whole.content, whole["X-Pasted"]) == (b"Two, please", "[[0, 3]]")
    chat.script.reply("Two")
    gate.release()
    await tab.next("turn.finished", status="completed")
    await tab.next("turn.finished", status="completed")
    tab.send("queue.edit", id=row.pk, text="Three")
    error = await tab.next("error")
    assert (error["code"], "just been sent" in error["message"]) == ("not_queued", True)
    message = await in_db(Message.objects.get, client_id=row.client_id)
    assert (message.text, message.pasted) == ("Two, please", [[0, 3]])


async def test_a_removed_prompt_is_gone_and_the_limit_says_what_to_do(
    chat: Chat, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MOST_QUEUED", 2)
    gate = chat.script.pause("One", 0)
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    for text in ("2", "3", "4"):
        client_id = add(tab, text)
    error = await tab.next("error")
    assert (error["code"], error["client_id"]) == ("queue_full", client_id)
    add(tab, "x" * (settings.MAX_MESSAGE_CHARACTERS + 1))
    add(tab, " ")
    assert (await tab.next("error"))["code"] == "message_too_long"
    assert (await tab.next("error"))["code"] == "empty_message"
    for row in await queued(chat):
        tab.send("queue.remove", id=row.pk)
    await tab.sync()
    assert not await queued(chat)
    gate.release()
    await tab.next("turn.finished", status="completed")
    assert await list_said(chat) == ["1"]


async def test_compact_waits_in_the_queue_like_a_message(chat: Chat, worker: object) -> None:
    await chat.start([long_text(number) for number in range(1, 7)])
    gate = chat.script.pause("One", 0, when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary)
    chat.script.reply("Two", when=is_chat)
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    add(tab, "the photos", command="compact")
    add(tab, "2")
    await tab.next("queue.changed", count=2)
    gate.release()
    await tab.next("turn.finished", status="completed", kind="answer")
    await tab.next("CompressionStarted")
    await tab.next("turn.finished", status="completed", kind="compact")
    await tab.next("turn.finished", status="completed", kind="answer")
    (compaction,) = await chat.compactions()
    assert (compaction.trigger, compaction.focus) == ("manual", "the photos")


async def test_a_compaction_before_an_answer_holds_the_queue_until_the_answer_is_there(
    chat: Chat, worker: object
) -> None:
    # The history fills the small window to the token.
    await in_db(lambda: ModelProfile.objects.update(tools=False))
    await chat.start([long_text(number) for number in range(1, 11)])
    gate = chat.script.stall(then=SUMMARY, when=is_summary)
    chat.script.reply("Of course.", when=is_chat)
    chat.script.reply("Later.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await gate.wait_reached()
    add(tab, "And then?")
    await tab.next("queue.changed", count=1)
    assert [row.text for row in await queued(chat)] == ["And then?"]
    gate.release()
    await tab.next("turn.finished", status="completed")
    await tab.next("turn.finished", status="completed")
    asked = [each.last_user_text for each in chat.script.requests if is_chat(each)]
    assert asked == ["And now?", "And then?"]
    assert [each.error for each in await chat.compactions()] == [""]
