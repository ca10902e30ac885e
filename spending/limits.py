"""Which budgets hold for a person: read every two seconds at most, so that where there are none a
call costs no statement. What another process changes counts after that."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from accounts.kept import Kept
from accounts.policies import load_rights
from spending.amounts import NANO
from spending.models import Budget, Period, Unit

# In which budgets are held: the same for everybody, so that no two wait for each other.
ORDER = [(period, unit) for period in Period for unit in Unit]


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that may be spent in a period: by one person, or with `user_id` None by the whole
    site. `most` is in billionths of a dollar, or in tokens; `group_id`: whose budget it is, where
    it is a group's."""

    user_id: int | None
    period: Period
    unit: Unit
    most: int
    group_id: int | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    group_id: int | None
    user_id: int | None
    most: int | None  # None: unlimited


_Rows = dict[tuple[str, str], list[_Row]]
_kept: Kept[str, _Rows] = Kept()  # under one key: all


def find_limits(user_id: int | None) -> list[Limit]:
    """What holds for a person's calls, in the order in which it is held: the person's own limits,
    then the site's. None of a person for the calls of nobody."""
    budgets = _load_budgets()
    if not budgets:
        return []
    found = [_find_own(user_id, key, rows) for key, rows in budgets.items()] if user_id else []
    of_site = [
        Limit(None, Period(period), Unit(unit), row.most)
        for (period, unit), rows in budgets.items()
        for row in rows
        if row.most is not None and row.group_id is None and row.user_id is None
    ]
    return [each for each in found if each] + of_site


def _find_own(user_id: int, key: tuple[str, str], rows: Sequence[_Row]) -> Limit | None:
    """A person's own budget counts instead of the groups'; of those the most generous does."""
    counted = [row for row in rows if row.user_id == user_id]
    if not counted and any(row.group_id for row in rows):
        group_ids = load_rights(user_id).group_ids
        counted = [row for row in rows if row.group_id in group_ids]
    if not counted or any(row.most is None for row in counted):
        return None
    row = max(counted, key=lambda row: row.most or 0)
    return Limit(user_id, Period(key[0]), Unit(key[1]), row.most or 0, row.group_id)


def _load_budgets() -> _Rows:
    """All budgets by period and unit, in `ORDER`."""
    return _kept.load("all", _read_budgets)


def _read_budgets() -> _Rows:
    rows: _Rows = {}
    named = ("period", "unit", "group_id", "user_id", "limit")
    for period, unit, group_id, user_id, limit in Budget.objects.values_list(*named):
        most = None if limit is None else convert_limit(unit, limit)
        rows.setdefault((period, unit), []).append(_Row(group_id, user_id, most))
    return {key: rows[key] for key in ORDER if key in rows}


def convert_limit(unit: str, limit: Decimal) -> int:
    """A budget's limit as counters count: in billionths of a dollar, or in tokens."""
    return int(limit * NANO) if unit == Unit.MONEY else int(limit)


@receiver([post_save, post_delete], sender=Budget, dispatch_uid="spending.limits.forget")
def _forget_after_commit(**_: Any) -> None:
    transaction.on_commit(forget_budgets)


def forget_budgets() -> None:
    """Read the budgets anew when they are asked for next."""
    _kept.forget()
