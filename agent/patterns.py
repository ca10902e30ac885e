"""Regular expressions that are compiled when they are first used: those that tell values, words and
instructions apart take a tenth of a second, for which no start has to wait."""

import re
from functools import cached_property
from typing import Any, cast


class _Later:
    """Looks like the pattern that it becomes with the first method that is asked of it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> "re.Pattern[str]":
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Called only for what is not here yet: from then on it is as quick as the pattern's."""
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found


_all: list[_Later] = []


def compile_later(pattern: str, flags: int = 0) -> "re.Pattern[str]":
    """As `re.compile`, but at the first use. An error in the pattern shows only then."""
    made = _Later(pattern, flags)
    _all.append(made)
    return cast("re.Pattern[str]", made)


def compile_all() -> None:
    """For a process that serves people, after its port is open: no first use waits then."""
    for each in _all:
        _ = each.compiled
