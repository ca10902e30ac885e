"""What a process keeps of the database for a moment, so that not every turn and page has to ask.

What another process changes counts after that moment; who changes it here calls `forget`.
"""

from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

KEPT_SECONDS = 2.0
MOST_KEPT = 10_000

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by keys, each for `KEPT_SECONDS` after it was read."""

    def __init__(self) -> None:
        self._values: dict[Key, tuple[float, Value]] = {}  # with the time of reading

    def find(self, key: Key) -> Value | None:
        """The value, which is never None itself; None where it has to be read."""
        kept = self._values.get(key)
        return kept[1] if kept and monotonic() - kept[0] < KEPT_SECONDS else None

    def keep(self, key: Key, value: Value) -> Value:
        if len(self._values) >= MOST_KEPT:
            self._values.clear()
        self._values[key] = monotonic(), value
        return value

    def load(self, key: Key, read: Callable[[], Value]) -> Value:
        """The value, read where it is not kept."""
        found = self.find(key)
        return self.keep(key, read()) if found is None else found

    def forget(self, *keys: Key) -> None:
        """Read these anew when they are asked for next; without a key, all."""
        for key in keys or list(self._values):
            self._values.pop(key, None)
