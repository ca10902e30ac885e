"""No worker at all: a compaction delays the turn, and then the turn goes on without."""

from typing import Any

import pytest

from demo.api.script import is_chat
from tests.chat.sockets import Chat, long_text

pytestmark = pytest.mark.on_both


@pytest.fixture(autouse=True)
def soon(settings: Any) -> None:
    settings.COMPACTION_PICKUP_SECONDS = 0.2


async def test_an_answer_goes_on_when_nobody_takes_up_its_compaction(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 11)])
    chat.script.reply("Without it.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("CompressionStarted")
    completed = await tab.next("CompressionCompleted", success=False)
    assert "No worker" in completed["error"]
    await tab.next("turn.finished", status="completed")
    assert tab.text == "Without it."
    assert len(tab.all("CompressionCompleted")) == 1


async def test_an_overfull_one_goes_on_trimmed_and_says_so(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 13)])
    chat.script.reply("Without it.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("CompressionCompleted", success=False)
    assert "left out" in (await tab.next("turn.notice"))["text"]
    finished = await tab.next("turn.finished", status="completed")
    assert "left out" in finished["html"]
    (request,) = chat.script.requests
    assert "Message 1: " not in str(request.messages)


async def test_compact_fails_and_unlocks_when_nobody_takes_it_up(chat: Chat) -> None:
    tab = await chat.open()
    before = await chat.compressed()
    tab.send("compact")
    await tab.next("CompressionCompleted", success=False)
    finished = await tab.next("turn.finished", status="failed")
    assert "No worker" in finished["error"]["message"]
    assert await chat.compressed() == before
    assert await chat.is_idle()
