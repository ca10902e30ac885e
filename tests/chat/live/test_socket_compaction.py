"""Compactions as the tabs see them, written by a real Celery worker: a thread of this process, or a
process of its own where there is Redis."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from agent.compaction.policy import ChapterForm
from agent.compaction.skills import CHAPTER_HEADINGS, SKILLS
from chat.db.threads import in_db
from chat.engine.state import load_state
from chat.live.waiting import wait_for_compaction
from chat.models import Compaction, Conversation, ModelProfile, Turn
from chat.services.library import attachments
from chat.services.summary import preparations
from demo.api.protocol import ScriptedReply, refusal, text, tool_use
from demo.api.recording import RecordedRequest
from demo.api.script import Script, is_chat, is_summary, is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.factories import add_messages, make_compaction, make_profile, make_turn, work
from tests.chat.sockets import (
    KEPT_SUMMARY,
    MAX_OUTPUT,
    PLAIN,
    SUMMARY,
    WINDOW,
    Chat,
    Event,
    Tab,
    long_text,
)

pytestmark = [pytest.mark.on_both, pytest.mark.usefixtures("worker")]

AUTO = Compaction.Trigger.AUTO
TOO_LONG = "prompt is too long: 20000 tokens > 16000 maximum"
HISTORY = [long_text(number) for number in range(1, 11)]  # 14,300 tokens: over 80 %, it still fits
CHAPTER = KEPT_SUMMARY.strip().partition("\n\n## Current work")[0]  # stays where it is


def shown_messages(request: RecordedRequest) -> list[int]:
    """The numbers of the long messages that a request contains."""
    content = str(request.messages)
    return [number for number in range(1, 40) if f"Message {number}: " in content]


async def one_end(tab: Tab) -> Event:
    """The only CompressionCompleted, which belongs to the only CompressionStarted. The worker sends
    it, so that it may come a little after what the web process sends."""
    await tab.until(lambda: tab.all("CompressionCompleted"))
    (started,) = tab.all("CompressionStarted")
    (completed,) = tab.all("CompressionCompleted")
    assert completed["compaction_id"] == started["compaction_id"]
    return completed


# --- Automatic ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_tools(signed_in: object) -> None:
    """The histories here fill the small window to the token; tools would take a tenth of it."""
    ModelProfile.objects.update(tools=False)


async def test_at_eighty_percent_the_turn_compacts_first(chat: Chat) -> None:
    await chat.start(HISTORY)
    chat.script.reply(SUMMARY, when=is_summary).reply("Of course.", when=is_chat)
    tab, other = await chat.open(), await chat.open()
    before = tab.all("snapshot")[0]["usage"]
    assert before["ratio"] >= 0.80
    tab.say("And now?")
    finished = await tab.next("turn.finished")
    assert (finished["status"], tab.text) == ("completed", "Of course.")
    await other.next("turn.finished")

    for each in (tab, other):
        completed = await one_end(each)
        assert (completed["success"], completed["error"]) == (True, "")
        kinds = [frame["type"] for frame in each.frames]
        assert kinds.index("CompressionCompleted") < kinds.index("turn.delta")
    started = tab.all("CompressionStarted")[0]
    assert (started["trigger"], started["conversation_id"]) == ("auto", str(chat.conversation.pk))
    (compaction,) = await chat.compactions()
    assert (compaction.status, compaction.trigger) == ("completed", "auto")
    assert compaction.worker_pid is not None
    assert completed["tokens_before"] == compaction.tokens_before > 12_800
    assert completed["tokens_after"] == compaction.tokens_after < 8_000
    assert completed["after_message_id"] == compaction.through_id
    assert "Lorem ipsum of overview" in completed["html"]

    summary, answer = chat.script.requests
    cut = compaction.through.number
    assert (summary.kind, answer.kind) == ("summary", "chat")
    assert shown_messages(summary) == list(range(1, cut + 1))
    assert "# Conversation Summary" in answer.system_text
    assert CHAPTER in answer.system_text
    assert shown_messages(answer) == [1, *range(cut + 1, 11)], "the first and the recent messages"
    assert answer.last_user_text == "And now?"
    usage = (await tab.sync())["usage"]
    assert usage["ratio"] < before["ratio"] / 2
    assert usage["breakdown"]["summary"] > 0
    assert usage["totals"]["compactions"] == 1


async def test_a_second_compaction_reads_only_what_came_since(chat: Chat) -> None:
    await chat.start(HISTORY)
    chat.script.reply(SUMMARY, when=is_summary).reply("One.", when=is_chat)
    tab = await chat.open()
    tab.say("First")
    await tab.next("turn.finished", status="completed")
    (first,) = await chat.compactions()
    more = [long_text(number) for number in range(13, 21)]
    await in_db(add_messages, chat.conversation, more)

    chat.script.reply(SUMMARY.replace("[#1 #2]", "[#13 #14]"), when=is_summary).reply(
        "Two.", when=is_chat
    )
    tab.say("Second")
    await tab.next("CompressionStarted")
    await tab.next("turn.finished", status="completed")
    _, second = await chat.compactions()
    assert second.previous == first
    summary, answer = chat.script.requests[2:]
    read = re.findall(r"\[#(\d+) \w+ · [^\]\n]+\]\nMessage", summary.last_user_text)
    assert [int(n) for n in read] == [
        n for n in range(first.through.number + 1, second.through.number + 1) if n not in (11, 12)
    ]
    assert "<previous_summary>" in summary.last_user_text
    assert "Lorem ipsum of overview" in summary.last_user_text
    assert [(c["first"], c["through"]) for c in second.chapters] == [
        (1, first.through.number),
        (first.through.number + 1, second.through.number),
    ]
    assert CHAPTER in answer.system_text, "the first chapter keeps its bytes"
    assert CHAPTER.replace("[#1 #2]", "[#13 #14]") in answer.system_text
    assert min(shown_messages(answer)[1:]) > second.through.number
    tabs = [frame["success"] for frame in tab.all("CompressionCompleted")]
    assert tabs == [True, True]


async def test_a_message_during_a_compaction_is_refused_in_every_tab(chat: Chat) -> None:
    await chat.start(HISTORY)
    gate = chat.script.stall(then=SUMMARY, when=is_summary)
    chat.script.reply("Of course.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await gate.wait_reached()
    other = await chat.open()
    lock = other.all("snapshot")[0]
    assert lock["turn"]["status"] == "compacting"
    assert lock["compaction"] == await tab.next("CompressionStarted") | {
        "elapsed": lock["compaction"]["elapsed"]
    }
    client_id = other.say("Me too")
    error = await other.next("error")
    assert (error["code"], error["client_id"]) == ("conversation_busy", client_id)
    assert "being compacted" in error["message"]
    other.send("compact")
    assert (await other.next("error"))["code"] == "conversation_busy"
    gate.release()
    await other.next("CompressionCompleted", success=True)
    await other.next("turn.finished", status="completed")
    assert (await other.sync())["compaction"] is None


# --- /compact -------------------------------------------------------------------------------------


async def test_compact_with_a_focus_tells_the_summariser(chat: Chat) -> None:
    chat.script.reply(SUMMARY)
    await chat.start([long_text(n) for n in range(1, 7)])
    tab = await chat.open()
    tab.send("compact", focus="the unpaid bill")
    started = await tab.next("turn.started", kind="compact")
    assert (await tab.next("CompressionStarted"))["trigger"] == "manual"
    assert (await tab.next("CompressionCompleted"))["success"]
    finished = await tab.next("turn.finished", turn_id=started["turn_id"])
    assert (finished["kind"], finished["status"]) == ("compact", "completed")
    assert finished["message_id"] is None
    assert "the unpaid bill" in chat.script.requests[0].last_user_text
    (compaction,) = await chat.compactions()
    assert (compaction.focus, compaction.trigger) == ("the unpaid bill", "manual")
    assert (await chat.last()).number == 6, "no message is written"


@pytest.mark.parametrize(("messages", "words"), [(0, "empty"), (2, "last exchange")])
async def test_nothing_to_compact_is_said(chat: Chat, messages: int, words: str) -> None:
    await chat.start(messages)
    tab = await chat.open()
    tab.send("compact")
    error = await tab.next("error")
    assert error["code"] == "nothing_to_compact"
    assert words in error["message"]
    assert tab.all("CompressionStarted") == []
    assert await chat.is_idle()


async def test_cancel_ends_a_manual_compaction_and_changes_nothing(chat: Chat) -> None:
    before = await chat.compressed()
    gate = chat.script.stall(when=is_summary)
    tab, other = await chat.open(), await chat.open()
    tab.send("compact")
    await gate.wait_reached()
    other.send("compact.cancel")
    completed = await tab.next("CompressionCompleted")
    assert (completed["success"], completed["cancelled"]) == (False, True)
    finished = await tab.next("turn.finished")
    assert finished["status"] == "cancelled"
    assert await chat.compressed() == before
    assert await chat.is_idle()
    await one_end(tab)
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)
    tab.send("compact.cancel")
    assert (await tab.next("error"))["code"] == "nothing_to_stop"


async def test_cancel_of_a_stalled_summary_lets_the_answer_go_on(chat: Chat) -> None:
    await chat.start(HISTORY)
    before = await chat.compressed()
    gate = chat.script.stall(when=is_summary)
    chat.script.reply("Without it.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await gate.wait_reached()
    tab.send("compact.cancel")
    await tab.next("CompressionCompleted", cancelled=True)
    finished = await tab.next("turn.finished")
    assert (finished["status"], tab.text) == ("completed", "Without it.")
    assert shown_messages(chat.script.requests[-1]) == list(range(1, 11))
    after = await chat.compressed()
    assert after["messages"][:10] == before["messages"]
    assert {k: v for k, v in after.items() if k != "messages"} == {
        k: v for k, v in before.items() if k != "messages"
    }
    await one_end(tab)
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)


async def test_stop_during_a_compaction_ends_turn_and_compaction(chat: Chat) -> None:
    await chat.start(HISTORY)
    gate = chat.script.stall(when=is_summary)
    tab = await chat.open()
    tab.say("And now?")
    await gate.wait_reached()
    tab.send("turn.stop")
    await tab.next("CompressionCompleted", cancelled=True)
    await tab.next("turn.finished", status="cancelled")
    assert await chat.is_idle()
    await one_end(tab)
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)


async def test_stop_at_any_moment_of_a_compaction_leaves_nothing_running(chat: Chat) -> None:
    await chat.start(HISTORY)
    chat.script.reply("No summary.", when=is_summary, always=True)
    chat.script.reply("An answer.", when=is_chat, always=True)
    tab = await chat.open()
    for attempt in range(10):
        tab.send("compact")
        await tab.next("turn.started")
        await asyncio.sleep(attempt * 0.004)  # a different moment each time
        tab.send("turn.stop")
        await tab.next("turn.finished")
        await tab.sync()
        assert await chat.is_idle()
    started = [frame["compaction_id"] for frame in tab.all("CompressionStarted")]
    ended = [frame["compaction_id"] for frame in tab.all("CompressionCompleted")]
    assert started == ended


# --- Failing --------------------------------------------------------------------------------------


def always(answer: Any) -> Callable[[Script], Any]:
    return lambda script: script.reply(answer, when=is_summary, always=True)


FAILURES: dict[str, tuple[Callable[[Script], Any], str]] = {
    "empty": (always(""), "it is empty"),
    "no headings": (always("They talked."), "the heading “Overview” is missing"),
    "refused": (always(refusal()), "refused to summarise"),
    "tool call": (always(tool_use("search", {})), "calls a tool"),
    "too long": (always(SUMMARY + "blah " * 40_000), "longer than"),
    "server error": (
        lambda s: s.error(500, when=is_summary, always=True),
        "500 Internal server error",
    ),
    "cut": (lambda s: s.cut(SUMMARY[:200], when=is_summary, always=True), "broke off"),
}


@pytest.mark.parametrize(("fail", "words"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_failed_summary_changes_nothing_is_told_and_the_turn_goes_on(
    chat: Chat, fail: Callable[[Script], Any], words: str
) -> None:
    await chat.start(HISTORY)
    before = await chat.compressed()
    fail(chat.script)
    chat.script.reply("Without it.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    finished = await tab.next("turn.finished")
    assert (finished["status"], tab.text) == ("completed", "Without it.")
    completed = await one_end(tab)
    assert (completed["success"], completed["cancelled"]) == (False, False)
    assert words in completed["error"]
    (compaction,) = await chat.compactions()
    assert compaction.status == "failed"
    assert compaction.error
    after = await chat.compressed()
    assert after["messages"][:10] == before.pop("messages")
    assert before.items() <= after.items()
    assert "# Conversation Summary" not in chat.script.requests[-1].system_text


async def test_a_failed_manual_compaction_is_a_failed_turn(chat: Chat) -> None:
    chat.script.error(529, always=True)
    before = await chat.compressed()
    tab = await chat.open()
    tab.send("compact")
    finished = await tab.next("turn.finished")
    assert (finished["status"], finished["error"]["code"]) == ("failed", "compaction_failed")
    assert "overloaded" in (await one_end(tab))["error"]
    assert await chat.compressed() == before


async def test_a_failed_second_compaction_keeps_the_first(chat: Chat) -> None:
    chat.script.reply(SUMMARY).reply("No summary.", always=True)
    tab = await chat.open()
    await chat.start([long_text(n) for n in range(1, 7)])
    tab = await chat.open()
    tab.send("compact")
    await tab.next("turn.finished", status="completed")
    await in_db(add_messages, chat.conversation, [long_text(n) for n in range(7, 11)])
    before = await chat.compressed()
    tab.send("compact")
    await tab.next("turn.finished", status="failed")
    assert await chat.compressed() == before
    assert before["compressed_context"]


async def test_a_preparation_that_the_model_cannot_write_fails_and_is_no_extract(
    chat: Chat, settings: Any
) -> None:
    """Nobody waits for it, and the next reply begins another."""
    settings.MODEL_RETRIES = 0
    await chat.start(HISTORY[:8], compaction_settings={"prepare_ratio": 0.8})
    chat.script.error(529, when=is_summary, always=True)
    pk = await in_db(lambda: preparations.prepare_if_due(load_state(chat.conversation.pk)))
    ended = await wait_for_compaction(await in_db(Compaction.objects.get, pk=pk))
    assert (ended.trigger, ended.status, ended.chapters) == ("prepared", "failed", [])
    assert "overloaded" in ended.error
    assert await in_db(lambda: preparations.prepare_if_due(load_state(chat.conversation.pk)))


async def test_what_is_only_prepared_locks_no_page_and_an_orphan_of_an_ended_turn_neither(
    chat: Chat,
) -> None:
    """No `CompressionCompleted` would open it again; the server takes messages in both cases."""
    await chat.start(HISTORY[:8], compaction_settings={"prepare_ratio": 0.8})
    pk = await in_db(lambda: preparations.prepare_if_due(load_state(chat.conversation.pk)))
    tab = await chat.open()
    assert tab.all("snapshot")[0]["compaction"] is None
    turn = await in_db(make_turn, chat.conversation, kind=Turn.Kind.COMPACT)
    await in_db(Compaction.objects.filter(pk=pk).update, turn=turn)
    assert (await tab.sync())["compaction"]["compaction_id"] == pk
    await in_db(Turn.objects.update, status=Turn.Status.FAILED)
    assert (await tab.sync())["compaction"] is None


async def test_the_summariser_reads_what_an_attached_text_says(chat: Chat) -> None:
    await chat.start(0, compaction_settings=PLAIN | {"engine": "serialised"})
    note = await in_db(attachments.store_unsent, chat.user, "note.txt", b"The port is 48151.")
    chat.script.reply("I see.", when=is_chat).reply(SUMMARY, when=is_summary)
    tab = await chat.open()
    tab.say("Read it, lorem ipsum.", attachments=[str(note.pk)])
    await tab.next("turn.finished", status="completed")
    await in_db(add_messages, chat.conversation, HISTORY[:6])
    tab.send("compact")
    await tab.next("turn.finished", status="completed")
    asked = chat.script.requests[-1].last_user_text
    assert "[Attached document: note.txt]\nThe port is 48151." in asked


# --- Overflow -------------------------------------------------------------------------------------


async def test_a_request_that_the_server_finds_too_long_is_compacted_and_answered(
    chat: Chat,
) -> None:
    await chat.start([long_text(n) for n in range(1, 7)])
    chat.script.error(400, message=TOO_LONG, when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary).reply("Fits now.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    finished = await tab.next("turn.finished")
    assert (finished["status"], tab.text) == ("completed", "Fits now.")
    assert (await one_end(tab))["success"]
    assert tab.all("CompressionStarted")[0]["trigger"] == "overflow"
    first, _, last = chat.script.requests
    assert len(shown_messages(first)) > len(shown_messages(last))
    assert "# Conversation Summary" in last.system_text
    assert (await chat.last()).number == 8, "one row for the answer"


async def test_an_overflow_in_the_window_compacts_too(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 7)])
    full = ScriptedReply((), stop_reason="model_context_window_exceeded")
    chat.script.reply(full, when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary).reply("Fits now.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")
    assert tab.all("CompressionStarted")[0]["trigger"] == "overflow"


async def test_an_overflow_whose_compaction_fails_is_trimmed_and_answered(chat: Chat) -> None:
    await chat.start([long_text(n) for n in range(1, 7)])
    chat.script.error(400, message=TOO_LONG, when=is_chat)
    chat.script.reply("No summary.", when=is_summary, always=True)
    chat.script.reply("Without it.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    assert "left out" in (await tab.next("turn.notice"))["text"]
    finished = await tab.next("turn.finished")
    assert (finished["status"], tab.text) == ("completed", "Without it.")
    assert not (await one_end(tab))["success"]
    assert len(shown_messages(chat.script.requests[-1])) < 6


async def test_the_limit_of_overflows_is_for_the_whole_turn(chat: Chat) -> None:
    """A compaction a turn is allowed here: the second overflow, a round later, is trimmed."""
    await in_db(ModelProfile.objects.update, tools=True)
    texts = [long_text(n) for n in range(1, 7)]
    await chat.start(texts, compaction_settings=PLAIN | {"overflow_tries": 1})
    chat.script.error(400, message=TOO_LONG, when=is_chat)
    chat.script.reply(SUMMARY, when=is_summary)
    chat.script.reply(tool_use("read_messages", {"numbers": [1]}), when=is_chat)
    chat.script.error(400, message=TOO_LONG, when=is_chat).reply("Done.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")
    (compaction,) = await chat.compactions()
    assert (compaction.trigger, compaction.status) == ("overflow", "completed")


async def test_while_automatic_compaction_is_paused_an_overflow_is_trimmed(chat: Chat) -> None:
    conversation = await chat.start([long_text(n) for n in range(1, 7)])

    def fail_often() -> None:
        for _ in range(3):
            make_compaction(conversation, status=Compaction.Status.FAILED, trigger=AUTO)

    await in_db(fail_often)
    chat.script.error(400, message=TOO_LONG, when=is_chat).reply("Trimmed.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")
    assert tab.all("CompressionStarted") == []


async def test_an_overflow_takes_what_is_prepared(chat: Chat) -> None:
    settings = PLAIN | {"prepare_ratio": 0.1}
    conversation = await chat.start([long_text(n) for n in range(1, 7)])
    chat.script.reply(SUMMARY, when=is_summary)

    def prepare() -> int | None:
        Conversation.objects.filter(pk=conversation.pk).update(compaction_settings=settings)
        return preparations.prepare_if_due(load_state(conversation.pk))

    pk = await in_db(prepare)
    await asyncio.to_thread(work, pk)
    await in_db(Conversation.objects.update, compaction_settings=PLAIN)
    chat.script.error(400, message=TOO_LONG, when=is_chat).reply("Fits.", when=is_chat)
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")
    (compaction,) = await chat.compactions()
    assert (compaction.pk, compaction.status) == (pk, "completed")
    assert (await one_end(tab))["success"]


async def test_an_overflow_that_nothing_can_help_fails_with_its_words(chat: Chat) -> None:
    await chat.start(0)
    chat.script.error(400, message=TOO_LONG)
    tab = await chat.open()
    tab.say("Hello")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "too_long"


@pytest.mark.parametrize(("tries", "compactions"), [(0, 0), (1, 1), (3, 2)])
async def test_an_overflow_is_compacted_so_many_times_and_then_told_10(
    chat: Chat, settings: Any, tries: int, compactions: int
) -> None:
    """Or until there is nothing left to compact, as after two here; then trimmed once."""
    settings.COMPACTION = settings.COMPACTION | {"overflow_tries": tries}
    await chat.start([long_text(n) for n in range(1, 7)])
    too_long = "prompt is too long: 20000 tokens > 16000 maximum"
    chat.script.error(400, message=too_long, when=is_chat, always=True)
    chat.script.reply(SUMMARY, when=is_summary, always=True)
    tab = await chat.open()
    tab.say("And now?")
    finished = await tab.next("turn.finished", status="failed")
    assert finished["error"]["code"] == "too_long"
    assert [row.status for row in await chat.compactions()] == ["completed"] * compactions
    assert len([r for r in chat.script.requests if is_chat(r)]) == compactions + 2


async def test_a_summary_that_makes_the_context_larger_is_not_used_and_soon_not_asked_for_7(
    chat: Chat, settings: Any
) -> None:
    """Messages of a few words; by hand it can be asked for at any time."""
    settings.COMPACTION = settings.COMPACTION | {"threshold_tokens": 40, "prepare_ratio": 0}
    await chat.start(["Lorem ipsum."] * 6)
    chat.script.reply(SUMMARY, when=is_summary, always=True)
    chat.script.reply("Yes.", when=is_chat, always=True)
    tab = await chat.open()

    async def calls() -> int:
        """Of the summariser, for one more message."""
        before = len(chat.script.requests)
        tab.say("And now?")
        await tab.next("turn.finished", status="completed")
        return len([r for r in chat.script.requests[before:] if is_summary(r)])

    assert [await calls() for _ in range(4)] == [1, 1, 1, 0]
    rows = await chat.compactions()
    assert [row.status for row in rows] == ["failed"] * 3
    assert all("would not have made the context smaller" in row.error for row in rows)
    assert (await chat.compressed())["compressed_context"] is None
    before = len(chat.script.requests)
    tab.send("compact")
    await tab.next("turn.finished", status="failed")
    assert len(chat.script.requests) == before + 1


# --- Other servers, titles ------------------------------------------------------------------------


async def test_a_server_like_ollama_chats_and_compacts(
    chat: Chat, settings: Any, model_port: int
) -> None:
    """No count_tokens, no cache fields in its usage, no mid-stream error events."""
    name = "qwen3:8b"
    chat.model.stop()
    models = [ListedModel(id=name, window=WINDOW, max_output=MAX_OUTPUT)]
    with DemoServer(ollama=True, models=models, port=model_port) as server:
        chat.model = server
        await in_db(make_profile, name, context_window=WINDOW, max_output=MAX_OUTPUT)
        await chat.start(HISTORY, model=name)
        server.script.reply(SUMMARY, when=is_summary, always=True).reply("Ja.", when=is_chat)
        tab = await chat.open()
        tab.say("Und jetzt?")
        await tab.next("turn.finished", status="completed")
        assert tab.text == "Ja."
        assert (await one_end(tab))["success"]
        message = await chat.last()
        assert set(message.usage or {}) == {"input_tokens", "output_tokens"}
        usage = (await tab.sync())["usage"]
        assert (usage["used"], usage["estimated"]) == (sum((message.usage or {}).values()), False)
        server.script.assert_done()


async def test_the_first_exchange_is_named_by_the_model(chat: Chat) -> None:
    await chat.start(0, title="", title_edited=False)
    chat.script.reply("Pack light.", when=is_chat)
    chat.script.reply("“A move to Lisbon”\n", when=is_title)
    tab = await chat.open()
    tab.say("Plan my move to Lisbon")
    assert (await tab.next("conversation.updated"))["title"] == "Plan my move to Lisbon"
    await tab.next("turn.finished", status="completed")
    assert (await tab.next("conversation.updated"))["title"] == "A move to Lisbon"


async def test_a_title_by_hand_is_never_replaced(chat: Chat) -> None:
    await chat.start(0, title="", title_edited=False)
    gate = chat.script.stall(then="A move to Lisbon", when=is_title)
    chat.script.reply("Pack light.", when=is_chat)
    tab = await chat.open()
    tab.say("Plan my move to Lisbon, lorem ipsum")
    await gate.wait_reached()
    response = await chat.http.post(f"/c/{chat.conversation.pk}/rename/", {"title": "Mine"})
    assert response.status_code == 302
    await tab.next("conversation.updated", title="Mine")
    gate.release()
    chat.script.reply(SUMMARY, when=is_summary).reply("Yes.", when=is_chat)
    tab.say("Really?")  # the next turn, and a task after the title's
    await tab.next("turn.finished", status="completed")
    tab.send("compact")
    await tab.next("turn.finished", kind="compact")
    row = await in_db(Conversation.objects.get, pk=chat.conversation.pk)
    assert row.title == "Mine"


async def test_the_context_after_a_compaction_is_what_was_announced(chat: Chat) -> None:
    chat.script.reply(SUMMARY)
    await chat.start([long_text(n) for n in range(1, 7)])
    tab = await chat.open()
    tab.send("compact")
    await tab.next("CompressionCompleted", success=True)
    usage = await tab.next("context.usage")
    state = await in_db(load_state, chat.conversation.pk)
    assert usage["used"] == state.used
    assert all(heading in state.context.summary.text for heading in CHAPTER_HEADINGS)


async def test_a_conversation_that_wants_the_short_form_gets_it(chat: Chat) -> None:
    short = SKILLS[ChapterForm.SHORT]
    chat.script.reply("\n".join(f"## {name}\n- Message 1 [#1]" for name in short.headings))
    await chat.start([long_text(n) for n in range(1, 7)])
    wanted = Conversation.objects.filter(pk=chat.conversation.pk)
    await in_db(wanted.update, compaction_settings={"summary_form": "short"})
    tab = await chat.open()
    tab.send("compact")
    await tab.next("CompressionCompleted", success=True)
    (row,) = await in_db(list, Compaction.objects.all())
    assert row.prompt_version == short.version
    assert all(f"## {heading}" in row.summary for heading in short.chapter_headings)


def test_texts_are_what_the_tests_take_them_for() -> None:
    assert text(HISTORY[0])["text"].startswith("Message 1: ")


# --- A deleted message ----------------------------------------------------------------------------


async def test_the_page_shows_what_is_left_at_once_and_the_chapter_when_it_is_back(
    chat: Chat,
) -> None:
    conversation = await chat.start([long_text(number) for number in range(1, 7)])
    await in_db(make_compaction, conversation, "- The xylophone [#2]", through=4)
    tab = await chat.open()
    deleted = await in_db(conversation.messages.get, number=2)
    gate = chat.script.stall(SUMMARY[:200], then=SUMMARY[200:], when=is_summary)
    response = await chat.http.post(f"/c/{conversation.pk}/messages/{deleted.pk}/delete/")
    assert response.status_code == 204
    gap = await tab.next("summary.changed")
    assert "being summarised again" in gap["html"]
    assert "xylophone" not in gap["html"]
    await asyncio.to_thread(gate.reached.wait, 10)
    assert (await tab.sync())["compaction"] is None, "nothing is locked"
    gate.release()
    back = await tab.next("summary.changed")
    assert "Lorem ipsum" in back["html"]
    assert back["id"] == gap["id"]
    assert not tab.all("CompressionStarted")
    assert not tab.all("CompressionCompleted"), "nothing was compacted"
