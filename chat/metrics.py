"""What this process has counted that no row tells; `chat.web.metrics` shows it."""

from collections import Counter
from enum import StrEnum
from threading import Lock


class Fault(StrEnum):
    """A defect that the process went on with."""

    REQUEST_REPAIRED = "request_repaired"
    REQUEST_REFUSED = "request_refused"
    NOT_DRAWN = "not_drawn"


WORDS = {
    Fault.REQUEST_REPAIRED: "Requests that broke a rule of the API and went out as text.",
    Fault.REQUEST_REFUSED: "Requests that broke a rule of the API and did not go out.",
    Fault.NOT_DRAWN: "Content that was shown as its source, because drawing it failed.",
}

_lock = Lock()
_counted: Counter[Fault] = Counter()


def count(fault: Fault) -> None:
    """Count one more."""
    with _lock:
        _counted[fault] += 1


def counted(fault: Fault) -> int:
    """How many of it there were since the process began."""
    return _counted[fault]
