"""A giant that came from elsewhere: recorded by rule for nothing, answered for ten cents at most,
and read by a model when its owner has agreed to the price."""

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from agent.compaction.policy import Origin, Trigger
from agent.messages import Usage
from agent.search.lexical import parse_query
from chat import tasks
from chat.db.threads import in_db
from chat.engine.model_profiles import load_profile
from chat.engine.model_server import get_counter
from chat.engine.state import load_state
from chat.html.divider import render_divider
from chat.jobs.records import write_record
from chat.models import Compaction, Conversation, Message, Turn
from chat.queries.records import FIRST_REQUEST, find_offer
from chat.queries.search import find_messages
from chat.queries.summary_versions import plan_for, read_chapters
from chat.services.library import search_index
from chat.services.summary import compactions, gaps, records, summaries
from chat.services.turns import branches
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from spending.models import ModelCall
from spending.totals import load_total
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
    work,
)
from tests.chat.sockets import SUMMARY, Chat

pytestmark = pytest.mark.on_both

GIANT = 3_000_000  # tokens
LARGE = "large-model"  # the scripted server knows nothing of its window
BEGAN = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
PARAGRAPH = "Lorem ipsum went to the harbour, and the ledger was closed for the week. "
ANSWERS = [f"Entry {number}. " + PARAGRAPH * 600 for number in range(4)]
SEAL, SEALED = "Q-77123", 42  # what one answer says, and its number
# Prices for a million tokens: to read, to write, from the cache, into the cache.
OPUS = {"input_price": 4, "output_price": 20, "cache_read_price": 0.2, "cache_write_price": 5}
DEAREST = {"input_price": 10, "output_price": 50, "cache_read_price": 1, "cache_write_price": 12.5}


def ask(number: int) -> str:
    """What the user wrote in the exchange of that number."""
    if number == 7:
        return "Always answer me in metric units. Lorem ipsum?"
    if number == 11:
        return "We decided on the northern route, budget 48,200 EUR. Lorem ipsum?"
    return f"Question {number}: what is lorem ipsum of SH-{4000 + number}?"


def make_large_model(name: str = LARGE, **prices: float) -> None:
    make_profile(name, context_window=1_000_000, max_output=64_000, **prices)


def make_giant(owner: User, tokens: int = GIANT, model: str = LARGE) -> Conversation:
    """A thread of so many tokens, as an import leaves it: no turn has written its answers."""
    talk = make_conversation(owner=owner, title_edited=True, model=model)
    counts = [get_counter().count(text) for text in ANSWERS]
    rows: list[Message] = []
    total = 0
    while total < tokens:
        number = len(rows) // 2 + 1
        texts = (("user", ask(number), 15), ("assistant", ANSWERS[number % 4], counts[number % 4]))
        for role, text, count in texts:
            text += f" The seal is {SEAL}." if len(rows) + 1 == SEALED else ""
            block = {"type": "text", "text": text}
            place = {"number": len(rows) + 1, "position": len(rows)}
            rows.append(
                Message(
                    conversation=talk, role=role, blocks=[block], text=text, tokens=count, **place
                )
            )
            total += count
    stored = Message.objects.bulk_create(rows, batch_size=500)
    for row in stored:
        row.created_at = BEGAN + timedelta(hours=2 * row.number)
    Message.objects.bulk_update(stored, ["created_at"], batch_size=500)
    search_index.index_messages(owner.pk, stored)
    ends = {"next_number": len(rows) + 1, "meter_valid_from": len(rows) + 1}
    Conversation.objects.filter(pk=talk.pk).update(**ends)
    talk.refresh_from_db()
    return talk


def write_summary(*numbers: int) -> str:
    """A summary that the messages with those numbers bear out."""
    cited = " ".join(f"#{number}" for number in numbers)
    return SUMMARY.replace("[#1 #2]", f"[{cited}]")


def chapters_of(talk: Conversation) -> Any:
    talk.refresh_from_db()
    return read_chapters(talk.compaction)


def add_up_bill(server: DemoServer) -> Decimal:
    """What the server's bill comes to, at the prices of the tests' model."""
    profile = load_profile(LARGE)
    return sum(
        (profile.price(Usage.from_api(call.usage)) for call in server.script.bill), Decimal(0)
    )


# --- The first turn -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prices", "recorded"), [(DEAREST, True), (OPUS, False)], ids=["dearest", "not recorded yet"]
)
@pytest.mark.usefixtures("worker")
async def test_the_first_turn_of_a_giant_costs_ten_cents_at_most(
    chat: Chat, model_server: DemoServer, prices: dict[str, float], recorded: bool
) -> None:
    await in_db(make_large_model, token_factor=1.5, **prices)
    chat.conversation = await in_db(make_giant, chat.user)
    if recorded:
        assert await in_db(write_record, chat.conversation.pk)
    answer = "The shipment arrived. " * 50
    model_server.script.reply(answer, when=is_chat)
    tab = await chat.open()
    tab.say("Which route did we decide on?")
    finished = await tab.next("turn.finished")
    assert finished["status"] == "completed"

    (request,) = model_server.script.requests
    assert not model_server.script.count_requests
    bill = await in_db(add_up_bill, model_server)
    assert Decimal(0) < bill <= Decimal("0.10")
    sent = json.dumps(request.body, ensure_ascii=False)
    assert "northern route, budget 48,200 EUR" in sent, "what was settled"
    assert "Always answer me in metric units." in sent, "what holds"
    assert "1 March 2024" in sent or "March 2024)" in sent, "when it was"
    assert sent.count(PARAGRAPH) < 10
    version = await in_db(lambda: Compaction.objects.get(conversation=chat.conversation))
    assert (version.status, version.method) == ("completed", "extract")
    assert (await in_db(load_total, "conversation", chat.conversation.pk)).dollars == bill


# --- The record -----------------------------------------------------------------------------------


@pytest.fixture
def giant(user: User, settings: Any, model_port: int) -> Conversation:
    """Recorded, and small enough for quick tests: ten chapters' worth."""
    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{model_port}"
    make_large_model(**OPUS)
    talk = make_giant(user, 1_000_000)
    assert write_record(talk.pk)
    talk.refresh_from_db()
    return talk


def test_a_record_has_chapters_with_days_that_cover_everything(giant: Conversation) -> None:
    chapters = chapters_of(giant)
    assert len(chapters) >= 5
    assert all(chapter.by_rule and chapter.days for chapter in chapters)
    assert chapters[0].first == 1
    assert giant.compressed_through
    assert chapters[-1].through == giant.compressed_through.number
    ends = [chapter.through + 1 for chapter in chapters[:-1]]
    assert ends == [chapter.first for chapter in chapters[1:]]
    shown = render_divider(giant.compaction)
    assert "A record by rule; nothing was spent." in shown
    assert not ModelCall.objects.exists()


def test_search_finds_what_the_record_lost(giant: Conversation) -> None:
    assert SEAL not in (giant.compressed_context or "")
    found = find_messages(giant.owner_id, parse_query(SEAL), conversation_id=giant.pk)
    assert found[0].number == SEALED


def test_nothing_else_is_recorded_by_rule(user: User) -> None:
    make_large_model(**OPUS)
    make_large_model("free-model", input_price=0, output_price=0)
    small = make_giant(user, 50_000)
    assert not write_record(small.pk)
    free = make_giant(user, 200_000, model="free-model")
    assert not write_record(free.pk), "a model that costs nothing reads so much"
    assert not Compaction.objects.exists()


def test_a_dearer_model_gets_a_smaller_record(giant: Conversation) -> None:
    make_large_model("dearest-model", **DEAREST)
    before = load_state(giant.pk).used
    switched = summaries.switch_model(giant, "dearest-model", holder=HOLDER)
    assert switched
    work(switched.compaction_id)
    after = load_state(giant.pk)
    assert after.context.summary
    assert after.used < before
    assert after.profile.prices.dearest(after.used, "5m") <= FIRST_REQUEST * 2
    assert not ModelCall.objects.exists()


def test_what_was_said_since_is_summarised_by_the_model_and_what_came_from_elsewhere_is_not(
    giant: Conversation, model_server: DemoServer
) -> None:
    before = chapters_of(giant)
    turn = make_turn(giant, status=Turn.Status.COMPLETED)
    add_messages(giant, ["Here and now. " + PARAGRAPH * 400] * 30, turn=turn)
    model_server.script.reply(write_summary(giant.next_number - 30), when=is_summary)
    state = load_state(giant.pk)
    planned = plan_for(state)
    assert planned
    running = make_turn(giant)
    begun = compactions.begin(
        state, planned, Trigger.AUTO, turn_id=running.pk, previous=giant.compaction
    )
    work(begun.pk)
    (request,) = model_server.script.requests
    read = [int(number) for number in re.findall(r"\[#(\d+) (?:user|assistant)", str(request.body))]
    assert read
    assert min(read) > giant.record_through, "nothing from elsewhere"
    chapters = chapters_of(giant)
    assert [chapter.by_rule for chapter in chapters[len(before) :]][-1] is False
    assert "record by rule" in render_divider(giant.compaction)


def test_a_deleted_message_has_its_chapter_recorded_anew_for_nothing(
    giant: Conversation, model_server: DemoServer
) -> None:
    branches.delete_message(giant.owner, giant.pk, giant.messages.get(number=3).pk)
    assert chapters_of(giant)[0].gap
    tasks.rebuild(str(giant.pk))
    first = chapters_of(giant)[0]
    assert (first.gap, first.by_rule) == (False, True)
    assert "Question" in first.text
    assert not model_server.script.requests


def test_a_record_that_nobody_waits_for_any_more_is_given_up(user: User) -> None:
    make_large_model(**OPUS)
    talk = make_giant(user, 1_000_000)
    begun = records.begin_record(talk.pk)
    assert begun
    compactions.fail(begun, compactions.CANCELLED, cancelled=True)
    work(begun)
    talk.refresh_from_db()
    assert talk.compaction is None


# --- The offer ------------------------------------------------------------------------------------


def address(talk: Conversation) -> str:
    assert talk.compaction_id
    return reverse("summary_record", args=[talk.pk, talk.compaction_id])


def test_its_owner_agrees_and_a_model_writes_the_chapters_for_about_the_price(
    giant: Conversation, client: Client, model_server: DemoServer
) -> None:
    client.force_login(giant.owner)
    offer = find_offer(giant.compaction)
    assert offer
    assert offer.cost
    asked = client.get(address(giant)).content.decode()
    assert f"≈ ${offer.cost:.2f}" in asked
    assert "Write the summary with Large model: about" in render_divider(giant.compaction)
    assert not model_server.script.requests

    number = len(chapters_of(giant))
    for chapter in chapters_of(giant):
        model_server.script.reply(write_summary(chapter.first), when=is_summary)
    assert client.post(address(giant), {"wanted": "read"}).status_code == 204
    gaps.forget_change(giant.pk)
    tasks.rebuild(str(giant.pk))

    assert not any(chapter.by_rule for chapter in chapters_of(giant))
    assert (giant.record_through, giant.record_agreed_at) == (0, None)
    assert len(model_server.script.requests) == number
    assert "by rule" not in render_divider(giant.compaction)
    spent = load_total("conversation", giant.pk).dollars
    assert spent == add_up_bill(model_server)
    assert float(offer.cost) == pytest.approx(float(spent), rel=0.35)
    assert {call.kind for call in ModelCall.objects.all()} <= {"summary", "correction"}
    rebuilt = giant.compactions.filter(origin=Origin.REBUILT)
    assert {row.trigger for row in rebuilt} == {Trigger.MANUAL}


def test_where_a_chapter_fails_no_more_is_spent_and_its_owner_is_asked_again(
    giant: Conversation, model_server: DemoServer
) -> None:
    assert giant.compaction_id
    records.agree(giant.compaction_id)
    model_server.script.error(401)
    tasks.rebuild(str(giant.pk))
    giant.refresh_from_db()
    assert giant.record_agreed_at is None
    assert len(model_server.script.requests) == 1
    shown = render_divider(giant.compaction)
    assert "the API key was not accepted" in shown
    assert "Write the summary with" in shown


def test_its_owner_stops_and_what_is_written_stays(
    giant: Conversation, client: Client, model_server: DemoServer
) -> None:
    client.force_login(giant.owner)
    assert giant.compaction_id
    records.agree(giant.compaction_id)
    model_server.script.reply(write_summary(1), when=is_summary)
    begun = gaps.begin_rebuild(giant.pk)
    assert begun
    work(begun)
    assert "1 of " in render_divider(Compaction.objects.get(pk=giant.compaction_id))
    assert client.post(address(giant), {"wanted": "stop"}).status_code == 204
    tasks.rebuild(str(giant.pk))
    assert [chapter.by_rule for chapter in chapters_of(giant)].count(False) == 1
    assert len(model_server.script.requests) == 1
    assert "Write the rest with" in render_divider(giant.compaction)


def test_only_its_owner_agrees(giant: Conversation, client: Client) -> None:
    client.force_login(make_user())
    assert client.get(address(giant)).status_code == 404
    assert client.post(address(giant), {"wanted": "read"}).status_code == 404
    giant.refresh_from_db()
    assert giant.record_agreed_at is None
