"""The line above a page that tells how much of a budget is spent."""

from accounts.kept import Kept
from accounts.models import User
from accounts.roles import is_administrator
from chat.html.budget_words import describe_nearly_used
from spending.budgets import NEAR, USED_UP, BudgetState, describe_budgets

_kept: Kept[int, list[BudgetState]] = Kept()  # by person: every page asks


def load_budget_line(user: User) -> str:
    """The words for a person's pages; "" while there is nothing to tell."""
    states = _kept.load(user.pk, lambda: describe_budgets(user.pk))
    return _choose(states, is_told_early=is_administrator(user))


def read_budget_line(user: User) -> str:
    """The same as it is at this moment."""
    _kept.forget(user.pk)
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
    _kept.forget()
