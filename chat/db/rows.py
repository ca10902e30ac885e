"""Statements without the ORM, for what every turn and every frame asks: to put one together takes
the ORM 0.2 to 1 ms of processor time, whatever it fetches, and the database a hundredth of that.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Field, Model
from django.db.models.base import ModelState

AnyModel = TypeVar("AnyModel", bound=Model)
Values = Mapping[str, Any]


def read_row(model: type[AnyModel], *, lock: bool = False, **where: Any) -> AnyModel | None:
    """The row with those values, None where there is none. `lock`: nobody else changes it before
    this transaction ends."""
    conditions, values = _make_conditions(model, where)
    locking = " FOR UPDATE" if lock and connection.features.has_select_for_update else ""
    names, columns, converters = _read_by(model, connection.vendor)
    sql = f"SELECT {columns} FROM {model._meta.db_table} WHERE {conditions}{locking}"
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found = cursor.fetchone()
    if found is None:
        return None
    row = list(found)
    for place, column, steps in converters:
        for convert in steps:
            row[place] = convert(row[place], column, connection)
    return model.from_db(connection.alias, names, row)


def make_row(model: type[AnyModel], names: Iterable[str], values: Iterable[Any]) -> AnyModel:
    """A row of which only the columns of those names have been read, as after `only`: any other one
    is read when it is asked for. `from_db` takes six times as long."""
    row = model.__new__(model)
    row._state = ModelState()
    row._state.adding, row._state.db = False, connection.alias
    row.__dict__.update(zip(names, values, strict=True))
    return row


@cache
def _read_by(
    model: type[Model], vendor: str
) -> tuple[list[str], str, list[tuple[int, Any, list[Callable[..., Any]]]]]:
    """The names of a model's columns in Python and in SQL, and for those that the database does not
    give as Python has them the steps that make it so."""
    table = model._meta
    columns: list[Any] = [each.get_col(table.db_table) for each in table.concrete_fields]
    steps = (
        [*connection.ops.get_db_converters(each), *each.get_db_converters(connection)]
        for each in columns
    )
    return (
        [each.target.attname for each in columns],
        ", ".join(each.target.column for each in columns),
        [(place, columns[place], each) for place, each in enumerate(steps) if each],
    )


def read_values(model: type[Model], names: Iterable[str], **where: Any) -> list[tuple[Any, ...]]:
    """Columns of the rows with those values, as the database has them: for numbers and texts. A
    tuple stands for any of its values."""
    columns = ", ".join(_field(model, name).column for name in names)
    conditions, values = _make_conditions(model, where)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {model._meta.db_table} WHERE {conditions}", values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def insert_row(row: Model, *, as_given: Collection[str] = ()) -> None:
    """Store a new row, and give it the id that the database has chosen. Fields `as_given` are
    stored as they are: Django puts the current time into those with `auto_now_add`."""
    table = row._meta
    fields = [each for each in table.concrete_fields if not (each.primary_key and row.pk is None)]
    columns = ", ".join(str(each.column) for each in fields)
    places = ", ".join(["%s"] * len(fields))

    def value_of(each: Any) -> Any:
        return getattr(row, each.attname) if each.name in as_given else each.pre_save(row, True)

    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table.db_table} ({columns}) VALUES ({places}) "
            f"RETURNING {_field(type(row), 'pk').column}",
            [each.get_db_prep_save(value_of(each), connection) for each in fields],
        )
        row.pk = cursor.fetchone()[0]
    row._state.adding, row._state.db = False, connection.alias


def update_row(
    model: type[Model], values: Values, added: Values | None = None, **where: Any
) -> bool:
    """Set `values` in the rows of `where`, and add those of `added` to what they hold. False where
    there is none."""
    added = added or {}
    sets = [f"{_field(model, name).column} = %s" for name in values]
    sets += [f"{(column := _field(model, name).column)} = {column} + %s" for name in added]
    given = [_prepare(model, name, value) for name, value in (*values.items(), *added.items())]
    conditions, wanted = _make_conditions(model, where)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {model._meta.db_table} SET {', '.join(sets)} WHERE {conditions}",
            [*given, *wanted],
        )
        return bool(cursor.rowcount)


def save_row(row: Model, *names: str) -> None:
    """Store those fields of a row."""
    update_row(type(row), {name: getattr(row, name) for name in names}, pk=row.pk)


# --- Parts of statements ------------------------------------------------------------------------


def _make_conditions(model: type[Model], where: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The condition for rows with those values, and what its places hold."""
    conditions, given = [], []
    for name, value in where.items():
        several = value if isinstance(value, tuple) else (value,)
        places = ", ".join(["%s"] * len(several))
        conditions.append(f"{_field(model, name).column} IN ({places})")
        given += [_prepare(model, name, each) for each in several]
    return " AND ".join(conditions), given


def _prepare(model: type[Model], name: str, value: Any) -> Any:
    """A field's value as the database takes it."""
    return _field(model, name).get_db_prep_save(value, connection)


def _field(model: type[Model], name: str) -> "Field[Any, Any]":
    """A model's field; "pk" is its key, and a foreign key goes by its column too."""
    found = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(found, Field)
    return found
