"""Who waits for a budget that running calls hold. None of this counts on speed."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from chat.live import budget_queue
from chat.live.budget_queue import BudgetQueue
from spending.budgets import BudgetBusy, BudgetState, BudgetUsed
from spending.models import Period, Unit
from spending.signals import call_ended
from tests.support.patience import PATIENCE

ADA, BOB = 1, 2


def make_state(user_id: int | None) -> BudgetState:
    ten = Decimal(10)
    resets_at = datetime(2026, 12, 1, tzinfo=UTC)
    return BudgetState(user_id, None, Period.MONTH, Unit.MONEY, ten, ten, ten, resets_at)


class Purse:
    """Money for so many calls, of the site or of each person."""

    def __init__(self, *, left: int = 0, of_site: bool = True) -> None:
        self.queue = BudgetQueue()
        self.left = left
        self.of_site = of_site
        self.begun: list[str] = []
        self.tries: list[str] = []
        self.told: list[int] = []
        self._news = asyncio.Condition()

    def send(self, name: str, user_id: int = ADA) -> "asyncio.Task[None]":
        async def begin() -> None:
            async with self._news:
                self.tries.append(name)
                self._news.notify_all()
            if self.left < 1:
                raise BudgetBusy(make_state(None if self.of_site else user_id))
            self.left -= 1
            self.begun.append(name)

        async def tell(before: int) -> None:
            async with self._news:
                self.told.append(before)
                self._news.notify_all()

        return asyncio.create_task(self.queue.begin(user_id, begin, tell))

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(met)

    def give_back(self, count: int = 1) -> None:
        """As a call does that ends in this process."""
        self.left += count
        call_ended.send(None)


@pytest.fixture(autouse=True)
def only_news_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_queue, "LOOK_SECONDS", 10 * PATIENCE)


async def test_what_comes_back_lets_them_begin_in_their_order() -> None:
    purse = Purse()
    sends = []
    for count, name in enumerate("abcde", 1):
        sends.append(purse.send(name, BOB if name == "c" else ADA))
        await purse.until(lambda count=count: len(purse.told) == count)
    assert purse.tries == ["a"]  # the others stand behind it
    for _ in sends:
        purse.give_back()
    await asyncio.wait_for(asyncio.gather(*sends), PATIENCE)
    assert purse.begun == [*"abcde"]


async def test_whoever_waits_for_their_own_budget_holds_nobody_else_up() -> None:
    purse = Purse(of_site=False)
    waiting = purse.send("a", ADA)
    await purse.until(lambda: purse.told == [0])
    behind = purse.send("b", ADA)
    await purse.until(lambda: purse.told == [0, 1])
    assert purse.tries == ["a"]
    purse.left = 1
    await asyncio.wait_for(purse.send("c", BOB), PATIENCE)
    assert purse.begun == ["c"]
    purse.give_back(2)
    await asyncio.wait_for(asyncio.gather(waiting, behind), PATIENCE)
    assert purse.begun == ["c", "a", "b"]


async def test_a_call_that_ends_elsewhere_is_found_by_looking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget_queue, "LOOK_SECONDS", 0.01)
    purse = Purse()
    send = purse.send("a")
    await purse.until(lambda: len(purse.tries) > 1)
    purse.left = 1
    await asyncio.wait_for(send, PATIENCE)


async def test_who_has_waited_for_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_queue, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(budget_queue, "WAIT_SECONDS", 0.05)
    purse = Purse()
    with pytest.raises(BudgetBusy):
        await asyncio.wait_for(purse.send("a"), PATIENCE)
    purse.left = 1
    await asyncio.wait_for(purse.send("b"), PATIENCE)  # nobody is left in the line


async def test_who_leaves_makes_room() -> None:
    purse = Purse()
    first = purse.send("a")
    await purse.until(lambda: purse.told == [0])
    second = purse.send("b")
    await purse.until(lambda: purse.told == [0, 1])
    purse.left = 1
    first.cancel()
    await asyncio.wait_for(second, PATIENCE)
    assert purse.begun == ["b"]


async def test_what_is_used_up_does_not_wait() -> None:
    queue = BudgetQueue()

    async def begin() -> None:
        raise BudgetUsed(make_state(ADA))

    with pytest.raises(BudgetUsed):
        await asyncio.wait_for(queue.begin(ADA, begin), PATIENCE)
