"""Who waits for a budget that running calls hold: what these do not spend comes back when they end.

Whoever waits here does so in memory, as in `chat.live.admission`: nothing of a send is stored yet,
and the page keeps its text.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.utils.translation import gettext_noop

from chat.services.people.budgets import WAIT_SECONDS
from spending.budgets import BudgetBusy
from spending.signals import call_ended

T = TypeVar("T")
Tell = Callable[[int], Awaitable[None]]

# A call may end in another process too.
LOOK_SECONDS = 0.5
WAITS = gettext_noop(
    "Your message waits until running answers give back what they hold of a budget."
)


@dataclass(eq=False, slots=True)
class _Place:
    """One that waits: for the site's budget, or else for the person's own."""

    user_id: int
    of_site: bool
    news: asyncio.Event = field(default_factory=asyncio.Event)


class BudgetQueue:
    """Those who come first begin first: of those who wait for the site's budget, and of each
    person's. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: list[_Place] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        call_ended.connect(self._hear)

    async def begin(
        self, user_id: int, begin: Callable[[], Awaitable[T]], tell: Tell | None = None
    ) -> T:
        """Await what begins a call; where that raises BudgetBusy, again and again in the order of
        coming, until WAIT_SECONDS. `tell` hears how many are before it. Raises BudgetBusy then."""
        place = _Place(user_id, of_site=False)
        if not self._count_before(place):
            try:
                return await begin()
            except BudgetBusy as busy:
                place.of_site = busy.state.user_id is None
        self._loop = asyncio.get_running_loop()
        self._waiting.append(place)
        try:
            return await self._wait(place, begin, tell)
        finally:
            self._waiting.remove(place)
            self._wake()

    async def _wait(self, place: _Place, begin: Callable[[], Awaitable[T]], tell: Tell | None) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        while True:
            before = self._count_before(place)
            if tell:
                await tell(before)
            await _wait_for(place.news, LOOK_SECONDS)
            place.news.clear()
            if self._count_before(place) and loop.time() < until:
                continue
            try:
                return await begin()
            except BudgetBusy as busy:
                place.of_site = busy.state.user_id is None
                if loop.time() >= until:
                    raise

    def _count_before(self, place: _Place) -> int:
        """How many of those who came earlier wait for the same."""
        count = 0
        for each in self._waiting:
            if each is place:
                break
            count += each.of_site or each.user_id == place.user_id
        return count

    def _hear(self, **_: Any) -> None:
        """A call has ended, in a thread of the database's."""
        if self._waiting and self._loop:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        """Let those try again whom nobody is before."""
        users: set[int] = set()
        for place in self._waiting:
            if place.user_id not in users:
                place.news.set()
            if place.of_site:
                break
            users.add(place.user_id)


async def _wait_for(news: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        pass


budget_queue = BudgetQueue()
