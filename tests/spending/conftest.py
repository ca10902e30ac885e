"""What the tests of spending share."""

import pytest


@pytest.fixture(autouse=True)
def nothing_is_known() -> None:
    """Budgets are kept for two seconds, whichever test made them."""
    from chat.html.budget_line import forget_budget_lines
    from spending.limits import forget_budgets

    forget_budgets()
    forget_budget_lines()
