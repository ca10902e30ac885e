"""Whether the database's tables are those that this release reads and writes."""

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import structlog
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

log = structlog.get_logger(__name__)

KNOWN_FOR = 5.0  # seconds that a good answer holds, for probes
SHOWN = 5  # names in one sentence

# For each column of the given tables: whether a row that does not name it is refused.
COLUMNS = {
    "sqlite": """
        SELECT m.name, c.name, c."notnull" AND c.dflt_value IS NULL AND NOT c.pk AND NOT c.hidden
        FROM sqlite_master m, pragma_table_xinfo(m.name) c
        WHERE m.name IN (SELECT value FROM json_each(%s))""",
    "postgresql": """
        SELECT t.relname, c.attname,
               c.attnotnull AND NOT c.atthasdef AND c.attidentity = ''
        FROM pg_attribute c JOIN pg_class t ON t.oid = c.attrelid
        WHERE t.relname IN (SELECT json_array_elements_text(%s::json))
              AND pg_table_is_visible(t.oid) AND c.attnum > 0 AND NOT c.attisdropped""",
}


class MisfitKind(StrEnum):
    """In which way a database does not fit."""

    OLDER = "older"
    NEWER = "newer"
    CHANGED = "changed"


NEXT_STEPS = {
    MisfitKind.OLDER: "Run `python manage.py migrate`, then start again (`make run` does both).",
    MisfitKind.NEWER: (
        "Start the release that made it, or a newer one; or restore the backup from before the "
        "upgrade."
    ),
    MisfitKind.CHANGED: (
        "`migrate` cannot mend that: a migration was changed after it was applied here, which "
        "happens between unreleased versions, or somebody changed the tables. Start the version "
        "that made the database (its conversations can be exported there), restore a backup of "
        "this version, or begin anew: name an empty database in DATABASE_URL (SQLite: move "
        "everlong.sqlite3 out of DATA_DIR) and run `python manage.py migrate`."
    ),
}


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a database cannot be used."""

    kind: MisfitKind
    cause: str  # a sentence with names

    def __str__(self) -> str:
        return f"{self.cause} {NEXT_STEPS[self.kind]}"


def find_misfit(*, running: bool = False) -> Misfit | None:
    """What does not fit; None where all does. A process that is `running` goes on while the tables
    of a newer release still do, so that it can work until the new ones have taken over."""
    known = _list_migrations()
    applied = set(MigrationRecorder(connection).applied_migrations())
    newer = {each for each in applied - known if each[0] in {app for app, _ in known}}
    missing = known - applied
    if newer and missing:
        both = f"it has {_name(newer)}, and lacks {_name(missing)}"
        return Misfit(MisfitKind.CHANGED, f"The database has another history: {both}.")
    if newer and not running:
        cause = f"The database is of a newer release: it has {_name(newer)}."
        return Misfit(MisfitKind.NEWER, cause)
    if missing:
        cause = f"The database is not migrated: it lacks {_name(missing)}."
        return Misfit(MisfitKind.OLDER, cause)
    if differences := _compare_columns():
        begin = "Another release has changed the database" if newer else "The database is changed"
        kind = MisfitKind.NEWER if newer else MisfitKind.CHANGED
        return Misfit(kind, f"{begin}: {'; '.join(differences)}.")
    return None


@cache
def _list_migrations() -> frozenset[tuple[str, str]]:
    """Those of this code as it was loaded: an upgrade may exchange the files meanwhile."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _name(migrations: Collection[tuple[str, str]]) -> str:
    return _enumerate("the migration", (f"{app}.{name}" for app, name in migrations))


def _compare_columns() -> list[str]:
    """What the tables have too little, or too much: a row of ours says nothing of foreign columns,
    so they have to have a default."""
    ours = _list_columns()
    theirs: dict[str, dict[str, bool]] = {}
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS[connection.vendor], [json.dumps(list(ours))])
        for table, column, needed in cursor.fetchall():
            theirs.setdefault(table, {})[column] = bool(needed)
    there = {table: columns for table, columns in ours.items() if table in theirs}
    lacking = [f"{t}.{c}" for t, columns in there.items() for c in columns - theirs[t].keys()]
    demanding = [
        f"{t}.{c}"
        for t, columns in there.items()
        for c, needed in theirs[t].items()
        if needed and c not in columns
    ]
    found = {
        "it lacks the table": ours.keys() - there.keys(),
        "it lacks the column": lacking,
        "without a default it has the column": demanding,
    }
    return [_enumerate(words, names) for words, names in found.items() if names]


def _list_columns() -> dict[str, set[str]]:
    """Table → columns, of all models."""
    return {
        model._meta.db_table: {field.column for field in model._meta.local_concrete_fields}
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    }


def _enumerate(what: str, names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return f"{what}{'s' if len(listed) > 1 else ''} {', '.join(listed[:SHOWN])}{more}"


class Watch:
    """What a process that runs knows of it: nothing is served while the database does not fit."""

    def __init__(self) -> None:
        self.misfit: Misfit | None = None  # as it was when somebody looked last
        self._good_until = 0.0

    def look(self) -> Misfit | None:
        """What does not fit by now; the log tells it too. A good answer holds for a while: probes
        ask often."""
        if time.monotonic() < self._good_until:
            return None
        before, self.misfit = self.misfit, find_misfit(running=True)
        if self.misfit is None:
            self._good_until = time.monotonic() + KNOWN_FOR
        if self.misfit and self.misfit != before:
            log.error("database does not fit", reason=str(self.misfit))
        elif before and not self.misfit:
            log.warning("database fits again")
        return self.misfit


watch = Watch()
