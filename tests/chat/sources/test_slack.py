"""A conversation and a thread of Slack are one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from chat.db.threads import in_db
from chat.models import Conversation, Message, SlackThread
from chat.sources.slack.door import SlackDoor
from tests.chat.sockets import Chat
from tests.chat.sources.conftest import ADA, BEA
from tests.support.patience import PATIENCE
from tests.support.slack import BOT, Posted, SlackServer

GENERAL = "CGENERAL"


async def eventually(read: Callable[[], Any]) -> Any:
    """What a query returns, once it is something."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await in_db(read)):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.02)
    return found


def thread_of(conversation: Conversation) -> SlackThread | None:
    return SlackThread.objects.filter(conversation=conversation).exclude(ts="").first()


async def link(chat: Chat, slack: SlackServer) -> str:
    """The conversation is linked with a new thread; its `ts`."""
    address = f"http://testserver{chat.conversation.get_absolute_url()}"
    await slack.command(GENERAL, ADA, f"link {address}")
    thread = await eventually(lambda: thread_of(chat.conversation))
    return str(thread.ts)


async def said(slack: SlackServer, ts: str, *texts: str) -> list[Posted]:
    """The thread, once the bot has said that in it after its first message, and nothing else."""

    def found() -> bool:
        return [each.text for each in posts()[1:]] == list(texts)

    def posts() -> list[Posted]:
        return [each for each in slack.read_thread(GENERAL, ts) if each.user == BOT]

    try:
        await slack.until(found)
    except TimeoutError:
        raise AssertionError([each.text for each in posts()]) from None
    return posts()


def list_messages(conversation: Conversation) -> list[tuple[str, str, str]]:
    rows = Message.objects.filter(conversation=conversation, active=True, number__gt=4)
    return list(rows.order_by("position").values_list("role", "source", "text"))


async def test_a_command_begins_a_thread_and_its_conversation(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    chat.script.reply("Fine.")
    await slack.command(GENERAL, ADA, "How are *you*?")
    row = await eventually(lambda: SlackThread.objects.exclude(ts="").first())
    opening, asked, _ = await said(slack, row.ts, "*ada* · _In Slack_\nHow are *you*?", "Fine.")
    assert str(row.conversation_id) in opening.text
    assert f"<@{ADA}>" in opening.text
    conversation = await in_db(lambda: SlackThread.objects.get().conversation)
    assert conversation.owner_id == chat.user.pk
    (request,) = chat.script.requests
    assert "How are **you**?" in str(request.body["messages"][-1])


async def test_messages_of_both_sides_are_one_branch_and_answers_go_to_both(
    chat: Chat, slack: SlackServer, door: SlackDoor
) -> None:
    for text in ("From Slack: **yes**", "From the page: no"):
        chat.script.reply(text)
    tab = await chat.open()
    ts = await link(chat, slack)
    await slack.write(GENERAL, ADA, "One", ts)
    await tab.next("turn.finished")
    await said(slack, ts, "From Slack: *yes*")
    tab.say("Two")
    await tab.next("turn.finished")
    await said(
        slack, ts, "From Slack: *yes*", "*ada* · _In Everlong_\nTwo", "From the page: no"
    )
    assert await in_db(list_messages, chat.conversation) == [
        ("user", "slack", "One"),
        ("assistant", "web", "From Slack: **yes**"),
        ("user", "web", "Two"),
        ("assistant", "web", "From the page: no"),
    ]
