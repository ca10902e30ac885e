"""The line above a page that tells how much of a budget is spent."""

import time

from accounts.models import User
from accounts.policies import KEPT_SECONDS
from accounts.roles import is_administrator
from chat.html.budget_words import describe_nearly_used
from spending.budgets import NEAR, USED_UP, BudgetState, describe_budgets

# By person, with the time of reading: every page asks.
_kept: dict[int, tuple[float, list[BudgetState]]] = {}
MOST_KEPT = 1_000


def load_budget_line(user: User) -> str:
    """The words for a person's pages; "" while there is nothing to tell. Read every two seconds at
    most."""
    now = time.monotonic()
    kept = _kept.get(user.pk)
    if kept is None or now - kept[0] > KEPT_SECONDS:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        kept = _kept[user.pk] = (now, describe_budgets(user.pk))
    return _choose(kept[1], is_told_early=is_administrator(user))


def read_budget_line(user: User) -> str:
    """The same as it is at this moment."""
    _kept.pop(user.pk, None)
    return load_budget_line(user)


def _choose(states: list[BudgetState], *, is_told_early: bool) -> str:
    """What concerns a person most. Of the site's budget only administrators are told before it is
    used up."""
    told = [
        state
        for state in states
        if state.share >= (NEAR if state.user_id or is_told_early else USED_UP)
    ]
    return describe_nearly_used(max(told, key=lambda state: state.share)) if told else ""


def forget_budget_lines() -> None:
    """Read all anew."""
    _kept.clear()
