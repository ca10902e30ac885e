"""The boundary around everything that becomes HTML: what cannot be drawn is shown as its source.

A fault here is always caused by the text at hand. It must neither end a turn nor break a page, and
some of what libraries raise cannot even pass through a future: asyncio refuses StopIteration,
and a panic in a Rust library is a BaseException.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import DatabaseError

from chat import metrics

log = structlog.get_logger(__name__)

Drawn = TypeVar("Drawn")
# Errors that have nothing to do with a text: the end of a process or a task, and a failed
# transaction.
_NO_FAULT = (
    *(KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError),
    *(DatabaseError, MemoryError),
)


def draw_safely(what: str, draw: Callable[[], Drawn], source: Callable[[], Drawn]) -> Drawn:
    """What `draw` gives; what `source` gives where it raises anything, which is logged and counted.
    `what` is drawn, in words for the log. The text itself is not logged: it belongs to its
    owner."""
    try:
        return draw()
    except _NO_FAULT:
        raise
    except BaseException as error:
        metrics.NOT_DRAWN.inc()
        log.exception("could not be drawn", what=what, error=type(error).__name__)
        return source()
