"""The signals that end a web process: it leaves in time, whatever its threads wait for."""

import os
import select
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from chat.live.draining import STORE_SECONDS
from chat.live.runner import DRAIN_SECONDS

SIGNALS = (signal.SIGINT, signal.SIGTERM)
END_SECONDS = DRAIN_SECONDS + STORE_SECONDS + 0.8  # after the first signal: always within 3 s
AT_ONCE_SECONDS = 2.5  # after the second one
FORCED = (
    "Stopped by force: something did not end in time. Answers that were being written are kept up "
    "to their last checkpoint.\n"
)


def watch_signals(stop: Callable[[], object]) -> None:
    """Call `stop` at the first signal and at the second, in a thread of its own, and see to it that
    the process ends then. Python writes a signal's number into the pipe even while the event loop
    is stuck. Only in the main thread."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writing)
    threading.Thread(target=_watch, args=(reading, stop), name="signals", daemon=True).start()


def _watch(reading: int, stop: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        while os.read(reading, 1)[0] not in SIGNALS:
            pass  # somebody else's
        stop()
        if select.select([reading], [], [], END_SECONDS)[0]:
            os.read(reading, 1)
            stop()
            select.select([], [], [], AT_ONCE_SECONDS)
    os.write(2, FORCED.encode())
    os._exit(1)
