"""What becomes of a send, or of a turn, that a budget does not allow; that it is used up is told
once."""

from django.utils.translation import gettext

from agent.errors import AgentError, ErrorCode
from chat.errors import RefusalCode, Refused
from chat.html.budget_words import explain_busy, explain_used
from spending.budgets import BudgetExhausted, BudgetKept, BudgetUsed, tell_used

WAIT_SECONDS = 25.0  # for what running calls hold; a page gives up its requests after 30


def make_refusal(error: BudgetExhausted) -> Refused:
    """For what has not begun."""
    if isinstance(error, BudgetUsed):
        tell_used(error.state)
        return Refused(RefusalCode.BUDGET_USED, gettext(explain_used(error.state)))
    return Refused(
        RefusalCode.BUDGET_BUSY,
        gettext(explain_busy(error.state)),
        retryable=True,
        retry_after=round(WAIT_SECONDS),
    )


def make_failure(error: BudgetExhausted) -> AgentError:
    """For what runs, and needs another call."""
    if isinstance(error, BudgetUsed):
        if not isinstance(error, BudgetKept):
            tell_used(error.state)
        return AgentError(ErrorCode.BUDGET_USED, explain_used(error.state))
    return AgentError(ErrorCode.BUDGET_BUSY, explain_busy(error.state), retryable=True)
