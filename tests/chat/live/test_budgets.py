"""Budgets as people meet them: what waits, what is refused, what is cut, and what is told."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from accounts.kept import KEPT_SECONDS
from accounts.models import User
from agent.compaction.policy import Method
from chat.db.threads import in_db
from chat.errors import Refused
from chat.html.budget_line import load_budget_line
from chat.jobs.budget_mail import mail_budget_word
from chat.live import budget_queue
from chat.live.admission import Sender
from chat.live.runner import runner
from chat.models import Compaction, Conversation, Message, ModelProfile, Turn
from chat.models.notices import Notice
from chat.services.turns import requests, sweep
from chat.services.turns.turns import NewMessage
from demo.api.protocol import ScriptedReply, text, tool_use
from spending.amounts import NANO
from spending.budget_changes import set_budgets
from spending.budgets import LEAST_TOKENS
from spending.models import BudgetCounter, ModelCall, Period, Unit
from tests.chat.factories import make_conversation, make_profile, make_user
from tests.chat.sockets import PLAIN, Chat, long_text
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.on_both

MONTHLY = (Period.MONTH, Unit.MONEY)
TOKENS_A_DAY = (Period.DAY, Unit.TOKENS)


def allow(limit: Decimal | int | None, user: User | None = None, key: Any = MONTHLY) -> None:
    set_budgets(None, {key: Decimal(limit) if limit is not None else None}, user=user)


def read_held() -> list[int]:
    return list(BudgetCounter.objects.values_list("held", flat=True))


async def count_open_calls() -> int:
    return await in_db(ModelCall.objects.filter(state=ModelCall.State.OPEN).count)


# --- Refused --------------------------------------------------------------------------------------


async def test_a_send_is_refused_and_after_a_raise_it_is_answered(chat: Chat) -> None:
    await in_db(allow, 0, chat.user)
    tab = await chat.open()
    client_id = tab.say("Hello?")
    refusal = await tab.next("error", client_id=client_id)
    assert (refusal["code"], refusal["retryable"]) == ("budget_used", False)
    assert "Your budget is zero" in refusal["message"]
    assert "search and export work as before" in refusal["message"]
    assert await in_db(Turn.objects.count) == 0
    await in_db(allow, 5, chat.user)
    chat.script.reply("Hello!")
    tab.say("Hello again?")
    await tab.next("turn.finished", status="completed")
    assert await in_db(read_held) == [0]


async def test_a_turn_ends_with_what_it_has_between_two_rounds(chat: Chat) -> None:
    await in_db(lambda: make_profile(max_output=300))
    await in_db(allow, 9_000, chat.user, TOKENS_A_DAY)
    calls = [text("I look it up."), tool_use("list_sources", {}, "toolu_1")]
    chat.script.reply(ScriptedReply(calls, usage={"input_tokens": 9_000}))
    tab = await chat.open()
    tab.say("What is known?")
    finished = await tab.next("turn.finished")
    assert finished["status"] == "failed"
    assert finished["error"]["code"] == "budget_used"
    of_turn = Message.objects.filter(turn=finished["turn_id"])
    said = await in_db(lambda: "".join(of_turn.values_list("text", flat=True)))
    assert "I look it up." in said
    assert await in_db(read_held) == [0]


async def test_over_http_the_words_of_the_refusal_come(chat: Chat) -> None:
    await in_db(allow, 0)
    answer = await chat.http.post(
        reverse("conversation_create"),
        {"text": "Hi", "model": "test-model"},
        headers={"x-requested-with": "fetch"},
    )
    assert "whole site is zero" in answer.content.decode()
    assert answer.status_code == 422


# --- Shortened ------------------------------------------------------------------------------------


async def test_an_answer_is_asked_for_shorter_and_says_so_where_it_is_cut(chat: Chat) -> None:
    await in_db(lambda: make_profile(max_output=1_024, tools=False))
    await in_db(allow, 2_000, chat.user, TOKENS_A_DAY)
    chat.script.reply(ScriptedReply([text("As far as it g")], stop_reason="max_tokens"))
    tab = await chat.open()
    tab.say("Tell me all")
    finished = await tab.next("turn.finished", status="completed")
    asked = chat.script.requests[-1].body["max_tokens"]
    assert LEAST_TOKENS <= asked < 1_024
    turn = await in_db(Turn.objects.get, pk=finished["turn_id"])
    assert turn.notice == Notice.CUT_BY_BUDGET


@pytest.mark.usefixtures("worker")
async def test_a_summary_that_no_budget_is_left_for_is_an_extract(chat: Chat) -> None:
    """The answer that it makes room for can still be paid."""
    await in_db(ModelProfile.objects.update, tools=False)
    history = [long_text(number) for number in range(1, 11)]
    await chat.start(history, compaction_settings=PLAIN | {"extract_on_failure": True})
    await in_db(allow, Decimal("0.025"), chat.user)
    chat.script.reply("Of course.")
    tab = await chat.open()
    tab.say("And now?")
    await tab.next("turn.finished", status="completed")
    assert len(chat.script.requests) == 1
    compaction = await in_db(Compaction.objects.get)
    assert compaction.method == Method.EXTRACT


@pytest.mark.parametrize("most", [1, LEAST_TOKENS - 1, LEAST_TOKENS, LEAST_TOKENS + 1])
async def test_a_model_that_writes_little_is_asked_for_no_more(chat: Chat, most: int) -> None:
    await in_db(lambda: make_profile(max_output=most, tools=False))
    await in_db(allow, 1_000, chat.user, TOKENS_A_DAY)
    chat.script.reply("Hi.")
    tab = await chat.open()
    tab.say("Hello?")
    await tab.next("turn.finished", status="completed")
    assert chat.script.requests[-1].body["max_tokens"] == min(most, LEAST_TOKENS)


async def test_a_shortened_answer_thinks_only_where_there_is_room(chat: Chat) -> None:
    """The scripted server refuses what the API would."""
    model = "claude-sonnet-4-5"
    kinds = ["enabled", "disabled"]
    await in_db(lambda: make_profile(model, max_output=8_192, tools=False, thinking_types=kinds))
    await chat.start(2, model=model, reply_settings={"thinking": "on"})
    chat.script.reply("Hi.", always=True)
    tab = await chat.open()
    thought = []
    for limit in (14_000, 4_000):
        await in_db(allow, limit, chat.user, TOKENS_A_DAY)
        tab.say("Hello?")
        await tab.next("turn.finished", status="completed")
        thought.append("thinking" in chat.script.requests[-1].body)
    assert thought == [True, False]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("is_allowed", [True, False])
async def test_a_compaction_without_any_budget_is_an_extract_or_none(
    chat: Chat, is_allowed: bool, settings: Any
) -> None:
    history = [long_text(number) for number in range(1, 11)]
    await chat.start(history, compaction_settings=PLAIN | {"extract_on_failure": is_allowed})
    await in_db(allow, 0, chat.user)
    if settings.SCALED:
        await asyncio.sleep(KEPT_SECONDS)  # until a worker in a process of its own knows of it
    tab = await chat.open()
    tab.send("compact")
    await tab.next("turn.finished", status="completed" if is_allowed else "failed")
    compaction = await in_db(Compaction.objects.get)
    assert compaction.status == ("completed" if is_allowed else "failed")
    assert not chat.script.requests


async def test_a_budget_that_is_deleted_while_a_call_holds_of_it_is_right_again(
    chat: Chat,
) -> None:
    gate = chat.script.stall("Some words", then="More")
    await in_db(allow, 5, chat.user)
    tab = await chat.open()
    tab.say("Hello?")
    await gate.wait_reached()
    await in_db(lambda: set_budgets(None, {}, user=chat.user))
    gate.release()
    await tab.next("turn.finished", status="completed")
    await in_db(allow, 2, chat.user)
    counter, row = await in_db(BudgetCounter.objects.get), await in_db(ModelCall.objects.get)
    assert (counter.spent, counter.held) == (row.cost * NANO, 0)


# --- Waiting --------------------------------------------------------------------------------------


async def test_a_send_waits_until_a_running_answer_gives_back(
    chat: Chat, endless_minute: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Its tries count as one message."""
    monkeypatch.setattr(budget_queue, "LOOK_SECONDS", 0.01)
    settings.MESSAGES_PER_MINUTE = 2
    await in_db(lambda: make_profile(max_output=300, tools=False))
    await in_db(allow, 600, chat.user, TOKENS_A_DAY)
    other = await in_db(
        lambda: make_conversation(chat.user, title_edited=True, compaction_settings=PLAIN)
    )
    chat.script.reply("First.", delay_s=0.5).reply("Second.")
    first, second = await chat.open(), await chat.open(other)
    first.say("One")
    await first.next("turn.started")
    second.say("Two")
    told = await second.next("send.waiting")
    assert "give back" in told["why"]
    await first.next("turn.finished", status="completed")
    await second.next("turn.finished", status="completed")
    assert await in_db(read_held) == [0]


async def test_of_two_hundred_at_once_as_many_are_answered_as_there_is_money_for(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Each holds some times what it costs, so that most wait for what comes back."""
    monkeypatch.setattr(budget_queue, "WAIT_SECONDS", 10 * PATIENCE)
    monkeypatch.setattr("chat.live.admission.LONGEST_WAIT", 10 * PATIENCE)
    settings.TURNS_AT_ONCE = settings.MESSAGES_PER_MINUTE = 1_000
    # A hundredth of a dollar each, whatever is counted of the request.
    await in_db(
        lambda: make_profile(
            max_output=300,
            tools=False,
            input_price=0.0,
            cache_read_price=0.0,
            cache_write_price=0.0,
            output_price=100.0,
        )
    )
    reply = ScriptedReply([text("Yes.")], usage={"input_tokens": 10, "output_tokens": 100})
    chat.script.reply(reply, always=True)
    cent, bound = Decimal("0.01"), Decimal("0.03")
    await in_db(allow, 36 * cent + bound)

    def make_talks() -> list[Conversation]:
        people = [make_user() for _ in range(40)]
        return [
            make_conversation(user, title_edited=True, compaction_settings=PLAIN)
            for user in people
            for _ in range(5)
        ]

    talks = await in_db(make_talks)

    async def send(talk: Conversation) -> str:
        try:
            await runner.begin(
                Sender(talk.owner_id),
                requests.send_message,
                talk.owner,
                talk.pk,
                NewMessage("Yes or no?"),
                expected_head=0,
                holder=runner.holder,
            )
        except Refused as refusal:
            return str(refusal.code)
        return "begun"

    ends = await asyncio.gather(*map(send, talks))
    async with asyncio.timeout(PATIENCE):
        while await count_open_calls():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.05)
    assert (ends.count("begun"), ends.count("budget_used")) == (37, 163)
    assert await in_db(Turn.objects.filter(status=Turn.Status.COMPLETED).count) == 37
    counter = await in_db(BudgetCounter.objects.get)
    assert (counter.spent, counter.held) == (370_000_000, 0)


def test_what_a_dead_holder_held_comes_back(conversation: Conversation) -> None:
    allow(5)
    new = NewMessage("Hello?")
    requests.send_message(
        conversation.owner, conversation.pk, new, expected_head=4, holder="killed"
    )
    [held] = read_held()
    assert held > 0
    Turn.objects.update(lease_expires=timezone.now())
    assert sweep.interrupt(Turn.objects.get().pk)
    counter = BudgetCounter.objects.get()
    call = ModelCall.objects.get()
    assert call.state == ModelCall.State.LOST
    assert (counter.held, counter.spent) == (0, int(call.cost * 10**9))


# --- Told -----------------------------------------------------------------------------------------


async def test_pages_tell_of_the_last_fifth_until_the_budget_is_raised(chat: Chat) -> None:
    await in_db(lambda: make_profile(max_output=300, tools=False))
    await in_db(allow, 1_000, chat.user, TOKENS_A_DAY)
    chat.script.reply(
        ScriptedReply([text("Yes.")], usage={"input_tokens": 800, "output_tokens": 50})
    )
    tab = await chat.open()
    tab.say("Yes or no?")
    told = await tab.next("budget.state")
    assert told["text"].startswith("92 % of your budget for today is spent: 92")
    page = await chat.http.get(f"/c/{chat.conversation.pk}/")
    assert told["text"] in page.content.decode()
    late = await chat.open(snapshot=False)  # whose page was made before that
    assert (await late.next("snapshot"))["budget"] == told["text"]
    await in_db(allow, 100_000, chat.user, TOKENS_A_DAY)
    assert (await tab.next("budget.state"))["text"] == ""
    assert await in_db(load_budget_line, chat.user) == ""


@pytest.fixture
def spent(user: User) -> User:
    """Somebody who has spent nine tenths of their budget, and a third of the site's."""
    ModelCall.objects.create(
        opened_at=timezone.now(),
        user=user,
        model="m",
        kind=ModelCall.Kind.ANSWER,
        state=ModelCall.State.SETTLED,
        cost=9,
    )
    allow(10, user)
    allow(30)
    return user


def test_mail_goes_to_the_person(spent: User, settings: Any) -> None:
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    User.objects.update(email="ada@example.org")
    mail_budget_word(spent.pk, *MONTHLY)
    mail_budget_word(None, *MONTHLY)  # of the site's, little is spent
    [sent] = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.body.startswith("90 % of your budget for this month is spent: $9.00 of $10.00.")
    assert "begins anew on" in sent.body


def test_of_the_sites_budget_administrators_are_told(spent: User, settings: Any) -> None:
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    User.objects.update(email="ada@example.org")
    administrator = make_user(admin=True)
    User.objects.filter(pk=administrator.pk).update(email="grace@example.org")
    allow(None, spent)
    allow(10)
    mail_budget_word(None, *MONTHLY)
    assert [each.to for each in mail.outbox] == [["grace@example.org"]]
    assert "site's budget" in load_budget_line(administrator)
    assert load_budget_line(spent) == ""


def test_without_a_mail_server_nothing_is_sent(spent: User, settings: Any) -> None:
    settings.MAIL = {}
    User.objects.update(email="ada@example.org")
    mail_budget_word(spent.pk, *MONTHLY)
    assert mail.outbox == []
