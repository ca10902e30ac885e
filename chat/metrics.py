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


WORDS = {
    Fault.REQUEST_REPAIRED: "Requests that broke a rule of the API and went out as text.",
    Fault.REQUEST_REFUSED: "Requests that broke a rule of the API and did not go out.",
    Fault.NOT_DRAWN: "Content that was shown as its source, because drawing it failed.",
    Fault.USAGE_NOT_BELIEVED: "Answers for which the server reported too few tokens to be true.",
    Fault.NOT_PREPARED: "Summaries that were not prepared: over the tokens of a day, or a fault.",
}

_lock = Lock()
_counted: Counter[Fault] = Counter()


def count_fault(fault: Fault) -> None:
    """Count one more."""
    with _lock:
        _counted[fault] += 1


def read_fault_count(fault: Fault) -> int:
    """How many there were since the process started."""
    return _counted[fault]
