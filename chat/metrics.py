"""What this process has counted that no row tells; `chat.web.metrics` shows it."""

from collections import Counter
from threading import Lock

# Events by the name that they are counted and logged under, with "_" for spaces there.
EVENTS = {
    "request_repaired": "Requests that broke a rule of the API and went out as text.",
    "request_refused": "Requests that broke a rule of the API and did not go out.",
    "not_drawn": "Texts and other content shown as their source, because drawing them failed.",
}

_lock = Lock()
_counted: Counter[str] = Counter()


def count(event: str) -> None:
    """One more of an event."""
    with _lock:
        _counted[event] += 1


def counted(event: str) -> int:
    """How many of it there were since the process began."""
    return _counted[event]
