"""A workspace of Slack, and the door to it in the test's own loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.slack import APP_TOKEN, BOT_TOKEN, SlackServer

if TYPE_CHECKING:
    from chat.sources.slack.door import SlackDoor
    from tests.chat.sockets import Chat

ADA, BEA = "UADA", "UBEA"


@pytest.fixture
async def slack(
    chat: "Chat", settings: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SlackServer]:
    """A workspace with Ada, who has an account here, Bea, who has one too, and #general."""
    from allauth.account.models import EmailAddress

    from chat.db.threads import in_db
    from chat.sources.slack import catching_up, door, socket
    from tests.chat.factories import make_user

    def give_addresses() -> None:
        for user in (chat.user, make_user("bea")):
            address = f"{user.username}@example.org"
            EmailAddress.objects.create(user=user, email=address, verified=True, primary=True)

    for name in ("LOOK_SECONDS", "EXTEND_SECONDS", "AGAIN_SECONDS", "REFUSED_AGAIN_SECONDS"):
        monkeypatch.setattr(door, name, 0.03)
    monkeypatch.setattr(catching_up, "PAUSE", 0.03)
    monkeypatch.setattr(socket, "PING_SECONDS", 1.0)
    monkeypatch.setattr("chat.services.slack.inbox.FIRST_PAUSE", 0.03)
    monkeypatch.setattr("chat.services.slack.inbox.LONGEST_PAUSE", 0.1)
    await in_db(give_addresses)
    async with SlackServer() as server:
        settings.SLACK = True
        settings.SLACK_BOT_TOKEN, settings.SLACK_APP_TOKEN = BOT_TOKEN, APP_TOKEN
        settings.SLACK_API_URL = server.api_url
        server.add_person(ADA, "ada@example.org", name="Ada")
        server.add_person(BEA, "bea@example.org", name="Bea")
        server.add_channel("general")
        yield server


@pytest.fixture
async def doors(slack: SlackServer) -> "AsyncIterator[Callable[[str], SlackDoor]]":
    """`doors("web-1")`: the door of a process, opened. What sends queued prompts runs too."""
    from chat.live.runner import runner
    from chat.sources.slack.door import SlackDoor
    from chat.sources.slack.pace import Pace

    opened: list[SlackDoor] = []

    def make(holder: str) -> SlackDoor:
        pace = Pace(between=0.0, updates=0.0, after_fault=0.03, after_refusal=0.03)
        opened.append(SlackDoor(holder, pace))
        opened[-1].start(asyncio.get_running_loop())
        return opened[-1]

    watching = asyncio.create_task(runner.queue.watch())
    yield make
    for door in opened:
        await door.close()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@pytest.fixture
async def door(doors: "Callable[[str], SlackDoor]", slack: SlackServer) -> "SlackDoor":
    """A door that is connected."""
    opened = doors("web")
    await slack.is_connected()
    return opened
