"""What is started on a database that does not fit says so and ends."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import CeleryProcess, EverlongProcess, LoggedProcess, ProcessFailed


@pytest.fixture
def web(tmp_path: Path, site: Path, supervise: Callable[[Any], Any]) -> EverlongProcess:
    """Not started; its database is of the day before."""
    made = supervise(EverlongProcess(tmp_path, site))
    path = Path(made.environment["DATA_DIR"]) / "everlong.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE chat_conversation RENAME COLUMN pinned TO old_pinned")
    return made


def check_refusal(process: LoggedProcess) -> None:
    with pytest.raises(ProcessFailed):
        process.start()
    assert process.stop() == 1
    said = re.sub(r"\s+", " ", process.log)
    assert "lacks the column chat_conversation.pinned" in said
    assert "run `python manage.py migrate`" in said
    assert "Traceback" not in said


def test_neither_a_web_process_nor_a_worker_starts_without_its_columns(
    web: EverlongProcess, tmp_path: Path, supervise: Callable[[Any], Any]
) -> None:
    check_refusal(web)
    check_refusal(supervise(CeleryProcess(tmp_path, **web.environment)))
