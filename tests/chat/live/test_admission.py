"""The queue in front of the beginning of a turn. None of this counts on speed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from django.contrib.sessions.models import Session

from chat import metrics
from chat.db.threads import in_db
from chat.errors import RefusalCode, Refused
from chat.live import admission
from chat.live.admission import AT_ONCE, Admission, Sender
from chat.live.runner import runner
from chat.models import Message, Turn
from tests.chat.counts import read_count
from tests.chat.sockets import Chat
from tests.support.patience import PATIENCE

BY, OTHER = 1, 2  # users


class Line:
    """People who begin turns, each of which goes on until it is told to end."""

    def __init__(self) -> None:
        self.admission = Admission()
        self.began: list[str] = []
        self.told: list[int] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._news = asyncio.Condition()

    def send(self, name: str, user_id: int = BY) -> asyncio.Task[None]:
        """`await asyncio.sleep(0)` lets what was sent arrive."""
        self._ends[name] = asyncio.Event()
        return asyncio.create_task(self._begin(name, user_id))

    async def _begin(self, name: str, user_id: int) -> None:
        async with self.admission.admit(Sender(user_id, self._tell)):
            async with self._news:
                self.began.append(name)
                self._news.notify_all()
            await self._ends[name].wait()

    async def _tell(self, before: int) -> None:
        async with self._news:
            self.told.append(before)
            self._news.notify_all()

    async def until(self, met: Any) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(met)

    async def end(self, name: str) -> None:
        """End a turn's beginning once it has begun."""
        await self.until(lambda: name in self.began)
        self._ends[name].set()

    async def end_all(self, *, but: int = 0) -> list[str]:
        """End them one by one, `but` so many that never begin; the order in which they began."""
        for number in range(len(self._ends) - but):
            await self.until(lambda number=number: len(self.began) > number)
            self._ends[self.began[number]].set()
        return self.began

    async def fill(self) -> list[str]:
        """As many as may begin at once, who have begun."""
        names = [f"first {number}" for number in range(AT_ONCE)]
        for name in names:
            self.send(name, user_id=0)
        await self.until(lambda: len(self.began) == AT_ONCE)
        return names


@pytest.fixture
def line() -> Line:
    return Line()


async def test_who_finds_nobody_before_it_begins_without_giving_way_to_the_loop(line: Line) -> None:
    entering = line.admission.admit(Sender(BY))
    with pytest.raises(StopIteration):  # it ends at its first step: nothing was waited for
        entering.__aenter__().send(None)


async def test_no_more_than_so_many_begin_at_once(line: Line) -> None:
    await line.fill()
    line.send("next")
    await asyncio.sleep(0)
    assert line.admission.count_waiting() == 1
    assert len(line.began) == AT_ONCE
    await line.end(line.began[0])
    await line.end("next")


async def test_users_take_turns_however_much_one_of_them_sends(line: Line) -> None:
    first = await line.fill()
    for name, user_id in (("a1", BY), ("a2", BY), ("a3", BY), ("b1", OTHER), ("c1", 3)):
        line.send(name, user_id)
    await asyncio.sleep(0)
    line.send("b2", OTHER)
    assert await line.end_all() == [*first, "a1", "b1", "c1", "a2", "b2", "a3"]


async def test_a_sender_hears_how_many_are_before_it(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "TELL_SECONDS", 0.01)
    await line.fill()
    for name, user_id in (("a1", BY), ("a2", BY), ("b1", OTHER), ("b2", OTHER), ("c1", 3)):
        line.send(name, user_id)
    await line.until(lambda: {0, 1, 2, 3, 4} <= set(line.told))
    assert set(line.told) == {0, 1, 2, 3, 4}
    began = await line.end_all()  # two that are let in at a time may begin in any order
    assert sorted(began[AT_ONCE:]) == ["a1", "a2", "b1", "b2", "c1"]


async def test_one_that_goes_away_is_passed_over(line: Line) -> None:
    first = await line.fill()
    line.send("a1")
    left = line.send("a2")
    line.send("b1", OTHER)
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.wait({left})
    assert await line.end_all(but=1) == [*first, "a1", "b1"]


async def test_one_that_goes_away_as_it_is_let_in_leaves_its_place_to_the_next(line: Line) -> None:
    first = await line.fill()
    left = line.send("a1")
    line.send("b1", OTHER)
    await asyncio.sleep(0)
    (place,) = line.admission._waiting[BY]
    place.decided.add_done_callback(lambda _: left.cancel())
    await line.end(first[0])
    await line.end("b1")
    assert left.cancelled()
    assert "a1" not in line.began


async def test_no_more_than_so_many_wait(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MOST_WAITING", 1)
    await line.fill()
    line.send("a1")
    await asyncio.sleep(0)
    with pytest.raises(Refused) as refusal:
        await line.send("b1", OTHER)
    assert refusal.value.code == RefusalCode.SERVER_BUSY
    assert refusal.value.retryable
    await line.end_all(but=1)


async def test_a_user_may_wait_for_as_many_turns_as_may_run_and_takes_no_others_place(
    line: Line, settings: Any
) -> None:
    settings.TURNS_AT_ONCE = 2
    await line.fill()
    for name in ("a1", "a2"):
        line.send(name)
    await asyncio.sleep(0)
    with pytest.raises(Refused):
        await line.send("a3")
    line.send("b1", OTHER)
    await line.end_all(but=1)
    assert line.began[AT_ONCE:] == ["a1", "b1", "a2"]


async def test_nobody_waits_for_ever(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(admission, "TELL_SECONDS", 0.01)
    await line.fill()
    with pytest.raises(Refused) as refusal:
        await line.send("a1")
    assert refusal.value.code == RefusalCode.SERVER_BUSY
    assert line.admission.count_waiting() == 0


async def test_the_next_waits_while_the_loop_is_late_but_not_for_ever(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MOST_LAG", -1.0)  # always late
    monkeypatch.setattr(admission, "LONGEST_PAUSE", 0.05)
    late: list[float] = []
    go_on = line.admission._go_on

    def noted(due: float, until: float) -> None:
        late.append(due)
        assert due <= until + 0.001
        go_on(due, until)

    monkeypatch.setattr(line.admission, "_go_on", noted)
    await line.fill()
    line.send("next")
    await asyncio.sleep(0)
    await line.end(line.began[0])
    await line.end("next")
    assert late


async def test_a_server_that_stops_refuses_who_waits_and_who_comes(line: Line) -> None:
    first = await line.fill()
    waiting = line.send("a1")
    await asyncio.sleep(0)
    line.admission.close()
    for refused in (waiting, line.send("a2")):
        with pytest.raises(Refused) as refusal:
            await refused
        assert refusal.value.code == RefusalCode.SHUTTING_DOWN
    for name in first:  # what has begun is not disturbed
        await line.end(name)
    assert line.began == first


async def test_waits_are_counted(line: Line) -> None:
    before = read_count(metrics.TURN_WAITS)
    await line.fill()
    await line.end_all()
    assert read_count(metrics.TURN_WAITS) == before + AT_ONCE


# --- On the page ----------------------------------------------------------------------------------


@asynccontextmanager
async def held() -> AsyncIterator[None]:
    """Others begin turns meanwhile, as many as may at once."""
    async with AsyncExitStack() as stack:
        for _ in range(AT_ONCE):
            await stack.enter_async_context(runner.admission.admit(Sender(0)))
        yield


async def test_a_message_that_waits_is_told_so_and_then_answered(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "TELL_SECONDS", 0.01)
    chat.script.reply("Here you are.")
    tab = await chat.open()
    async with held():
        sent = tab.say("Hello")
        told = await tab.next("send.waiting")
        assert (told["client_id"], told["before"]) == (sent, 0)
        assert await in_db(Message.objects.filter(client_id=sent).count) == 0
    await tab.next("message.created", client_id=sent)
    await tab.next("turn.finished", status="completed")


def sign_out(chat: Chat) -> None:
    Session.objects.get(pk=chat.cookie).delete()


def disable(chat: Chat) -> None:
    chat.user.is_active = False
    chat.user.save()


@pytest.mark.parametrize("end", [sign_out, disable])
async def test_whose_session_ends_while_they_wait_begins_nothing(
    chat: Chat, end: Callable[[Chat], None]
) -> None:
    answer = await chat.last()
    tab = await chat.open()
    regenerate = f"/c/{chat.conversation.pk}/messages/{answer.pk}/regenerate/"
    async with held():
        posted = asyncio.create_task(chat.http.post(regenerate))
        tab.send("compact")
        async with asyncio.timeout(PATIENCE):
            while runner.admission.count_waiting() < 2:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.01)
        await in_db(end, chat)
    assert (await posted).status_code == 403
    await tab.until(lambda: tab.closed_with)
    assert not await in_db(Turn.objects.exists)
    assert chat.script.requests == []


async def test_a_message_that_waits_while_the_server_stops_is_refused_and_not_stored(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "TELL_SECONDS", 0.01)
    tab = await chat.open()
    async with held():
        sent = tab.say("Hello")
        await tab.next("send.waiting")
        await runner.drain()
        refused = await tab.next("error", code="shutting_down")
        assert (refused["client_id"], refused["retryable"]) == (sent, True)
    assert not await in_db(Turn.objects.exists)


async def test_a_busy_server_says_so_over_http(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MOST_WAITING", 0)
    async with held():
        response = await chat.http.post("/c/", {"text": "Hello"}, headers={"x-requested-with": "1"})
    assert response.status_code == 503
    assert int(response["Retry-After"]) > 0
    assert "Your text is kept" in response.content.decode()
