"""What is sent *now* goes in between two rounds of tools of the answer that runs."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from agent.tools import Tool
from chat.db.threads import in_db
from chat.engine import tools
from chat.models import Message, QueuedPrompt, SearchEntry
from chat.queries.exchanges import load_exchange
from chat.services.turns import queue
from chat.services.turns.turns import NewMessage
from chat.tools import registry
from demo.api.protocol import ScriptedReply, text, tool_use
from spending.models import ModelCall
from tests.agent.conversations import flat
from tests.chat.sockets import Chat, Tab

pytestmark = pytest.mark.on_both

SCHEMA = {"type": "object", "properties": {}, "required": []}


class Bell:
    """A tool that runs until it is let go."""

    def __init__(self) -> None:
        self.runs, self.may_end = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: object, input: dict[str, Any]) -> str:
        self.runs.set()
        await self.may_end.wait()
        return "Rung"


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bell]:
    tool, made = Tool("bell", "Rings.", SCHEMA), Bell()
    monkeypatch.setattr(tools, "OWN_TOOLS", (*tools.OWN_TOOLS, tool))
    monkeypatch.setattr(registry, "HANDLERS", (*registry.HANDLERS, (tool, made)))
    yield made
    made.may_end.set()


def ring(call_id: str = "toolu_1") -> ScriptedReply:
    return ScriptedReply([text("I ring."), tool_use("bell", {}, call_id)])


async def ask_and_steer(chat: Chat, bell: Bell, *words: str) -> Tab:
    """Ask, and while the tool runs say these words."""
    tab = await chat.open()
    tab.say("Ring it")
    await asyncio.wait_for(bell.runs.wait(), tab.patience)
    for each in words:
        tab.send("queue.add", client_id=uuid4().hex, text=each, send_now=True)
    await tab.next("queue.changed", count=len(words))
    return tab


async def load_branch(chat: Chat) -> list[Message]:
    rows = Message.objects.filter(conversation=chat.conversation, active=True, number__gt=4)
    return await in_db(list, rows.order_by("position"))


async def test_it_follows_the_results_in_the_next_request_as_a_message_of_its_own(
    chat: Chat, bell: Bell
) -> None:
    chat.script.reply(ring())
    chat.script.reply("Softly rung")
    tab = await ask_and_steer(chat, bell, "But softly", "and twice")
    bell.may_end.set()
    await tab.next("turn.finished", status="completed")
    before, after = chat.script.requests
    results = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rung"}
    said = [{"type": "text", "text": "But softly"}, {"type": "text", "text": "and twice"}]
    last = [block | {"cache_control": None} for block in after.messages[-1]["content"]]
    assert last == [block | {"cache_control": None} for block in (results, *said)]
    start = flat(before.body)
    assert flat(after.body)[: len(start)] == start, "the cached prefix stays"

    rows = await load_branch(chat)
    assert [(row.role, row.text) for row in rows] == [
        ("user", "Ring it"),
        ("assistant", rows[1].text),
        ("user", "Rung"),
        ("user", "But softly"),
        ("user", "and twice"),
        ("assistant", "Softly rung"),
    ]
    assert len({row.turn_id for row in rows}) == 1
    assert await in_db(SearchEntry.objects.filter(message=rows[3]).exists)
    assert not await in_db(QueuedPrompt.objects.exists)
    kinds = ModelCall.objects.order_by("pk").values_list("kind", flat=True)
    assert await in_db(list, kinds) == ["answer", "tool_round"]
    assert await in_db(load_exchange, rows[3]) == rows, "it belongs to the answer that it is in"
    page = (await chat.http.get(chat.conversation.get_absolute_url())).content.decode()
    assert "But softly" in page

    chat.script.reply("Yes")
    tab.say("Again?")
    await tab.next("turn.finished", status="completed")
    sent = flat(after.body)
    assert flat(chat.script.requests[-1].body)[: len(sent)] == sent


async def test_what_comes_after_the_last_round_is_the_next_prompt_before_all_others(
    chat: Chat,
) -> None:
    gate = chat.script.pause("One", 0)
    chat.script.reply("Two")
    chat.script.reply("Three")
    tab = await chat.open()
    tab.say("1")
    await gate.wait_reached()
    tab.send("queue.add", client_id="a", text="later")
    tab.send("queue.add", client_id="b", text="now")
    await tab.next("queue.changed", count=2)
    row = await in_db(QueuedPrompt.objects.get, client_id="b")
    tab.send("queue.now", id=row.pk)
    await tab.next("queue.changed")
    gate.release()
    for _ in range(3):
        await tab.next("turn.finished", status="completed")
    assert [each.last_user_text for each in chat.script.requests] == ["1", "now", "later"]


async def test_an_edit_of_it_and_another_answer_to_it_are_branches(chat: Chat, bell: Bell) -> None:
    chat.script.reply(ring())
    chat.script.reply("Softly rung")
    tab = await ask_and_steer(chat, bell, "But softly")
    bell.may_end.set()
    await tab.next("turn.finished", status="completed")
    said = await in_db(Message.objects.get, text="But softly")
    answer = await chat.last()
    address = f"/c/{chat.conversation.pk}/messages"
    chat.script.reply("Rung again")
    await chat.http.post(f"{address}/{answer.pk}/regenerate/")
    await tab.next("turn.finished", status="completed")
    chat.script.reply("Loudly rung")
    await chat.http.post(f"{address}/{said.pk}/edit/", {"text": "But loudly"})
    await tab.next("turn.finished", status="completed")
    for request, words in zip(chat.script.requests[2:], ("But softly", "But loudly"), strict=True):
        kinds = [block["type"] for block in request.messages[-1]["content"]]
        assert (kinds, request.last_user_text) == (["tool_result", "text"], words)
    rows = await load_branch(chat)
    assert [row.text for row in rows][2:] == ["Rung", "But loudly", "Loudly rung"]
    await chat.http.post(f"{address}/{rows[3].pk}/delete/")
    chat.script.reply("Fine")
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")


async def test_a_stop_while_the_tool_runs_keeps_it_in_the_queue(chat: Chat, bell: Bell) -> None:
    chat.script.reply(ring())
    tab = await ask_and_steer(chat, bell, "But softly")
    tab.send("turn.stop")
    await tab.next("turn.finished", status="cancelled")
    (row,) = await in_db(list, QueuedPrompt.objects.all())
    assert (row.text, row.problem["code"]) == ("But softly", "paused")


async def test_what_was_sent_with_the_same_id_meanwhile_is_not_said_twice(
    chat: Chat, bell: Bell
) -> None:
    def queue_and_pause() -> QueuedPrompt:
        new = NewMessage("Ring it", client_id="of a program")
        row = queue.queue_prompt(chat.user.pk, chat.conversation.pk, new)
        queue.pause_queue(chat.conversation.pk, queue.STOPPED)
        return row

    gate = chat.script.pause("Hello", 0)
    chat.script.reply(ring())
    chat.script.reply("Rung")
    tab = await chat.open()
    tab.say("Hello")
    await gate.wait_reached()
    row = await in_db(queue_and_pause)
    gate.release()
    await tab.next("turn.finished", status="completed")
    tab.send("message.send", client_id=row.client_id, text="Ring it")
    await asyncio.wait_for(bell.runs.wait(), tab.patience)
    tab.send("queue.now", id=row.pk)
    await tab.next("queue.changed", count=1)
    bell.may_end.set()
    await tab.next("turn.finished", status="completed")
    said = [each.text for each in await load_branch(chat) if each.role == "user"]
    assert said == ["Hello", "Ring it", "Rung"]
    assert not await in_db(QueuedPrompt.objects.exists)
