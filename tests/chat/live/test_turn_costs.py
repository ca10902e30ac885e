"""What is booked for an answer without a final report: stopped, cut off, or its process killed."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from agent.messages import Usage
from agent.model import client
from agent.model.unreported import is_estimated
from chat.db.threads import in_db
from chat.engine.state import load_state
from chat.live.runner import runner
from chat.models import Message, Turn
from chat.services.turns import endings, requests, sweep
from chat.services.turns.turns import NewMessage
from demo.api.protocol import ScriptedReply, text, tool_use
from spending.models import ModelCall
from spending.totals import Total, load_total
from tests.chat.factories import make_conversation, make_profile
from tests.chat.sockets import MAX_OUTPUT, WINDOW, Chat, Tab, long_text
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

PRICES = {"input_price": 1.0, "output_price": 5.0}
LONG = "lorem ipsum dolor " * 200  # 3,600 characters, about 1,000 raw tokens
LEAST = 800  # tokens that it has, whoever counts


@pytest.fixture
async def tab(chat: Chat) -> Tab:
    await chat.start(2)
    await in_db(make_profile, **PRICES)
    return await chat.open()


async def total(chat: Chat) -> Total:
    return await in_db(load_total, "conversation", chat.conversation.pk)


async def states(chat: Chat) -> list[str]:
    """Of the calls, in the order in which they were opened."""
    rows = ModelCall.objects.filter(conversation=chat.conversation.pk).order_by("pk")
    return await in_db(lambda: list(rows.values_list("state", flat=True)))


def used(message: Message) -> Usage:
    return Usage.from_api(message.usage)


async def booked(chat: Chat) -> Message:
    """The last message, of whose usage the conversation's only call tells the same."""
    message = await chat.last()
    booked = await total(chat)
    assert (booked.request_tokens, booked.output_tokens) == (
        used(message).request_tokens,
        used(message).output_tokens,
    )
    assert await states(chat) == ["lost" if is_estimated(message.usage) else "settled"]
    return message


async def stop(chat: Chat, tab: Tab) -> Message:
    tab.send("turn.stop")
    await tab.next("turn.finished", status="cancelled")
    return await booked(chat)


async def test_a_stopped_answer_is_booked_with_what_it_had_written(chat: Chat, tab: Tab) -> None:
    chat.script.stall(LONG)
    tab.say("Tell me")
    await tab.until(lambda: tab.answer and len(tab.text) > len(LONG) - 20)
    message = await stop(chat, tab)
    assert message.usage
    assert message.usage["estimated"] == "output"
    assert used(message).output_tokens >= LEAST
    assert used(message).request_tokens > 0
    assert (await total(chat)).dollars > Decimal(LEAST * 5) / 10**6
    page = (await chat.http.get(chat.conversation.get_absolute_url())).content.decode()
    assert page.count("about $") == 1
    assert "about " + str(used(message).request_tokens) in page


async def test_a_stream_that_is_cut_is_booked_too(chat: Chat, tab: Tab) -> None:
    chat.script.cut(LONG)
    tab.say("Tell me")
    await tab.next("turn.finished", status="failed")
    message = await booked(chat)
    assert used(message).output_tokens >= LEAST


async def test_an_answer_that_had_not_begun_costs_its_request_and_does_not_feed_the_meter(
    chat: Chat, tab: Tab
) -> None:
    gate = chat.script.stall()
    tab.say(LONG)
    await in_db(gate.reached.wait, PATIENCE)
    message = await stop(chat, tab)
    assert message.usage
    assert message.usage["estimated"] == "all"
    assert (used(message).request_tokens >= LEAST, used(message).output_tokens) == (True, 0)
    assert (await in_db(load_state, chat.conversation.pk)).last_reply is None


async def test_a_refused_request_costs_nothing(chat: Chat, tab: Tab) -> None:
    chat.script.error(529)
    tab.say("Tell me")
    await tab.next("turn.finished", status="failed")
    assert (await chat.last()).usage is None
    assert await total(chat) == Total()
    assert await states(chat) == ["settled"]


async def test_a_try_that_is_repeated_was_paid_for(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MODEL_RETRIES = 1
    monkeypatch.setattr(client, "RETRY_SECONDS", (0.0, 0.0))
    chat.script.error_event("overloaded_error").reply("At last.")
    await chat.start(2)
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="completed")
    message = await chat.last()
    assert message.text == "At last."
    assert (await total(chat)).request_tokens >= 2 * used(message).request_tokens - 5
    assert await states(chat) == ["lost", "settled"]


async def test_a_killed_process_leaves_the_cost_and_one_that_was_only_late_corrects_it(
    chat: Chat, tab: Tab
) -> None:
    gate = chat.script.stall(LONG, then="The end.")
    tab.say("Tell me")
    await chat.eventually(lambda message: used(message).output_tokens >= LEAST)

    @transaction.atomic
    def interrupt_as_another_process_does() -> None:
        Turn.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
        assert sweep.interrupt(Turn.objects.get().pk)

    await in_db(interrupt_as_another_process_does)
    killed = await booked(chat)
    assert killed.status == Message.Status.INTERRUPTED
    assert used(killed).output_tokens >= LEAST
    gate.release()
    message = await chat.eventually(lambda message: message.status == "complete")
    assert message.usage
    assert "estimated" not in message.usage
    await booked(chat)


async def test_an_answer_whose_end_cannot_be_stored_whole_is_booked_from_its_checkpoint(
    chat: Chat, tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise StopIteration("of a library that counts")

    chat.script.stall(LONG)
    tab.say("Tell me")
    await chat.eventually(lambda message: used(message).output_tokens >= LEAST)
    monkeypatch.setattr(endings, "load_state_for", fail)
    tab.send("turn.stop")
    await tab.next("turn.finished", status="failed")
    assert (await booked(chat)).status == Message.Status.FAILED


def test_a_process_that_is_killed_at_once_leaves_the_cost_of_the_request(user: User) -> None:
    make_profile(**PRICES)
    talk = make_conversation(owner=user, messages=2)
    requests.send_message(
        user, talk.pk, NewMessage(LONG), expected_head=None, holder="a dead process"
    )
    Turn.objects.update(lease_expires=timezone.now() - timedelta(seconds=1))
    assert sweep.sweep() == 1
    call = ModelCall.objects.get()
    assert (call.state, call.turn) == (ModelCall.State.LOST, Turn.objects.get().pk)
    assert call.input_tokens >= LEAST
    assert call.cost == Decimal(call.input_tokens) / 10**6


async def test_a_reply_that_is_dropped_for_a_shorter_request_was_paid_for(chat: Chat) -> None:
    await chat.start([long_text(number) for number in range(1, 7)], compaction_enabled=False)
    await in_db(make_profile, context_window=WINDOW, max_output=MAX_OUTPUT, **PRICES)
    full = ScriptedReply((), stop_reason="model_context_window_exceeded")
    chat.script.reply(full).reply("Here.")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="completed")
    message = await chat.last()
    assert (await total(chat)).request_tokens > 1.5 * used(message).request_tokens
    assert await states(chat) == ["settled", "settled"]


async def test_what_a_server_does_not_report_is_estimated(chat: Chat, tab: Tab) -> None:
    """Or a model that costs would be free, and no budget in tokens would hold."""
    nothing = dict.fromkeys(Usage().as_dict(), 0)
    calls = [text(LONG), tool_use("list_sources", {}, "toolu_1")]
    chat.script.reply(ScriptedReply(calls, usage=nothing))
    chat.script.reply(ScriptedReply([text(LONG)], usage=nothing))
    tab.say("Tell me")
    await tab.next("turn.finished", status="completed")
    assert await states(chat) == ["lost", "lost"]
    booked = await total(chat)
    assert booked.output_tokens >= 2 * LEAST
    assert booked.request_tokens > 0
    assert booked.dollars > 0


async def test_what_no_number_is_costs_what_was_written(chat: Chat, tab: Tab) -> None:
    chat.script.reply(ScriptedReply([text(LONG)], usage={"output_tokens": -5}))
    tab.say("Tell me")
    await tab.next("turn.finished", status="failed")
    assert (await total(chat)).output_tokens >= LEAST
    assert await states(chat) == ["lost"]


async def test_an_answer_costs_what_its_model_cost_when_it_was_asked(chat: Chat, tab: Tab) -> None:
    """To the last digit: 0.1 is a tenth."""
    tenth = dict.fromkeys(("input_price", "cache_read_price", "cache_write_price"), 0.1)
    await in_db(lambda: make_profile(**tenth, output_price=0.3))
    gate = chat.script.stall("Some words", then="More")
    tab.say("Tell me")
    await gate.wait_reached()
    await in_db(lambda: make_profile(input_price=1_000.0, output_price=1_000.0))
    gate.release()
    await tab.next("turn.finished", status="completed")
    booked = await total(chat)
    tenths = booked.request_tokens + 3 * booked.output_tokens
    assert booked.dollars == Decimal(tenths).scaleb(-7)


async def test_an_account_that_is_deleted_in_mid_answer_leaves_the_cost(
    chat: Chat, tab: Tab
) -> None:
    gate = chat.script.stall(LONG, then="More")
    tab.say("Tell me")
    await gate.wait_reached()
    live = runner.find_live(chat.conversation.pk)
    assert live
    assert live.task
    await in_db(chat.user.delete)
    gate.release()
    await asyncio.wait([live.task])
    row = await in_db(ModelCall.objects.get)
    assert (row.user_id, row.state) == (None, "settled")
    assert row.output_tokens >= LEAST
    assert row.cost > 0
