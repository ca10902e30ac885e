"""Hooks for the packages above. Receivers run after the commit, in the process that made the
change."""

from django.dispatch import Signal

# What is left of a budget was told of for the first time in its period: sends `state`, the
# `spending.budgets.BudgetState`.
budget_told = Signal()
# A call has ended in this process: what it held may be free. Sends nothing else.
call_ended = Signal()
# Budgets were set: sends `user_ids`, of the people who were told of one that may have changed.
budgets_set = Signal()
