"""Services that this site can do without for a while: the cache, the channel layer, the task queue,
Slack and, while answers wait in memory, the database.

Each outage is logged when it begins and when it ends, not at every call; `/metrics` shows it."""

import time
from enum import StrEnum
from threading import Lock

import structlog

log = structlog.get_logger(__name__)


class Service(StrEnum):
    """As the log and `/metrics` name it."""

    CACHE = "cache"
    CHANNEL_LAYER = "channel_layer"
    TASK_QUEUE = "task_queue"
    DATABASE = "database"
    SLACK = "slack"


class Outage:
    """Whether one service is away; `consequence` says what that means meanwhile."""

    def __init__(self, service: Service, consequence: str) -> None:
        self.service = service
        self.consequence = consequence
        self.count = 0
        self._since: float | None = None
        self._lock = Lock()

    @property
    def is_ongoing(self) -> bool:
        return self._since is not None

    def note_failure(self, error: BaseException) -> None:
        """A call has failed."""
        with self._lock:
            if self._since is not None:
                return
            self._since = time.monotonic()
            self.count += 1
        log.error(
            "outage began",
            service=self.service,
            meanwhile=self.consequence,
            reason=f"{type(error).__name__}: {error}"[:300],
        )

    def note_success(self) -> None:
        """A call has succeeded."""
        if self._since is None:  # nearly always: no lock for it
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            log.warning(
                "outage ended",
                service=self.service,
                seconds=round(time.monotonic() - since, 1),
            )


CACHE = Outage(Service.CACHE, "this process keeps its own")
LAYER = Outage(Service.CHANNEL_LAYER, "events reach the tabs of this process only")
QUEUE = Outage(Service.TASK_QUEUE, "no compactions and no titles")
DATABASE = Outage(Service.DATABASE, "answers are kept in memory")
SLACK = Outage(Service.SLACK, "threads of Slack hear later of what is written")
ALL = (CACHE, LAYER, QUEUE, DATABASE, SLACK)
