"""Which ends of answers are told by push: the worker is given what to tell."""

import asyncio
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from celery.signals import after_task_publish

from accounts import push
from chat import tasks
from chat.db.threads import in_db
from tests.chat.sockets import Chat, sign_in
from tests.support.patience import PATIENCE
from tests.support.push_service import PushBrowser, PushService

ELSEWHERE = PushService("https://fcm.googleapis.com")


@pytest.fixture
def told() -> Iterator[SimpleQueue[list[Any]]]:
    """The arguments of each push that the workers were asked for."""
    asked: SimpleQueue[list[Any]] = SimpleQueue()

    def note(sender: str, body: Any, **_: object) -> None:
        if sender == tasks.push_end.name:
            asked.put(list(body[0]))

    after_task_publish.connect(note)
    yield asked
    after_task_publish.disconnect(note)


async def test_answers_that_end_by_themselves_are_told_to_who_asked_for_it(
    chat: Chat, told: SimpleQueue[list[Any]]
) -> None:
    await chat.start(2)
    tab = await chat.open()

    async def ask(status: str) -> None:
        tab.say("Tell me")
        await tab.next("turn.finished", status=status)

    owner = chat.conversation.owner
    key = await in_db(sign_in, owner)
    await in_db(push.subscribe, owner, key, PushBrowser(ELSEWHERE).subscription)
    chat.script.stall("Whoever stops it is there")
    tab.say("Tell me")
    await tab.until(lambda: tab.answer and tab.text)
    tab.send("turn.stop")
    await tab.next("turn.finished", status="cancelled")
    chat.script.reply("Of this.")
    await ask("completed")
    chat.script.error(529)
    await ask("failed")
    for failed in (False, True):
        asked = await asyncio.to_thread(told.get, timeout=PATIENCE)
        assert asked == [str(chat.conversation.pk), failed]
