"""All rows of one database into another: for backups, and from SQLite to PostgreSQL."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import dj_database_url
from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, connections, models, transaction
from django.db.migrations.executor import MigrationExecutor
from psycopg import IsolationLevel

BATCH = 50  # rows in memory: one may have megabytes
SOURCE, TARGET = "copied_from", "copied_to"
# `migrate` fills these, with numbers of their own: the source's take their place.
DERIVED = ("auth.Permission", "contenttypes.ContentType")

Table = type[models.Model]
Report = Callable[[str, int], None]


class CannotCopy(Exception):
    """The message says why, and what to do."""


def read_address(address: str) -> dict[str, Any]:
    """Settings of a database from its address. Raises CannotCopy."""
    try:
        found: dict[str, Any] = dict(dj_database_url.parse(address))
    except ValueError:
        found = {"ENGINE": ""}
    if not found["ENGINE"].endswith((".sqlite3", ".postgresql")):
        raise CannotCopy(
            "This is not an address of SQLite or PostgreSQL. Give one such as "
            "postgres://user:password@host/name or sqlite:////srv/everlong.sqlite3."
        )
    return found


def copy_database(
    source: Mapping[str, Any], target: Mapping[str, Any], report: Report
) -> dict[str, int]:
    """Copy every row, of one moment of the source, into an empty database, whose tables are made.
    All or nothing: whatever fails, the target stays empty. Returns the number of rows by table; the
    target has been asked for them. Raises CannotCopy."""
    if (source["ENGINE"], source["NAME"], source.get("HOST"), source.get("PORT")) == (
        *(target["ENGINE"], target["NAME"]),
        *(target.get("HOST"), target.get("PORT")),
    ):
        raise CannotCopy("This is the database itself. Give the address of another one.")
    with connected(SOURCE, source), connected(TARGET, target):
        try:
            _check_source()
            call_command("migrate", database=TARGET, verbosity=0, interactive=False)
            _check_target()
            with transaction.atomic(SOURCE), transaction.atomic(TARGET):
                return _copy_all(report)
        except DatabaseError as error:
            raise CannotCopy(f"A database cannot be used, so nothing is copied: {error}") from error


def list_tables() -> list[Table]:
    """Every table of the site, those between two others included."""
    found = apps.get_models(include_auto_created=True)
    return [each for each in found if each._meta.managed and not each._meta.proxy]


@contextmanager
def connected(alias: str, database: Mapping[str, Any]) -> Iterator[None]:
    """A database under another name, without what is for the site: its pool, its write locks."""
    is_postgres = database["ENGINE"].endswith("postgresql")
    kept = {
        name: value
        for name, value in database.get("OPTIONS", {}).items()
        if is_postgres and name != "pool"
    }
    # Each query would see another moment.
    options = kept | ({"isolation_level": IsolationLevel.REPEATABLE_READ} if is_postgres else {})
    own = {**database, "OPTIONS": options, "CONN_MAX_AGE": None}
    configured = connections.configure_settings({**connections.settings, alias: own})
    connections.settings[alias] = configured[alias]
    try:
        yield
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]


def _check_source() -> None:
    executor = MigrationExecutor(connections[SOURCE])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CannotCopy("The database is of another version. First: manage.py migrate")


def _check_target() -> None:
    for table in list_tables():
        if table._meta.label not in DERIVED and _rows(table, TARGET).exists():
            raise CannotCopy(
                f"The target is not empty ({table._meta.db_table} has rows). Give a new database."
            )


def _copy_all(report: Report) -> dict[str, int]:
    tables = list_tables()
    for label in DERIVED:
        _rows(apps.get_model(label), TARGET).all().delete()
    copied = {}
    for table in tables:
        name = table._meta.db_table
        try:
            copied[name] = _copy_rows(table)
        except (DatabaseError, ValueError) as error:  # ValueError: a text that psycopg refuses
            raise CannotCopy(f"{name} cannot be copied, so nothing is: {error}") from error
        report(name, copied[name])
    connection = connections[TARGET]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables):
            cursor.execute(statement)
    connection.check_constraints()
    for table in tables:
        name, there = table._meta.db_table, _rows(table, TARGET).count()
        if there != copied[name]:
            raise CannotCopy(
                f"{name} has {there} rows instead of {copied[name]}, so nothing is kept."
            )
    return copied


def _copy_rows(table: Table) -> int:
    """Each with the values that it has: no date of now, no default."""
    fields = table._meta.local_concrete_fields
    most = min(BATCH, connections[TARGET].ops.bulk_batch_size(fields, [None] * BATCH))
    number = 0
    manager: Any = table._base_manager
    rows = _rows(table, SOURCE).order_by("pk").iterator(chunk_size=most)
    while batch := list(islice(rows, most)):
        manager._insert(batch, fields=fields, using=TARGET, raw=True)
        number += len(batch)
    return number


def _rows(table: Table, alias: str) -> models.QuerySet[Any]:
    return table._base_manager.using(alias)
