"""Counters of budgets: what is spent and held in a period, in whole numbers. All that changes one
does so in the transaction that changes the row of the call, as its last statements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import connection

from spending.amounts import NANO
from spending.limits import Limit
from spending.models import BudgetCounter, ModelCall, Period, Unit
from spending.periods import find_span, find_start


@dataclass(frozen=True, slots=True)
class Count:
    """A counter's row: what is spent and held, and of which share its person was told last."""

    spent: int
    held: int
    told: int


# Of a person, or of the site, which has no person.
_WHERE = "{owner} AND period = %s AND starts = %s AND unit = %s"
_HOLD = """
    UPDATE spending_budgetcounter SET held = held + %s
    WHERE {where} AND spent + held + %s <= %s
"""
_GIVE_BACK = """
    UPDATE spending_budgetcounter
    SET held = CASE WHEN held > %s THEN held - %s ELSE 0 END, spent = spent + %s
    WHERE {where} RETURNING spent, held, told
"""
_READ = "SELECT spent, held, told FROM spending_budgetcounter WHERE {where}"
_MAKE = """
    INSERT INTO spending_budgetcounter (user_id, period, starts, unit, spent, held, told)
    VALUES (%s, %s, %s, %s, %s, %s, 0) ON CONFLICT DO NOTHING
"""
_TELL = "UPDATE spending_budgetcounter SET told = %s WHERE {where} AND told < %s"
_SET = "UPDATE spending_budgetcounter SET spent = %s, held = %s WHERE {where}"

# Row by row in whole numbers: a sum of what SQLite stores of an amount would not be exact.
_IN_UNITS = {
    Unit.MONEY: (
        f"SUM(CASE WHEN state = 'open' THEN 0 ELSE CAST(ROUND(cost * {NANO}) AS BIGINT) END)",
        f"SUM(CASE WHEN state = 'open' THEN CAST(ROUND(bound * {NANO}) AS BIGINT) ELSE 0 END)",
    ),
    Unit.TOKENS: (
        "SUM(CASE WHEN state = 'open' THEN 0 ELSE input_tokens + cache_read_tokens + "
        "cache_write_tokens + cache_write_1h_tokens + output_tokens END)",
        "SUM(CASE WHEN state = 'open' THEN bound_tokens ELSE 0 END)",
    ),
}


def hold(limit: Limit, moment: datetime, amount: int, *, room: int, most: int) -> bool:
    """Hold an amount in the period of a moment, where there is room for so much under `most`: one
    conditional update, which decides between all who send at once."""
    sql, where = _find(limit, moment, _HOLD)
    with connection.cursor() as cursor:
        cursor.execute(sql, [amount, *where, room, most])
        return bool(cursor.rowcount)


def give_back(limit: Limit, moment: datetime, held: int, spent: int) -> Count | None:
    """Turn what a call of that moment held into what it has cost. None without a counter: it is
    made with the next call."""
    sql, where = _find(limit, moment, _GIVE_BACK)
    with connection.cursor() as cursor:
        cursor.execute(sql, [held, held, spent, *where])
        found = cursor.fetchone()
    return Count(*found) if found else None


def read(limit: Limit, moment: datetime, *, lock: bool = False) -> Count | None:
    """The counter of a moment's period; None where there is none. `lock`: nobody else changes it
    before this transaction ends."""
    locking = " FOR UPDATE" if lock and connection.features.has_select_for_update else ""
    sql, where = _find(limit, moment, _READ + locking)
    with connection.cursor() as cursor:
        cursor.execute(sql, where)
        found = cursor.fetchone()
    return Count(*found) if found else None


def make(limit: Limit, moment: datetime) -> None:
    """Make a counter from the calls of its period, unless there is one by now."""
    starts = find_start(limit.period, moment)
    spent, held = add_up(limit.user_id, limit.period, starts, limit.unit)
    key = [limit.user_id, limit.period, _adapt(starts), limit.unit]
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, [*key, spent, held])


def tell(limit: Limit, moment: datetime, share: int) -> bool:
    """Note that somebody is told of a share, in per cent. False where that was done before."""
    sql, where = _find(limit, moment, _TELL)
    with connection.cursor() as cursor:
        cursor.execute(sql, [share, *where, share])
        return bool(cursor.rowcount)


def add_up(user_id: int | None, period: str, starts: date, unit: str) -> tuple[int, int]:
    """What the calls of a period have spent, and what those that are open may spend; of a person,
    or of all."""
    begin, end = (connection.ops.adapt_datetimefield_value(at) for at in find_span(period, starts))
    spent, held = _IN_UNITS[Unit(unit)]
    whose = "" if user_id is None else " AND user_id = %s"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {spent}, {held} FROM {ModelCall._meta.db_table} "
            f"WHERE opened_at >= %s AND opened_at < %s{whose}",
            [begin, end] if user_id is None else [begin, end, user_id],
        )
        found: Sequence[Any] = cursor.fetchone()
    return int(found[0] or 0), int(found[1] or 0)


def repair(counter: BudgetCounter) -> bool:
    """Set a counter to what the rows of its calls say, which were changed before it and are
    committed with it. False where that was so. In a transaction of its own."""
    key = Limit(counter.user_id, Period(counter.period), Unit(counter.unit), 0)
    moment = find_span(counter.period, counter.starts)[0]
    found = read(key, moment, lock=True)
    spent, held = add_up(counter.user_id, counter.period, counter.starts, counter.unit)
    if found is None or (found.spent, found.held) == (spent, held):
        return False
    sql, where = _find(key, moment, _SET)
    with connection.cursor() as cursor:
        cursor.execute(sql, [spent, held, *where])
    return True


def _find(limit: Limit, moment: datetime, sql: str) -> tuple[str, list[Any]]:
    """A statement for the counter of a moment's period, and what its condition holds."""
    starts = _adapt(find_start(limit.period, moment))
    key: list[Any] = [limit.period, starts, limit.unit]
    if limit.user_id is None:
        return sql.format(where=_WHERE.format(owner="user_id IS NULL")), key
    return sql.format(where=_WHERE.format(owner="user_id = %s")), [limit.user_id, *key]


def _adapt(day: date) -> Any:
    return connection.ops.adapt_datefield_value(day)
