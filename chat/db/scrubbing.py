"""SQLite: what was deleted leaves its file.

Deleted rows are overwritten at once (`secure_delete` in the settings). Two places keep words
longer: the full-text index, whose older parts hold them until they are merged with newer ones, and
the write-ahead log, until its pages have come into the file and it is emptied. PostgreSQL's own
vacuum cleans up there.
"""

import time

from django.db import connection

PAGES = 500  # of the index that one transaction merges: 2 MB, some 20 ms in which nobody writes
STEP_SECONDS = 0.2
REST_SECONDS = 600.0  # between two rounds: each reads and writes the whole index
BUSY_MS = 100  # how long emptying the log waits for those who read
MERGE = "INSERT INTO chat_fulltext(chat_fulltext, rank) VALUES ('merge', %s)"


class Scrubbing:
    """What a process knows of the work: whether any is wanted, and how far it is."""

    def __init__(self) -> None:
        self._wanted = True  # a process before this one may have deleted something
        self._merging = False
        self._next = 0.0

    def want(self) -> None:
        """Something was deleted."""
        self._wanted = True
        self._merging = False  # what is merged already may hold it

    def work(self) -> bool:
        """Do a part of the work, in short transactions; whether there is none left for now."""
        if connection.vendor != "sqlite" or not self._wanted or time.monotonic() < self._next:
            return True
        ends = time.monotonic() + STEP_SECONDS
        while self._merge():
            if time.monotonic() > ends:
                return False
        if not _empty_log():
            return False
        self._wanted = False
        self._next = time.monotonic() + REST_SECONDS
        return True

    def finish(self) -> bool:
        """Do all of the work now; False where others kept the log from being emptied."""
        if connection.vendor != "sqlite":
            return True
        self._merging = False
        while self._merge():
            pass
        return _empty_log()

    def _merge(self) -> bool:
        """Merge some pages of the index; whether there may be more."""
        with connection.cursor() as cursor:
            before = connection.connection.total_changes
            # A negative number begins to merge all parts into one, others go on with it.
            cursor.execute(MERGE, [PAGES if self._merging else -PAGES])
            # Fewer than two changes mean that nothing was left (SQLite's documentation of FTS5).
            self._merging = connection.connection.total_changes - before >= 2
        return self._merging


def _empty_log() -> bool:
    """Bring the log's pages into the file, and empty it; False where others are in the way."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        usual = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")
    return not busy


scrubbing = Scrubbing()
