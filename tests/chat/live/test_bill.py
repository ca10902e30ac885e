"""What the site books, against the bill that the scripted server keeps: a thousand turns in which
everything happens."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from agent.compaction.policy import Trigger
from agent.messages import Usage
from agent.model import client
from chat import tasks
from chat.db.threads import in_db
from chat.engine.model_server import close_clients
from chat.engine.state import load_state
from chat.live.live_turn import LiveTurn
from chat.live.runner import Runner
from chat.models import Conversation, Turn
from chat.queries.summary_versions import plan_for
from chat.services.library.conversations import delete_conversation
from chat.services.summary import compactions, summaries
from chat.services.turns import requests, sweep
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from demo.api.protocol import ScriptedReply, text, tool_use
from demo.api.script import Script, is_chat, is_summary, is_title
from demo.api.server import DemoServer
from spending.calls import read_usage
from spending.models import ModelCall
from tests.chat.factories import HOLDER, make_conversation, make_profile, work
from tests.chat.sockets import MAX_OUTPUT, PLAIN, SUMMARY, WINDOW, long_text

pytestmark = pytest.mark.on_both

# Of PostgreSQL the fifth part: each statement crosses a socket.
TURNS = {"sqlite": 1_000, "postgresql": 200}
WORDS = "lorem ipsum dolor sit amet " * 8
State = ModelCall.State


class Vanishing(Runner):
    """A process that is killed: it stores no end of a turn."""

    async def _store_end(self, live: LiveTurn, ending: TurnOutcome) -> None:
        return None


@dataclass
class Life:
    """What happens on a site, one turn after the other."""

    user: User
    script: Script
    random: Random
    runner: Runner = field(default_factory=Runner)
    vanishing: Vanishing = field(default_factory=Vanishing)
    conversation: Conversation | None = None
    stopped_at_once: int = 0

    async def begin(self, runner: Runner | None = None) -> LiveTurn:
        """Begin a turn, now and then in a new conversation."""
        if self.conversation is None or self.random.random() < 0.1:
            self.conversation = await in_db(make_conversation, owner=self.user, title_edited=True)
        opening = await in_db(
            requests.send_message,
            self.user,
            self.conversation.pk,
            NewMessage(WORDS[: self.random.randrange(4, 200)]),
            expected_head=None,
            holder=HOLDER,
        )
        assert opening
        runner = runner or self.runner
        runner.start(opening)
        live = runner.find_live(self.conversation.pk)
        assert live
        return live

    async def answer(self) -> None:
        await end(await self.begin())

    async def tools(self) -> None:
        for number in range(self.random.randrange(1, 3)):
            call = tool_use("search_history", {"query": "lorem"}, f"toolu_{number}")
            self.script.reply((text("I look."), call))
        await self.answer()

    async def pause(self) -> None:
        for words in ("One.", "Two.")[: self.random.randrange(1, 3)]:
            self.script.reply(ScriptedReply((text(words),), stop_reason="pause_turn"))
        await self.answer()

    async def search(self) -> None:
        usage = {"server_tool_use": {"web_search_requests": self.random.randrange(1, 4)}}
        self.script.reply(ScriptedReply((text("Found."),), usage=usage))
        await self.answer()

    async def cache_for_an_hour(self) -> None:
        kept = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 100}
        usage = {"cache_creation_input_tokens": 120, "cache_creation": kept}
        self.script.reply(ScriptedReply((text("Kept."),), usage=usage))
        await self.answer()

    async def retry(self) -> None:
        self.script.error(529)
        await self.answer()

    async def refuse(self) -> None:
        self.script.error(self.random.choice([400, 401, 404]))
        await self.answer()

    async def fail(self) -> None:
        self.script.error(529).error(500)
        await self.answer()

    async def break_off(self) -> None:
        match self.random.randrange(5):
            case 0:
                self.script.cut(WORDS)
            case 1:
                self.script.error_event(after_text=WORDS)
            case 2:
                self.script.drop(WORDS)
            case 3:
                self.script.drop()
            case 4:
                self.script.error_event()
        await self.answer()

    async def stop(self) -> None:
        gate = self.script.stall(self.random.choice([None, WORDS]), then=WORDS)
        live = await self.begin()
        await gate.wait_reached()
        self.runner.stop(live)
        await end(live)

    async def stop_at_once(self) -> None:
        live = await self.begin()
        for _ in range(self.random.randrange(1, 5)):
            await asyncio.sleep(0)
        self.runner.stop(live)
        self.stopped_at_once += 1
        await end(live)

    async def kill(self) -> None:
        gate = self.script.stall(self.random.choice([None, WORDS]), then=WORDS)
        live = await self.begin(self.vanishing)
        await gate.wait_reached()
        if self.random.random() < 0.7:
            await self.vanishing._checkpoint([live])
        await cancel(live)
        await in_db(self._interrupt, live.turn_id)

    async def return_late(self) -> None:
        """A sweep takes its process for dead, which then stores the whole answer."""
        gate = self.script.stall(WORDS, then=WORDS)
        live = await self.begin()
        await gate.wait_reached()
        await in_db(self._interrupt, live.turn_id)
        gate.release()
        await end(live)

    @transaction.atomic  # its keeper would extend the lease in between
    def _interrupt(self, turn_id: int) -> None:
        """As the sweep of another process."""
        Turn.objects.filter(pk=turn_id).update(lease_expires=timezone.now())
        assert sweep.interrupt(turn_id)

    async def delete(self) -> None:
        await self.answer()
        await self._delete()

    async def delete_within(self) -> None:
        gate = self.script.stall(WORDS, then=WORDS)
        live = await self.begin()
        await gate.wait_reached()
        await self._delete()
        gate.release()
        await end(live)

    async def _delete(self) -> None:
        assert self.conversation
        await in_db(delete_conversation, self.conversation)
        self.conversation = None

    async def name(self) -> None:
        talk = await in_db(make_conversation, owner=self.user)
        if self.random.random() < 0.2:
            self.script.cut("A ti", when=is_title)
        await in_db(tasks.suggest_title, str(talk.pk))

    async def summarise(self) -> None:
        match self.random.randrange(4):
            case 0:
                self.script.reply("No summary.", when=is_summary)
            case 1:
                self.script.error(404, endpoint="count_tokens")
            case 2:
                self.script.cut(SUMMARY[:100], when=is_summary)
        await in_db(self._summarise)

    def _summarise(self) -> None:
        talk = self._make_long()
        _, pk = summaries.open_compaction_turn(self.user, talk.pk, focus="", holder=HOLDER)
        work(pk)
        Turn.objects.filter(conversation=talk).update(status=Turn.Status.COMPLETED)

    async def prepare(self) -> None:
        await in_db(self._prepare)

    def _prepare(self) -> None:
        state = load_state(self._make_long().pk)
        planned = plan_for(state, Trigger.PREPARED)
        assert planned
        work(compactions.begin(state, planned, Trigger.PREPARED, turn_id=None, previous=None).pk)

    def _make_long(self) -> Conversation:
        history = [long_text(number) for number in range(1, 7)]
        return make_conversation(
            self.user, messages=history, title_edited=True, compaction_settings=PLAIN
        )


async def end(live: LiveTurn) -> None:
    assert live.task
    await asyncio.wait([live.task])


async def cancel(live: LiveTurn) -> None:
    """Until it is heard, as `Runner.stop` says: one that gets lost leaves a turn whose model is
    waited for, for two minutes."""
    assert live.task
    while not live.task.done():
        if not live.ending:
            live.task.cancel()
        await asyncio.wait([live.task], timeout=0.5)


# How often each happens.
CHANCES: dict[Callable[[Life], Awaitable[None]], int] = {
    Life.answer: 30,
    Life.tools: 10,
    Life.pause: 6,
    Life.search: 4,
    Life.cache_for_an_hour: 4,
    Life.retry: 6,
    Life.refuse: 6,
    Life.fail: 2,
    Life.break_off: 8,
    Life.stop: 6,
    Life.stop_at_once: 4,
    Life.kill: 6,
    Life.return_late: 4,
    Life.delete: 4,
    Life.delete_within: 2,
    Life.name: 4,
    Life.summarise: 2,
    Life.prepare: 1,
}


@pytest.fixture
def life(
    user: User, model_server: DemoServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Life:
    settings.MODEL_RETRIES, settings.COUNT_BY_PROBE, settings.MESSAGES_PER_MINUTE = 1, True, 10**6
    monkeypatch.setattr(client, "RETRY_SECONDS", (0.0, 0.0))
    make_profile(context_window=WINDOW, max_output=MAX_OUTPUT)
    model_server.api._strict = False  # what is sent back after a pause is a prefill to it
    script = model_server.script
    script.reply("A title", when=is_title, always=True)
    script.reply(SUMMARY, when=is_summary, always=True)
    script.reply(lambda asked: WORDS[: 20 + len(asked.raw) % 180], when=is_chat, always=True)
    return Life(user, script, Random(30))


async def test_a_thousand_turns_are_booked_as_they_are_billed(life: Life) -> None:
    try:
        for _ in range(TURNS[connection.vendor]):
            (happens,) = life.random.choices([*CHANCES], [*CHANCES.values()])
            await happens(life)
    finally:
        await close_clients()
    life.script.violations.clear()
    await in_db(compare_books_with_bill, life)


def compare_books_with_bill(life: Life) -> None:
    rows = list(ModelCall.objects.all())
    by_state = Counter(row.state for row in rows)
    assert set(by_state) == {State.SETTLED, State.LOST}
    assert {row.kind for row in rows} == {*ModelCall.Kind}
    assert {row.user_id for row in rows} == {life.user.pk}

    posts = len(life.script.requests) + len(life.script.count_requests)
    assert posts <= len(rows) <= posts + life.stopped_at_once, "no post without a row"

    bill = {call.request_id: call for call in life.script.bill}
    settled = [row for row in rows if row.state == State.SETTLED]
    billed = [row for row in settled if row.request_id]
    assert len({row.request_id for row in billed}) == len(billed) > TURNS[connection.vendor] / 2
    for row in billed:
        call = bill.pop(row.request_id)
        assert call.is_whole
        assert read_usage(row) == Usage.from_api(call.usage)
        assert row.cost == price(read_usage(row))
        assert row.search_cost == row.web_searches * Decimal("0.01")
    free = [row for row in settled if not row.request_id]
    assert not any(read_usage(row).total or row.cost for row in free), "refused, or not sent"

    lost = [row for row in rows if row.state == State.LOST]
    assert len(bill) <= len(lost) <= len(bill) + life.stopped_at_once
    assert len(lost) > TURNS[connection.vendor] / 20
    left = [Usage.from_api(call.usage) for call in bill.values()]
    booked = [read_usage(row) for row in lost]
    # What a server reports first is exact, what it had no time to say is estimated.
    read, asked = (sum(each.request_tokens for each in usages) for usages in (booked, left))
    assert read == pytest.approx(asked, rel=0.1)
    written, whole = (sum(each.output_tokens for each in usages) for usages in (booked, left))
    assert len(WORDS) < written <= whole
    assert all(row.cost == price(read_usage(row)) for row in lost)


def price(usage: Usage) -> Decimal:
    """US dollars at the prices of the tests' model: 2, 10, 0.2 and 2.5 a million tokens, and a
    search a cent. To keep a token for an hour costs twice the 2."""
    hour = usage.ephemeral_1h_input_tokens
    written = usage.cache_creation_input_tokens - hour
    tokens = (
        2 * usage.input_tokens
        + 10 * usage.output_tokens
        + Decimal("0.2") * usage.cache_read_input_tokens
        + Decimal("2.5") * written
        + 4 * hour
    )
    return tokens / 10**6 + usage.web_search_requests / Decimal(100)
