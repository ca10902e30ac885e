"""Each turn that ends leaves one line in the log, without a word of what was said."""

import asyncio
from typing import Any

import pytest
from django.utils import timezone

from chat.db.threads import in_db
from chat.models import ModelProfile, Turn
from chat.services.turns.sweep import interrupt
from demo.api.protocol import tool_use
from demo.api.script import is_chat, is_summary
from spending.totals import load_total
from tests.chat.live.test_socket_compaction import HISTORY
from tests.chat.sockets import PATIENCE, SUMMARY, Chat

pytestmark = pytest.mark.on_both


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", "chat")
    return caplog


async def line_in(log: pytest.LogCaptureFixture) -> dict[str, Any]:
    """The one line of a turn that has ended: it is written after the page was told."""
    async with asyncio.timeout(PATIENCE):
        while not (told := [r.msg for r in log.records if "turn ended" in str(r.msg)]):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    (line,) = told
    assert isinstance(line, dict)
    return line


async def test_an_answer_tells_its_time_tokens_and_cost(
    chat: Chat, log: pytest.LogCaptureFixture
) -> None:
    chat.script.reply([tool_use("search_history", {"query": "xylophone"})]).reply("A secret.")
    tab = await chat.open()
    tab.say("Whisper it")
    await tab.next("turn.finished", status="completed")
    line = await line_in(log)
    assert await in_db(Turn.objects.filter(pk=line["turn"]).exists)
    told = {name: line[name] for name in ("kind", "conversation", "user", "status", "error")}
    assert told == {
        "kind": "answer",
        "conversation": str(chat.conversation.pk),
        "user": chat.user.pk,
        "status": "completed",
        "error": None,
    }
    assert (line["model"], line["rounds"], line["compacted"]) == (chat.conversation.model, 2, False)
    assert 0 < line["first_delta"] <= line["seconds"]
    total = await in_db(load_total, "conversation", chat.conversation.pk)
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    assert sum(line[kind] for kind in kinds) == total.request_tokens
    assert line["output_tokens"] == total.output_tokens
    assert line["cost"] == pytest.approx(float(total.dollars), abs=1e-6)
    for said in ("secret", "Whisper", "xylophone"):
        assert said not in str(line)


async def test_a_failure_tells_its_code(chat: Chat, log: pytest.LogCaptureFixture) -> None:
    chat.script.error(401)
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="failed")
    line = await line_in(log)
    assert (line["status"], line["error"], line["first_delta"]) == ("failed", "bad_key", None)


async def test_so_does_a_turn_that_the_sweep_ends(
    chat: Chat, log: pytest.LogCaptureFixture
) -> None:
    chat.script.stall("Half of")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.delta")
    turn = await in_db(Turn.objects.get, conversation=chat.conversation)
    await in_db(Turn.objects.update, lease_expires=timezone.now())
    assert await in_db(interrupt, turn.pk)
    line = await line_in(log)
    assert (line["turn"], line["status"], line["error"]) == (turn.pk, "interrupted", "interrupted")
    tab.send("turn.stop")


@pytest.mark.usefixtures("worker")
async def test_a_compaction_on_the_way_is_told(chat: Chat, log: pytest.LogCaptureFixture) -> None:
    await in_db(ModelProfile.objects.update, tools=False)
    await chat.start(HISTORY)
    chat.script.reply(SUMMARY, when=is_summary).reply("Of course.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")
    line = await line_in(log)
    assert (line["kind"], line["compacted"], line["rounds"]) == ("answer", True, 1)
