"""A turn as its tabs see it: the text of the deltas, of the rows and of the page is one."""

import asyncio
from typing import Any

import pytest

from chat.db.threads import finish_despite_cancel, in_db
from chat.html import markdown
from chat.live import consumer, live_turn, snapshot
from chat.live.runner import runner
from chat.models import Conversation, Message, Turn
from chat.protocol import broadcast
from chat.protocol.events import Event, TurnDelta
from chat.services.library import conversations
from demo.api.protocol import ScriptedReply, text, thinking, tool_use
from demo.api.recording import RecordedRequest
from tests.chat.factories import make_conversation, make_user
from tests.chat.sockets import PATIENCE, Chat, Tab, joined, sign_in, units

pytestmark = pytest.mark.on_both

# Paragraphs, a list, code, a table; characters of one, two and four bytes, some of two units.
ANSWER = """\
# Zürich 😀

Grüße aus *Zürich*, wo die **Straßenbahn** 🚋 fährt.

- eins 👩‍👩‍👧
- zwei

```python
print("😀" * 3)  # no block ends

# in here
```

| a | b |
|---|---|
| 1 | 💾 |

The end, with no line break 🏁"""


def pieces_of(answer: str, size: int = 3) -> list[str]:
    """Deltas of so many UTF-16 units: many of them cut an emoji in half."""
    data = units(answer)
    return [joined(data[i : i + 2 * size]) for i in range(0, len(data), 2 * size)]


def dripping(answer: str) -> ScriptedReply:
    pieces = pieces_of(answer)
    return ScriptedReply((text("".join(pieces)),), pieces=tuple(pieces))


def shown(tab: Tab) -> tuple[str, int, str]:
    """All that a tab shows of the live answer."""
    assert tab.answer is not None
    return tab.answer.html, tab.answer.through, joined(tab.answer.tail)


async def test_deltas_stored_blocks_and_final_html_are_one_text(chat: Chat) -> None:
    chat.script.reply(dripping(ANSWER), interval_s=0.002)
    tab = await chat.open()
    client_id = tab.say("Tell me")
    mine = await tab.next("message.created", role="user")
    assert (mine["client_id"], mine["number"]) == (client_id, 5)
    started = await tab.next("turn.started", kind="answer")
    theirs = await tab.next("message.created", role="assistant")
    assert theirs["status"] == "streaming"
    finished = await tab.next("turn.finished")
    await tab.next("context.usage")

    assert tab.text == ANSWER
    message = await chat.last()
    assert message.blocks == [{"type": "text", "text": ANSWER}]
    assert (message.text, message.status, message.stop_reason) == (ANSWER, "complete", "end_turn")
    assert (finished["turn_id"], finished["message_id"]) == (started["turn_id"], message.pk)
    assert (finished["status"], finished["error"]) == ("completed", None)
    assert finished["usage"] == message.usage
    assert markdown.render_markdown(ANSWER) in finished["html"]
    assert tab.all("turn.delta")
    assert tab.answer is not None
    assert tab.answer.through > 0
    rest = joined(units(ANSWER)[2 * tab.answer.through :])
    assert tab.answer.html + markdown.render_markdown(rest) == markdown.render_markdown(ANSWER)
    page = await chat.http.get(chat.conversation.get_absolute_url())
    assert finished["html"] in page.content.decode(), "a reload shows the same article"

    (request,) = chat.script.requests
    assert request.last_user_text == "Tell me"
    assert [m["role"] for m in request.messages] == ["user", "assistant"] * 2 + ["user"]


async def test_tabs_that_open_at_any_moment_see_the_same_text(chat: Chat) -> None:
    pieces = len(pieces_of(ANSWER * 2))
    gate = chat.script.pause(dripping(ANSWER * 2), pieces // 2, interval_s=0.01)
    first = await chat.open()
    first.say("Tell me")
    tabs = [first]

    async def more(number: int) -> None:
        for _ in range(number):
            tabs.append(await chat.open())
            tabs[len(tabs) // 2].send("sync")  # also those that know it already

    await more(3)
    await gate.wait_reached()
    await first.until(lambda: first.answer and first.answer.through)
    await more(6)
    gate.release()
    while not first.all("turn.finished"):
        await more(1)
        seen = len(first.all("turn.delta"))
        await first.until(
            lambda seen=seen: len(first.all("turn.delta")) > seen or first.all("turn.finished")
        )
    for tab in tabs:
        await tab.sync()
    assert first.text == ANSWER * 2
    # One that opens just at the end may get the finished article only.
    late = [tab for tab in tabs[1:] if tab.answer is not None and tab.answer.message_id]
    assert sum(tab.answer.text is None for tab in late if tab.answer) >= 6, "they began within"
    assert {shown(tab) for tab in late} == {shown(first)}
    assert {tab.all("turn.finished")[0]["html"] for tab in late} == {
        first.all("turn.finished")[0]["html"]
    }


async def test_a_snapshot_of_a_turn_that_ends_meanwhile_tells_its_end(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = chat.script.stall("First block.\n\nNot", then=" yet the end")
    first = await chat.open()
    first.say("Tell me")
    await gate.wait_reached()
    await first.until(lambda: first.all("turn.block"))
    live = runner.find_live(chat.conversation.pk)

    async def read_and_wait(*call: Any) -> Any:
        result = await in_db(*call)
        gate.release()
        assert live
        assert live.task
        await asyncio.wait([live.task])
        return result

    monkeypatch.setattr(snapshot, "in_db", read_and_wait)
    late = await chat.open()
    await late.next("turn.finished")
    assert [frame["turn"] for frame in late.all("snapshot")] == [None]
    await first.sync()
    await late.sync()


async def test_a_snapshot_within_an_emoji_and_the_rest_make_it_whole(chat: Chat) -> None:
    gate = chat.script.stall("First block.\n\nThen half of \ud83d", then="\ude00 and the rest")
    first = await chat.open()
    first.say("Tell me")
    await gate.wait_reached()
    await first.until(lambda: first.all("turn.delta"))
    second = await chat.open()
    snapshot = second.all("snapshot")[0]["turn"]
    assert snapshot["html"] == '<p dir="auto">First block.</p>\n'
    assert snapshot["text"] == "Then half of "  # the half would be nothing to anybody
    gate.release()
    await second.next("turn.finished")
    await first.next("turn.finished")
    assert first.text == "First block.\n\nThen half of 😀 and the rest"
    assert shown(second) == shown(first)
    assert (await chat.last()).text == "First block.\n\nThen half of 😀 and the rest"


async def test_the_answer_goes_on_without_any_tab(chat: Chat) -> None:
    gate = chat.script.stall("One moment", then=" … done.")
    tab = await chat.open()
    tab.say("Work")
    await gate.wait_reached()
    await tab.close()
    chat.tabs.remove(tab)
    later = await chat.open()
    assert later.all("snapshot")[0]["turn"]["text"] == "One moment"
    gate.release()
    await later.next("turn.finished", status="completed")
    assert later.text == "One moment … done."


async def test_thinking_is_stored_and_not_shown_as_text(chat: Chat) -> None:
    chat.script.reply([thinking("Let me see."), text("Seven.")])
    tab = await chat.open()
    tab.say("How many?")
    await tab.next("turn.finished", status="completed")
    assert tab.text == "Seven."
    assert [block["type"] for block in (await chat.last()).blocks] == ["thinking", "text"]


async def test_an_answer_cut_at_its_limit_is_kept_and_says_so(chat: Chat) -> None:
    chat.script.reply(ScriptedReply((text("And so it"),), stop_reason="max_tokens"))
    tab = await chat.open()
    tab.say("Go on")
    notice = await tab.next("turn.notice")
    assert "length limit" in notice["text"]
    finished = await tab.next("turn.finished", status="completed")
    assert "And so it" in finished["html"]
    assert "length limit" in finished["html"]


async def test_an_answer_that_ends_at_a_stop_sequence_is_complete(chat: Chat) -> None:
    chat.script.reply(
        ScriptedReply((text("One, two"),), stop_reason="stop_sequence", stop_sequence="three")
    )
    tab = await chat.open()
    tab.say("Count")
    finished = await tab.next("turn.finished", status="completed")
    assert (finished["stop_reason"], finished["error"]) == ("stop_sequence", None)
    assert "turn-notice" not in finished["html"]
    assert (await chat.last()).text == "One, two"


async def test_an_answer_that_fills_the_window_in_mid_text_is_kept_and_says_so(chat: Chat) -> None:
    full = "model_context_window_exceeded"
    chat.script.reply(ScriptedReply((text("And so it"),), stop_reason=full))
    tab = await chat.open()
    tab.say("Go on")
    finished = await tab.next("turn.finished", status="completed")
    assert "And so it" in finished["html"]
    assert "length limit" in finished["html"]
    assert await chat.compactions() == [], "what was shown is not written again"


# --- Stop -----------------------------------------------------------------------------------------


async def test_stop_keeps_what_was_written_and_ends_the_call(chat: Chat) -> None:
    gate = chat.script.stall("Once upon a ti", then="me.")
    tab, other = await chat.open(), await chat.open()
    tab.say("A story")
    await gate.wait_reached()
    await tab.until(lambda: tab.all("turn.delta"))
    other.send("turn.stop")
    for each in (tab, other):
        finished = await each.next("turn.finished")
        assert (finished["status"], finished["error"]) == ("cancelled", None)
        assert "Once upon a ti" in finished["html"]
        assert each.text == "Once upon a ti"
    message = await chat.last()
    assert (message.text, message.status) == ("Once upon a ti", "interrupted")
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)
    assert await chat.is_idle()

    chat.script.reply("time, there was …")
    tab.say("Go on")
    await tab.next("turn.finished", status="completed")
    assert "Once upon a ti" in str(chat.script.requests[1].messages[-2]["content"])


async def test_stop_without_an_answer_says_so(chat: Chat) -> None:
    tab = await chat.open()
    tab.send("turn.stop")
    assert (await tab.next("error"))["code"] == "nothing_to_stop"


async def test_stop_at_any_moment_ends_the_turn_once_and_unlocks(chat: Chat) -> None:
    chat.script.reply("An answer. " * 30, always=True, interval_s=0.001)
    tab = await chat.open()
    for attempt in range(12):
        tab.say(f"Attempt {attempt}")
        await tab.next("turn.started")
        await asyncio.sleep(attempt * 0.004)  # a different moment each time
        tab.send("turn.stop")
        finished = await tab.next("turn.finished")
        assert finished["status"] in ("cancelled", "completed")
        await tab.sync()
        assert await chat.is_idle()
    ended = [frame["turn_id"] for frame in tab.all("turn.finished")]
    assert len(ended) == len(set(ended)) == 12


async def test_a_stop_that_gets_lost_is_repeated(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `asyncio.wait_for` loses a cancellation that comes when what it waits for has ended."""
    sending, lost = asyncio.Event(), 0

    async def send(group: str, event: Event) -> None:
        nonlocal lost
        if isinstance(event, TurnDelta) and not lost:
            sending.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost += 1
        await broadcast.send(group, event)

    monkeypatch.setattr(live_turn, "send", send)
    gate = chat.script.stall("One mo", then="ment.")
    tab = await chat.open()
    tab.say("Hello")
    await asyncio.wait_for(sending.wait(), PATIENCE)
    tab.send("turn.stop")
    finished = await tab.next("turn.finished")
    assert (finished["status"], lost) == ("cancelled", 1)
    gate.release()


async def test_what_may_not_be_broken_off_outlasts_every_cancellation() -> None:
    finish, done = asyncio.Event(), False

    async def work() -> None:
        nonlocal done
        await finish.wait()
        done = True

    task = asyncio.create_task(finish_despite_cancel(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    finish.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done


async def test_stop_at_any_moment_of_a_round_of_tools_leaves_no_call_without_a_result(
    chat: Chat,
) -> None:
    def round_(request: RecordedRequest) -> Any:
        called = request.messages[-1]["content"][0]["type"] == "tool_result"
        return "Done." if called else [text("I look. " * 5), tool_use("recall", {"query": "x"})]

    chat.script.reply(round_, always=True, interval_s=0.001)
    tab = await chat.open()
    for attempt in range(16):
        tab.say(f"Attempt {attempt}")
        await tab.next("turn.started")
        await asyncio.sleep(attempt * 0.004)  # a different moment each time
        tab.send("turn.stop")
        await tab.next("turn.finished")
        await tab.sync()
        assert await chat.is_idle()

    def unanswered() -> list[int]:
        done = Message.objects.filter(conversation=chat.conversation, status="complete")
        rows = list(done.order_by("number"))
        results = {b["tool_use_id"] for row in rows for b in row.blocks if "tool_use_id" in b}
        return [
            row.number
            for row in rows
            for block in row.blocks
            if block["type"] == "tool_use" and not {block["id"]} <= results & row.calls.keys()
        ]

    assert await in_db(unanswered) == []


# --- Locks ----------------------------------------------------------------------------------------


async def test_a_message_during_an_answer_is_refused_and_named(chat: Chat) -> None:
    gate = chat.script.stall("One mo", then="ment.")
    tab, other = await chat.open(), await chat.open()
    tab.say("First")
    await gate.wait_reached()
    client_id = other.say("Second")
    error = await other.next("error")
    assert error["code"] == "conversation_busy"
    assert (error["client_id"], error["retryable"]) == (client_id, True)
    other.send("compact")
    assert (await other.next("error"))["code"] == "conversation_busy"
    gate.release()
    await other.next("turn.finished", status="completed")
    chat.script.reply("Second answer.")
    other.say("Second", client_id=client_id)  # the draft, sent again
    await other.next("turn.finished", status="completed")
    assert len(tab.all("error")) == 0


async def test_a_repeated_frame_is_answered_with_a_snapshot(chat: Chat) -> None:
    chat.script.reply("Hi!")
    tab = await chat.open()
    tab.say("Hello", client_id="once")
    await tab.next("turn.finished")
    tab.say("Hello", client_id="once")
    snapshot = await tab.next("snapshot")
    assert snapshot["head"] == 6
    created = await tab.next("message.created", client_id="once", html="")
    assert created["number"] == 5, "the frame that says it is stored"
    assert len(tab.all("message.created")) == 3


async def test_a_message_from_a_tab_that_is_behind_is_not_merged(chat: Chat) -> None:
    chat.script.reply("Hi!")
    tab = await chat.open()
    tab.say("Hello", expected_head=4)
    await tab.next("turn.finished")
    client_id = tab.say("Hello again", expected_head=4)
    error = await tab.next("error", code="head_changed")
    assert error["client_id"] == client_id
    assert (await chat.last()).number == 6


async def test_a_conversation_deleted_in_mid_answer_ends_everywhere(chat: Chat) -> None:
    gate = chat.script.stall("One mo", then="ment.")
    other = await in_db(make_conversation, owner=chat.user)
    tab, elsewhere = await chat.open(), await chat.open(other)
    tab.say("First")
    await gate.wait_reached()
    gone = {"id": str(chat.conversation.pk), "deleted": "1"}
    assert (await chat.http.post("/c/change/", gone)).status_code == 204
    for each in (tab, elsewhere):
        gone = await each.next("conversation.deleted")
        assert gone["id"] == str(chat.conversation.pk)
    await asyncio.to_thread(chat.script.wait_for_disconnects, 1)
    while live_turn := runner.find_live(chat.conversation.pk):
        await asyncio.wait({live_turn.task}, timeout=PATIENCE)
    tab.say("Still there?")
    await tab.until(lambda: tab.closed_with == 4404)
    assert (await chat.last()).text == "One mo", "it could still be restored"
    row = await Conversation.objects.aget(pk=chat.conversation.pk)
    await in_db(conversations.delete_conversation, row)
    assert not await Message.objects.aexists()
    assert not await Turn.objects.aexists()


async def test_text_is_stored_while_it_streams(chat: Chat) -> None:
    gate = chat.script.stall("Written and 😀", then=".")
    tab = await chat.open()
    tab.say("Write")
    await gate.wait_reached()
    message = await chat.eventually(lambda message: message.text == "Written and 😀")
    assert message.status == "streaming"
    assert message.blocks == [{"type": "text", "text": "Written and 😀"}]
    gate.release()
    await tab.next("turn.finished", status="completed")


async def test_draining_refuses_and_interrupts_what_does_not_end(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.live.runner.DRAIN_SECONDS", 0.1)
    gate = chat.script.stall("Half", then=" more")
    tab = await chat.open()
    tab.say("Write")
    await gate.wait_reached()
    await tab.until(lambda: tab.all("turn.delta"))
    drained = asyncio.create_task(runner.drain())
    await asyncio.sleep(0)
    for send in (lambda: tab.say("Another"), lambda: tab.send("compact")):
        send()
        error = await tab.next("error", code="shutting_down")
        assert error["retryable"]
    finished = await tab.next("turn.finished", status="interrupted")
    assert finished["error"]["code"] == "interrupted"
    assert 'data-action="retry"' in finished["html"]
    await drained
    assert (await chat.last()).text == "Half"


# --- Who may connect, and what they may send ------------------------------------------------------


async def test_strangers_get_4404_and_the_signed_out_4401(chat: Chat) -> None:
    stranger = await in_db(lambda: sign_in(make_user()))
    for cookie, code in ((stranger, 4404), ("0" * 32, 4401), (" ", 4401)):
        tab = await chat.open(cookie=cookie, snapshot=False)
        await tab.until(lambda tab=tab: tab.closed_with)
        assert tab.closed_with == code
        assert tab.frames == []


async def test_one_person_may_have_so_many_sockets_and_no_more(chat: Chat, settings: Any) -> None:
    settings.SOCKETS_PER_USER = 2
    first, _ = await chat.open(), await chat.open()
    third = await chat.open(snapshot=False)
    await third.until(lambda: third.closed_with == 4429)
    chat.tabs.remove(first)
    await first.close()
    await chat.open()


async def test_a_conversation_that_does_not_exist_is_4404(chat: Chat) -> None:
    tab = await chat.open(Conversation(), snapshot=False)
    await tab.until(lambda: tab.closed_with)
    assert tab.closed_with == 4404


@pytest.mark.parametrize("origin", [b"http://evil.example", b"null", None])
async def test_other_origins_are_refused(chat: Chat, origin: bytes | None) -> None:
    with pytest.raises(ConnectionRefusedError):
        await chat.open(origin=origin, snapshot=False)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "no json",
        "[" * 5_000,
        "{}",
        '{"type": "shutdown"}',
        '{"type": "message.send", "text": "no id"}',
        '{"type": "compact", "focus": 7}',
        b"\xff\xfe",
    ],
)
async def test_a_bad_frame_gets_an_error_and_the_socket_lives(
    chat: Chat, data: str | bytes
) -> None:
    tab = await chat.open()
    tab.send_raw(data)
    error = await tab.next("error")
    assert error["code"] == "bad_frame"
    assert (await tab.sync())["head"] == 4


async def test_a_quiet_page_hears_that_its_connection_lives_without_a_look_at_the_database(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = await chat.open()
    asked: list[object] = []
    monkeypatch.setattr(consumer, "in_db", lambda *work: asked.append(work))
    tab.send("ping")
    assert await tab.next("pong") == {"type": "pong"}
    assert asked == []


@pytest.mark.parametrize(
    ("text", "code"), [("  ", "empty_message"), ("x" * 300_000, "message_too_long")]
)
async def test_a_text_that_cannot_be_sent_is_named_with_its_id(
    chat: Chat, text: str, code: str
) -> None:
    tab = await chat.open()
    client_id = tab.say(text)
    error = await tab.next("error")
    assert (error["code"], error["client_id"]) == (code, client_id)
    assert (await chat.last()).number == 4


async def test_nul_and_lone_surrogates_go_the_whole_way(chat: Chat) -> None:
    chat.script.reply("Odd.\0 \ud800 Very odd.")
    tab = await chat.open()
    tab.say("a\0b \ud800", client_id="odd\0\udfff")
    await tab.next("turn.finished", status="completed")
    assert (await chat.last()).text == "Odd.\ufffd \ufffd Very odd."
    assert chat.script.requests[0].last_user_text == "a\ufffdb \ufffd"


async def test_a_message_above_the_limit_of_a_minute_is_refused(chat: Chat, settings: Any) -> None:
    settings.MESSAGES_PER_MINUTE = 0
    tab = await chat.open()
    client_id = tab.say("Hello")
    error = await tab.next("error", code="rate_limited", client_id=client_id)
    assert 0 < error["retry_after"] <= 60
    assert (await tab.sync())["head"] == 4


async def test_a_snapshot_tells_all_that_a_page_needs(chat: Chat) -> None:
    tab = await chat.open()
    snapshot = await tab.sync()
    assert snapshot["conversation_id"] == str(chat.conversation.pk)
    assert snapshot["title"] == chat.conversation.title
    assert (snapshot["head"], snapshot["turn"], snapshot["compaction"]) == (4, None, None)
    assert snapshot["usage"]["window"] == 16_000
