"""A whole site in processes of its own, in one of the two profiles, and what its database says."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from demo.api.server import DemoServer
from tests.support.server import CeleryProcess, EverlongProcess, LoggedProcess
from tests.support.services import PostgresServer, RedisServer

Row = dict[str, Any]
POLL_SECONDS = 0.1
PATIENCE = 60.0  # seconds until a wait is given up: longer than a lease and a drain
LEASE = 15.0  # LEASE_SECONDS as it is shipped
# What a measured span may take longer than the promise: the look that finds it (each second, here
# and there), and a busy machine.
SLACK = 2.0
WINDOW = 16_000  # tokens of the scripted model's window; compaction starts at 12,800

SETTINGS = {
    "DEFAULT_MODEL": "test-model",
    "MODEL_WINDOWS": f"test-model={WINDOW}",
    # Each scenario says when a compaction begins, and counts the requests.
    "COMPACTION_PREPARE": "0",
    "COMPACTION_IDLE": "0",
    "COMPACTION_KEEP_MESSAGES": "2",
    "COMPACTION_EXTRACT": "false",
    "MESSAGES_PER_MINUTE": "1000",
}
ACTIVE = "status IN ('queued', 'compacting', 'running')"


@dataclass
class Site:
    """`webs` and `worker` run; in the embedded profile one web process is the whole site."""

    model: DemoServer
    environment: dict[str, str]
    supervise: Callable[[Any], Any]
    directory: Path
    data: Path  # a data directory to copy
    postgres: PostgresServer | None = None
    redis: RedisServer | None = None
    webs: list[EverlongProcess] = field(default_factory=list)
    worker: CeleryProcess | None = None

    @property
    def scaled(self) -> bool:
        return self.postgres is not None

    @property
    def web(self) -> EverlongProcess:
        """The first web process: the one that the person sits at."""
        return self.webs[0]

    @property
    def other(self) -> EverlongProcess:
        """Where the rest of the site is served: the second web process, if there is one."""
        return self.webs[-1]

    def start_web(self) -> EverlongProcess:
        """One more web process."""
        arguments = ["--no-worker"] if self.scaled else []
        web = EverlongProcess(self.directory, self.data, *arguments, **self.environment)
        self.webs.append(self.supervise(web).start())
        return web

    def start_worker(self) -> CeleryProcess:
        environment = {**self.web.environment, **self.environment}
        self.worker = self.supervise(CeleryProcess(self.directory, **environment)).start()
        return self.worker

    @property
    def compactor(self) -> LoggedProcess:
        """The process that writes summaries."""
        return self.worker or self.web

    # --- What the database says -------------------------------------------------------------------

    def rows(self, query: str) -> list[Row]:
        """The rows that a query finds, read by a connection of its own."""
        if self.scaled:
            with psycopg.connect(self.environment["DATABASE_URL"], connect_timeout=5) as connection:
                cursor = connection.execute(query.encode())
                return _named(cursor.description, cursor.fetchall())
        path = Path(self.web.environment["DATA_DIR"]) / "everlong.sqlite3"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as opened:
            read = opened.execute(query)
            return _named(read.description, read.fetchall())

    def messages(self, conversation: UUID) -> list[Row]:
        """All messages of a conversation, oldest first; `blocks` as the API's."""
        found = self.rows(
            "SELECT id, number, role, text, status, client_id, blocks, turn_id FROM chat_message "
            f"WHERE conversation_id = '{conversation.hex}' ORDER BY number"
        )
        for row in found:
            if isinstance(row["blocks"], str):
                row["blocks"] = json.loads(row["blocks"])
        return found

    def compactions(self, conversation: UUID) -> list[Row]:
        return self.rows(
            "SELECT id, status, summary, through_id, error, trigger, worker_pid "
            f"FROM chat_compaction WHERE conversation_id = '{conversation.hex}' ORDER BY id"
        )

    def compressed(self, conversation: UUID) -> Row:
        """The conversation's `compressed_*` fields and its current compaction."""
        return self.rows(
            "SELECT compressed_context, compressed_at, compressed_through_id, compaction_id "
            f"FROM chat_conversation WHERE id = '{conversation.hex}'"
        )[0]

    def locked(self, conversation: UUID) -> bool:
        """Whether a turn holds the conversation."""
        where = f"conversation_id = '{conversation.hex}' AND {ACTIVE}"
        return bool(self.rows(f"SELECT id FROM chat_turn WHERE {where}"))

    async def free(self, conversation: UUID, since: float) -> float:
        """Wait until nothing holds the conversation; the seconds from `since`, which is monotonic.
        AssertionError after PATIENCE."""
        await eventually(lambda: not self.locked(conversation), "the conversation is free")
        return time.monotonic() - since


async def start_again(process: LoggedProcess) -> None:
    """What a supervisor does with a process that has ended."""
    await asyncio.to_thread(process.start)


async def eventually(met: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait for what only the database or a process knows. AssertionError."""
    deadline = time.monotonic() + patience
    while True:
        if result := await asyncio.to_thread(met):
            return result
        assert time.monotonic() < deadline, f"waited {patience:.0f} s in vain: {what}"
        await asyncio.sleep(POLL_SECONDS)


def _named(description: Any, rows: list[tuple[Any, ...]]) -> list[Row]:
    names = [column[0] for column in description]
    return [dict(zip(names, row, strict=True)) for row in rows]
