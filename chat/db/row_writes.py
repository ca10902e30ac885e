"""The statements of a turn that write, without the ORM: see `chat.db.rows`."""

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.models import Model

from chat.db.rows import field, make_conditions, prepare

Values = Mapping[str, Any]


def insert_row(row: Model) -> None:
    """Store a new row, and give it the id that the database has chosen."""
    table = row._meta
    fields = [each for each in table.concrete_fields if not (each.primary_key and row.pk is None)]
    columns = ", ".join(str(each.column) for each in fields)
    places = ", ".join(["%s"] * len(fields))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table.db_table} ({columns}) VALUES ({places}) "
            f"RETURNING {field(type(row), 'pk').column}",
            [each.get_db_prep_save(each.pre_save(row, True), connection) for each in fields],
        )
        row.pk = cursor.fetchone()[0]
    row._state.adding, row._state.db = False, connection.alias


def update_row(
    model: type[Model], values: Values, added: Values | None = None, **where: Any
) -> bool:
    """Set `values` in the rows of `where`, and add those of `added` to what they hold. False where
    there is none."""
    added = added or {}
    sets = [f"{field(model, name).column} = %s" for name in values]
    sets += [f"{(column := field(model, name).column)} = {column} + %s" for name in added]
    given = [prepare(model, name, value) for name, value in (*values.items(), *added.items())]
    conditions, wanted = make_conditions(model, where)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {model._meta.db_table} SET {', '.join(sets)} WHERE {conditions}",
            [*given, *wanted],
        )
        return bool(cursor.rowcount)


def save_row(row: Model, *names: str) -> None:
    """Store those fields of a row."""
    update_row(type(row), {name: getattr(row, name) for name in names}, pk=row.pk)
