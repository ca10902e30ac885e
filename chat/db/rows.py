"""Reads without the ORM, for what every turn and every frame asks: to put a statement together
takes it 0.2 to 1 ms of processor time, whatever it fetches, and the database a hundredth of that.
Writes are in `chat.db.row_writes`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Field, Model

AnyModel = TypeVar("AnyModel", bound=Model)


def read_row(model: type[AnyModel], *, lock: bool = False, **where: Any) -> AnyModel | None:
    """The row with those values, None where there is none. `lock`: nobody else changes it before
    this transaction ends."""
    conditions, values = make_conditions(model, where)
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
    columns = ", ".join(field(model, name).column for name in names)
    conditions, values = make_conditions(model, where)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {model._meta.db_table} WHERE {conditions}", values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def make_conditions(model: type[Model], where: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The condition for rows with those values, and what its places hold."""
    conditions, given = [], []
    for name, value in where.items():
        several = value if isinstance(value, tuple) else (value,)
        places = ", ".join(["%s"] * len(several))
        conditions.append(f"{field(model, name).column} IN ({places})")
        given += [prepare(model, name, each) for each in several]
    return " AND ".join(conditions), given


def prepare(model: type[Model], name: str, value: Any) -> Any:
    """A field's value as the database takes it."""
    return field(model, name).get_db_prep_save(value, connection)


def field(model: type[Model], name: str) -> "Field[Any, Any]":
    """A model's field; "pk" is its key, and a foreign key goes by its column too."""
    found = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(found, Field)
    return found
