"""Whole databases as SQL text, which needs no program to be read back."""

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg

from tests.support.services import (
    PostgresServer,
    ServiceUnavailable,
    postgres_installations,
    run_postgres,
)

# When each migration ran says nothing, and differs each time.
FIXED_TIME = "UPDATE django_migrations SET applied = '2026-11-20 09:00:00'"
# Kept by SQLite itself, or for the full-text index: made with the tables, filled by triggers.
OWN_OF_SQLITE = re.compile(r"sqlite_\w+|chat_fulltext_\w+")


def dump_sqlite(path: Path) -> str:
    """A database's tables, rows, indexes and triggers, each table's rows in the order of rowids."""
    lines = ["PRAGMA foreign_keys = OFF;", "BEGIN;"]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(FIXED_TIME)
        made = database.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        made = [each for each in made.fetchall() if not OWN_OF_SQLITE.fullmatch(each[1])]
        # The full-text index before the triggers that fill it, and these before the rows.
        for kind in ("table", "trigger", "index"):
            lines += [f"{sql};" for of_kind, _, sql in made if of_kind == kind]
        for kind, table, sql in made:
            if kind == "table" and "VIRTUAL" not in sql:
                lines += _list_rows(database, table)
        lines += ["DELETE FROM sqlite_sequence;", *_list_rows(database, "sqlite_sequence")]
    return "\n".join([*lines, "COMMIT;", ""])


def _list_rows(database: sqlite3.Connection, table: str) -> list[str]:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    values = " || ',' || ".join(f'quote("{column}")' for column in columns)
    rows = database.execute(f"SELECT {values} FROM {table} ORDER BY rowid")
    return [f"INSERT INTO {table} VALUES ({row});" for (row,) in rows]


def load_sqlite(text: str, path: Path) -> None:
    """Make a database of a dump."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(text)


def start_postgres_to_dump() -> tuple[PostgresServer, Path]:
    """A new server, and the directory of its programs, `pg_dump` among them. Raises
    ServiceUnavailable."""
    for programs in postgres_installations():
        if (programs / "pg_dump").exists():
            return run_postgres({}, programs), programs
    raise ServiceUnavailable("There is no pg_dump. Debian: apt install postgresql")


def dump_postgres(url: str, programs: Path) -> str:
    """As `pg_dump` writes it, without what only `psql` or a server of the same age understands."""
    with psycopg.connect(url) as connection:
        connection.execute(FIXED_TIME.encode())
    options = ["--rows-per-insert=1", "--no-owner", "--no-privileges", "--no-comments"]
    done = subprocess.run(
        [programs / "pg_dump", *options, url], capture_output=True, text=True, check=True
    )
    kept, in_text = [], False
    for line in done.stdout.split("\n"):
        if in_text or (line and not line.startswith(("--", "\\", "SET "))):
            kept.append(line)
        in_text ^= line.count("'") % 2 == 1
    return "\n".join([*kept, ""])


def load_postgres(text: str, url: str) -> None:
    """Fill an empty database from a dump."""
    with psycopg.connect(url) as connection:
        connection.execute(text.encode())


def list_rows_by_table(text: str) -> dict[str, int]:
    """How many rows a dump has for each table that it makes, but the full-text index."""
    tables = re.findall(r'^CREATE TABLE (?:public\.)?"?(\w+)"?', text, re.M)
    rows = re.findall(r'^INSERT INTO (?:public\.)?"?(\w+)"?', text, re.M)
    return {table: rows.count(table) for table in tables}
