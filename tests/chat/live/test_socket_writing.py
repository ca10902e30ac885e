"""Frames that the server writes at once, beside those that wait for ASGI's `send`."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings

from chat.live import snapshot
from chat.protocol.broadcast import conversation_group, send
from chat.protocol.events import SiteState
from config.asgi import application
from server.writing import WRITE
from tests.chat.sockets import ORIGIN, Chat, Tab

WORDS = " ".join(f"word{number}" for number in range(200))


async def open_tab(chat: Chat, accepts: Callable[[], bool]) -> tuple[Tab, list[bytes]]:
    """A tab whose server writes a frame at once wherever `accepts` says so, and those frames."""
    headers = [(b"host", b"testserver"), (b"origin", ORIGIN)]
    headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={chat.cookie}".encode()))
    path = f"/ws/conversations/{chat.conversation.pk}/"
    communicator = WebsocketCommunicator(application, path, headers)
    written: list[bytes] = []

    def write(frame: bytes) -> bool:
        if not accepts():
            return False
        written.append(frame)
        message = {"type": "websocket.send", "text": frame.decode()}
        communicator.output_queue.put_nowait(message)
        return True

    communicator.scope["extensions"] = {WRITE: write}
    tab = await Tab(communicator).connect()
    chat.tabs.append(tab)
    await tab.next("snapshot")
    return tab, written


@pytest.mark.parametrize("pattern", [[True], [True, False], [False, False, True]])
async def test_frames_keep_their_order_however_they_are_sent(
    chat: Chat, pattern: list[bool]
) -> None:
    answers = cycle(pattern)
    tab, written = await open_tab(chat, lambda: next(answers))
    chat.script.reply(WORDS)
    tab.say("Count.")
    await tab.next("turn.finished", status="completed")
    assert tab.text == WORDS, "the tab itself complains of gaps"
    assert written


async def test_a_frame_that_comes_while_a_snapshot_is_made_waits_behind_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab, _ = await open_tab(chat, lambda: True)
    build = snapshot.build_snapshot

    async def build_late(*what: Any) -> object:
        await send(conversation_group(chat.conversation.pk), SiteState("news"))
        return await build(*what)

    monkeypatch.setattr(snapshot, "build_snapshot", build_late)
    before = len(tab.frames)
    tab.send("sync")
    await tab.next("site.state", text="news")
    assert [frame["type"] for frame in tab.frames[before:]] == ["snapshot", "site.state"]
