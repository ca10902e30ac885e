"""Who may begin a turn now: where many are stored at once, the threads that do it keep the event
loop from its work, and every answer that streams is late.

Whoever waits here does so in memory only. The page keeps what was typed until `message.created`
says that it is stored.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.utils.translation import gettext

from chat.errors import RefusalCode, Refused
from chat.metrics import TURN_WAITS

log = structlog.get_logger(__name__)

AT_ONCE = 2  # of four database threads: the others are for the ends of turns, checkpoints and pages
MOST_WAITING = 500  # as many as begin in LONGEST_WAIT at 25 a second
TELL_SECONDS = 1.0  # how often a sender hears how many are before it
LONGEST_WAIT = 20.0  # seconds; a page gives up its requests after 30
# Between two beginnings the loop does what is due. Where that made it later than MOST_LAG seconds,
# the next one waits on, but for no longer than LONGEST_PAUSE: streams do not starve it either.
PAUSE, MOST_LAG, LONGEST_PAUSE = 0.001, 0.1, 0.1


@dataclass(frozen=True, slots=True)
class Sender:
    """Who begins a turn. While it waits, `tell` hears how many begin before it, and why it waits if
    not for these. `check` raises where they may not begin any more; it is called in a database
    thread if they had to wait."""

    user_id: int
    tell: Callable[..., Awaitable[None]] | None = None
    check: Callable[[], None] | None = None


@dataclass(eq=False, slots=True)
class _Place:
    """One that waits. `decided`: whether it may begin; False: the server is stopping."""

    user_id: int
    decided: asyncio.Future[bool]

    @property
    def is_inside(self) -> bool:
        return self.decided.done() and self.decided.result()


class Admission:
    """Lets AT_ONCE turns begin at a time. Users take turns: whoever sends one message does not wait
    for all those of another. Belongs to one event loop."""

    def __init__(self) -> None:
        self._closed = False
        self.inside = 0  # turns that are being stored
        # By user, in the order in which the users are next.
        self._waiting: dict[int, deque[_Place]] = {}

    def count_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def admit(self, sender: Sender) -> AsyncIterator[bool]:
        """Enter when it is the sender's turn; whether it had to wait for it. Refused where too many
        wait, after LONGEST_WAIT, and when the server stops."""
        loop = asyncio.get_running_loop()
        came = loop.time()
        place = _Place(sender.user_id, loop.create_future())
        self._queue(place)
        waits = not place.decided.done()
        try:
            await self._wait(place, sender)
            waited = loop.time() - came
            TURN_WAITS.observe(waited)
            if waited >= TELL_SECONDS:
                log.info("turn waited to begin", user=sender.user_id, seconds=round(waited, 1))
            yield waits
        finally:
            self._leave(place)

    def close(self) -> None:
        """Refuse whoever waits, and whoever comes from now on: the server is stopping."""
        self._closed = True
        waiting, self._waiting = self._waiting, {}
        for places in waiting.values():
            for place in places:
                place.decided.set_result(False)

    def _queue(self, place: _Place) -> None:
        """Let in where nobody is before it, else to the end of its user's line."""
        if self._closed:
            place.decided.set_result(False)
        elif self.inside < AT_ONCE and not self._waiting:
            self._let_in(place)
        else:
            mine = self._waiting.get(place.user_id, ())
            if len(mine) >= settings.TURNS_AT_ONCE or self.count_waiting() >= MOST_WAITING:
                raise self._busy()
            self._waiting.setdefault(place.user_id, deque()).append(place)

    async def _wait(self, place: _Place, sender: Sender) -> None:
        for _ in range(round(LONGEST_WAIT / TELL_SECONDS)):
            if not place.decided.done():
                await asyncio.wait({place.decided}, timeout=TELL_SECONDS)
            if place.decided.done():
                break
            if sender.tell:
                await sender.tell(self._count_before(place))
        if not place.decided.done():
            raise self._busy()
        if not place.is_inside:
            raise _shutting_down()

    def _count_before(self, place: _Place) -> int:
        """How many begin before one that waits, if nobody else comes."""
        mine = self._waiting[place.user_id].index(place)
        before, rounds = 0, mine + 1  # in which each user before it begins one
        for user_id, places in self._waiting.items():
            if user_id == place.user_id:
                before, rounds = before + mine, mine
            else:
                before += min(len(places), rounds)
        return before

    def _let_in(self, place: _Place) -> None:
        self.inside += 1
        place.decided.set_result(True)

    def _leave(self, place: _Place) -> None:
        if place.is_inside:
            self.inside -= 1
            if self._waiting:
                self._pause(asyncio.get_running_loop().time() + LONGEST_PAUSE)
        elif mine := self._waiting.get(place.user_id):
            if place in mine:
                mine.remove(place)
            if not mine:
                del self._waiting[place.user_id]

    def _pause(self, until: float) -> None:
        """Let the next one in when the loop has done what is due; at `until`, in the loop's time,
        at the latest."""
        loop = asyncio.get_running_loop()
        due = loop.time() + PAUSE
        loop.call_at(due, self._go_on, due, until)

    def _go_on(self, due: float, until: float) -> None:
        now = asyncio.get_running_loop().time()
        if now - due > MOST_LAG and now < until:
            self._pause(until)
        elif self._waiting and self.inside < AT_ONCE:
            self._let_in(self._take_next())

    def _take_next(self) -> _Place:
        """The first of the user who is next, who then is the last of the users."""
        user_id, places = next(iter(self._waiting.items()))
        del self._waiting[user_id]
        place = places.popleft()
        if places:
            self._waiting[user_id] = places
        return place

    def _busy(self) -> Refused:
        log.warning("send refused: too many wait", waiting=self.count_waiting())
        return Refused(
            RefusalCode.SERVER_BUSY,
            gettext("The server is busy. Your text is kept; try again in a moment."),
            retryable=True,
            retry_after=round(LONGEST_WAIT),
        )


def _shutting_down() -> Refused:
    return Refused(
        RefusalCode.SHUTTING_DOWN,
        gettext("The server is restarting; your text is kept. Send it in a moment."),
        retryable=True,
    )
