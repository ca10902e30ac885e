"""What this process counts because no row has it; `chat.web.metrics` shows it."""

from collections import Counter
from enum import StrEnum
from threading import Lock


class Fault(StrEnum):
    """A defect that did not stop the process, or a limit that something came up against."""

    REQUEST_REPAIRED = "request_repaired"
    REQUEST_REFUSED = "request_refused"
    NOT_DRAWN = "not_drawn"
    USAGE_NOT_BELIEVED = "usage_not_believed"
    NOT_PREPARED = "not_prepared"
    STATEMENTS_LEFT = "statements_left"


WORDS = {
    Fault.REQUEST_REPAIRED: "Requests that broke a rule of the API and went out as text.",
    Fault.REQUEST_REFUSED: "Requests that broke a rule of the API and did not go out.",
    Fault.NOT_DRAWN: "Content that was shown as its source, because drawing it failed.",
    Fault.USAGE_NOT_BELIEVED: "Answers for which the server reported too few tokens to be true.",
    Fault.STATEMENTS_LEFT: "Statements that left a summary, because all chapters were too large.",
    Fault.NOT_PREPARED: "Summaries that were not prepared: over the tokens of a day, or a fault.",
}

_lock = Lock()
_counted: Counter[Fault] = Counter()


def count_fault(fault: Fault, times: int = 1) -> None:
    """Count one more, or several."""
    with _lock:
        _counted[fault] += times


def read_fault_count(fault: Fault) -> int:
    """How many there were since the process started."""
    return _counted[fault]


class Histogram:
    """How often a figure was at most each of some bounds. Filled by one thread only."""

    def __init__(self, *bounds: float) -> None:
        self.bounds = bounds
        self.sum = 0.0
        self.count = 0
        self._within = [0] * len(bounds)

    def observe(self, value: float) -> None:
        """Count one more."""
        self.sum += value
        self.count += 1
        for index, bound in enumerate(self.bounds):
            self._within[index] += value <= bound

    def list_buckets(self) -> list[tuple[float, int]]:
        """Each bound with how many were at most that."""
        return list(zip(self.bounds, self._within, strict=True))


TURN_WAITS = Histogram(0.01, 0.1, 0.5, 1, 5, 10, 20)  # seconds
