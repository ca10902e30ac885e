"""Files that take much of the machine to read: a few at a time, and a fair share for everybody."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext

from chat.errors import RefusalCode, Refused

MOST_WAITING = 20  # of one person: each is a thread that holds a file
LONGEST_WAIT = 120  # seconds


class FairShare:
    """Lets `most` work at a time, one of each person. Persons take turns: whoever brings one file
    does not wait for all those of another. Whoever waits is a thread, never a loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._working: set[int] = set()
        # By person, in the order in which they are next.
        self._waiting: dict[int, deque[object]] = {}

    @contextmanager
    def hold(self, person: int, name: str) -> Iterator[None]:
        """Enter with the file of this name when it is the person's turn. Refused where too many of
        the person's wait, or after LONGEST_WAIT. Blocks."""
        if not self._enter(person):
            words = gettext(
                "{name} was not read: too many files are being read now. Attach it again in a "
                "moment."
            )
            raise Refused(RefusalCode.SERVER_BUSY, words.format(name=name), retryable=True)
        try:
            yield
        finally:
            with self._changed:
                self._working.remove(person)
                self._changed.notify_all()

    def _enter(self, person: int) -> bool:
        place = object()
        with self._changed:
            queue = self._waiting.setdefault(person, deque())
            if len(queue) >= MOST_WAITING:
                return False
            queue.append(place)
            entered = self._changed.wait_for(lambda: self._next() is place, LONGEST_WAIT)
            queue.remove(place)
            del self._waiting[person]
            if queue:  # behind the others
                self._waiting[person] = queue
            if entered:
                self._working.add(person)
            self._changed.notify_all()
        return entered

    def _next(self) -> object | None:
        """The place of who may enter now, if anybody may."""
        if len(self._working) >= self._most:
            return None
        free = (queue[0] for who, queue in self._waiting.items() if who not in self._working)
        return next(free, None)
