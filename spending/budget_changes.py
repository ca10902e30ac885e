"""Budgets are set here, and nowhere else."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet

from accounts import audit
from accounts.models import User
from spending.budgets import repair_counters
from spending.models import Budget, BudgetCounter
from spending.signals import budgets_set

# By period and unit; None: unlimited. What is not in it has no budget.
Limits = Mapping[tuple[str, str], Decimal | None]


def find_budgets(*, group: Group | None = None, user: User | None = None) -> QuerySet[Budget]:
    """Those of a group, of a person, or with neither of the site."""
    return Budget.objects.filter(group=group, user=user)


def key_budgets(rows: Iterable[Budget]) -> dict[tuple[str, str], Budget]:
    """The budgets of one group, of one person or of the site, by period and unit."""
    return {(row.period, row.unit): row for row in rows}


def set_budgets(
    actor: User | None, limits: Limits, *, group: Group | None = None, user: User | None = None
) -> None:
    """Set all budgets of a group, of a person, or of the site. What changes is recorded; whoever
    was told of one that changes may be told again."""
    stored = key_budgets(find_budgets(group=group, user=user))
    before = {key: row.limit for key, row in stored.items()}
    changed = [
        key
        for key in sorted({*before, *limits})
        if not (key in before and key in limits and before[key] == limits[key])
    ]
    if not changed:
        return
    with transaction.atomic():
        for key in changed:
            period, unit = key
            row = stored.get(key) or Budget(group=group, user=user, period=period, unit=unit)
            if key in limits:
                row.limit = limits[key]
                row.save()
            else:
                row.delete()
        audit.record(
            actor,
            "set budgets",
            target=group or user,
            owner=user,
            changed=[f"{unit} a {period}" for period, unit in changed],
        )
        told = _find_counters(group, user).filter(told__gt=0)
        user_ids = list(told.values_list("user", flat=True))
        told.update(told=0)
        transaction.on_commit(repair_counters)
        transaction.on_commit(lambda: _announce(user_ids), robust=True)


def _find_counters(group: Group | None, user: User | None) -> QuerySet[BudgetCounter]:
    """The counters that a budget is about."""
    if group:
        return BudgetCounter.objects.filter(user__groups=group)
    return BudgetCounter.objects.filter(user=user)


def _announce(user_ids: Sequence[int | None]) -> None:
    """Of the site's budget, which has no person, everybody may have been told."""
    if None in user_ids:
        user_ids = list(User.objects.filter(is_active=True).values_list("pk", flat=True))
    budgets_set.send(None, user_ids=user_ids)
