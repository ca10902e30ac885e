"""The embedded Celery worker: the same tasks in threads of the web process."""

import threading

from celery import current_app

THREADS = 4


class EmbeddedWorker:
    """A Celery worker in a daemon thread."""

    def __init__(self) -> None:
        current_app.autodiscover_tasks(force=True)
        self._worker = current_app.WorkController(
            pool="threads",
            concurrency=THREADS,
            without_heartbeat=True,
            without_mingle=True,
            without_gossip=True,
        )
        self._thread = threading.Thread(target=self._worker.start, name="celery", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop taking tasks; running ones are ended by the sweep of the next start."""
        self._worker.stop(in_sighandler=True)
