"""Which ends of answers are told by push: the worker is given what to tell."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery.signals import after_task_publish

from accounts import push
from chat import tasks
from chat.db.threads import in_db
from tests.chat.sockets import Chat, sign_in
from tests.support.push_service import PushBrowser, PushService

ELSEWHERE = PushService("https://fcm.googleapis.com")


@pytest.fixture
def told() -> Iterator[list[list[Any]]]:
    """The arguments of each push that the workers were asked for."""
    asked: list[list[Any]] = []

    def note(sender: str, body: Any, **_: object) -> None:
        if sender == tasks.push_end.name:
            asked.append(list(body[0]))

    after_task_publish.connect(note)
    yield asked
    after_task_publish.disconnect(note)


async def test_answers_that_end_by_themselves_are_told_to_who_asked_for_it(
    chat: Chat, told: list[list[Any]]
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
    await tab.until(lambda: len(told) == 2)
    assert told == [[str(chat.conversation.pk), False], [str(chat.conversation.pk), True]]
