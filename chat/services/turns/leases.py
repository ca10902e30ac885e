"""Leases: what is worked at is kept alive by a thread that the work cannot starve.

A turn or a compaction whose lease runs out is taken for abandoned, by any process. So its lease is
extended neither in the event loop nor in the threads of the ORM, which a busy machine or a long
calculation keeps from their work, but in a thread of its own with a connection of its own.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model

from chat.db.threads import UNAVAILABLE
from chat.models import Compaction, Turn
from chat.services.turns.turns import next_lease_end

log = structlog.get_logger(__name__)

BEAT_SECONDS = 1.0
# Leases that pass without a sign of life from the work until it counts as stuck: then nobody
# extends its lease any more.
STUCK_AFTER = 4
LATE_SHARE = 1 / 3  # of a lease: a thread that is so late was held up, and so may others have been

ACTIVE = {Turn: Turn.ACTIVE, Compaction: (Compaction.Status.RUNNING,)}
Held = tuple[type[Model], int]


class Keeper:
    """What this process works at, and whether it may end that of others.

    `clock` is the time of day, as leases are: a machine that slept has it jump.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Condition()
        self._held: dict[Held, float] = {}  # when the work was last seen alive
        self._watches = False
        self._thread: threading.Thread | None = None
        self._looked: float | None = None  # when the thread last had nothing in its way
        self._disturbed = float("-inf")
        self._failing = False
        self._stuck: set[Held] = set()

    # --- For those who work ---

    def hold(self, model: type[Model], pk: int) -> None:
        """Extend a lease from now on; `beat` has to follow, and `release`."""
        with self._lock:
            self._held[model, pk] = self._clock()
            self._start()

    def beat(self, model: type[Model], pk: int) -> None:
        """The work goes on."""
        with self._lock:
            if (model, pk) in self._held:
                self._held[model, pk] = self._clock()

    def release(self, model: type[Model], pk: int) -> None:
        with self._lock:
            self._held.pop((model, pk), None)
            self._lock.notify()

    @contextmanager
    def holding(self, model: type[Model], pk: int) -> Iterator[None]:
        self.hold(model, pk)
        try:
            yield
        finally:
            self.release(model, pk)

    def list_held(self, model: type[Model]) -> list[int]:
        """The rows that this process works at, without those whose work is stuck."""
        oldest = self._clock() - STUCK_AFTER * settings.LEASE_SECONDS
        with self._lock:
            return [
                pk for (kind, pk), seen in self._held.items() if kind is model and seen > oldest
            ]

    # --- For those who end what others left ---

    def watch_others(self) -> None:
        """Watch from now on whether this process runs: it will end what others do not extend."""
        with self._lock:
            self._watches = True
            self._start()

    def note_disturbance(self) -> None:
        """Nobody could extend a lease just now."""
        self._disturbed = self._clock()

    def may_end_others(self) -> bool:
        """Whether a lease that is over says something of its holder: not where this process was
        held up itself, or the database was away, less than a lease ago."""
        now = self._clock()
        if self._looked is not None and self._is_late(now - self._looked):
            return False
        return now - self._disturbed > settings.LEASE_SECONDS

    # --- The thread ---

    def _start(self) -> None:
        """The caller has the lock."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Until there is nothing to keep and nobody to watch."""
        idle = False
        while not idle:
            self.look()
            with self._lock:
                idle = self._lock.wait_for(self._is_idle, BEAT_SECONDS)
                if idle:
                    self._thread = self._looked = None
        connection.close()

    def _is_idle(self) -> bool:
        return not (self._held or self._watches)

    def look(self) -> None:
        """Extend what is held, and notice whether this came late. What fails is logged and done
        again at the next look."""
        begun = self._clock()
        if self._looked is not None and self._is_late(begun - self._looked):
            log.warning("held up: others are not judged", seconds=round(begun - self._looked, 1))
            self._disturbed = begun
        try:
            self._extend()
        except Exception as error:
            connection.close()
            self.note_disturbance()
            if not self._failing:
                expected = isinstance(error, UNAVAILABLE)
                log.error("leases not extended", reason=str(error), exc_info=not expected)
            self._failing = True
        else:
            if self._failing:
                log.warning("leases are extended again")
            self._failing = False
        self._looked = self._clock()
        if self._is_late(self._looked - begun):
            self._disturbed = self._looked

    def _extend(self) -> None:
        held = {model: self.list_held(model) for model in ACTIVE}
        if not any(held.values()):
            connection.close()
        for model, pks in held.items():
            if pks:
                extend(model, pks)
        with self._lock:
            stuck = {(model, pk) for model, pk in self._held if pk not in held[model]}
        for model, pk in stuck - self._stuck:
            log.error("work is stuck: its lease runs out", what=model._meta.model_name, id=pk)
        self._stuck = stuck

    @staticmethod
    def _is_late(seconds: float) -> bool:
        return seconds > max(LATE_SHARE * settings.LEASE_SECONDS, 3 * BEAT_SECONDS)


def extend(model: type[Model], pks: list[int]) -> int:
    """Extend the leases of those that have not ended; how many. One that is locked is at work, and
    does not keep the others waiting."""
    with transaction.atomic():
        rows = model._default_manager.filter(pk__in=pks, status__in=ACTIVE[model])
        free = list(
            rows.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)
        )
        return rows.filter(pk__in=free).update(lease_expires=next_lease_end())


keeper = Keeper()
