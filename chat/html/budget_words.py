"""What is said of budgets: whose it is, when it begins anew, and what works without it."""

from decimal import Decimal

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from chat.html.figures import format_money, format_tokens
from chat.html.moments import format_moment
from spending.budgets import NEAR, USED_UP, BudgetState
from spending.models import Period, Unit

STILL_WORKS = gettext_lazy(
    "Reading, search and export work as before, and summaries are written by rule."
)
ANSWERS_GO_ON = gettext_lazy("Answers go on; titles and preparations wait until then.")
# Stored with the turn that ends for it, so without figures. By whether it is the site's budget, and
# for how long it lasts.
_USED = {
    (False, Period.DAY): gettext_noop(
        "Your budget for today is used up. It begins anew at midnight by the site's clock, and an "
        "administrator can raise it. Reading, search and export work as before, and summaries are "
        "written by rule."
    ),
    (False, Period.MONTH): gettext_noop(
        "Your budget for this month is used up. It begins anew on the first of the next month, and "
        "an administrator can raise it. Reading, search and export work as before, and summaries "
        "are written by rule."
    ),
    (True, Period.DAY): gettext_noop(
        "The budget of the whole site for today is used up. It begins anew at midnight by the "
        "site's clock, and an administrator can raise it. Reading, search and export work as "
        "before, and summaries are written by rule."
    ),
    (True, Period.MONTH): gettext_noop(
        "The budget of the whole site for this month is used up. It begins anew on the first of "
        "the next month, and an administrator can raise it. Reading, search and export work as "
        "before, and summaries are written by rule."
    ),
}
_NEARLY_USED = {
    (False, Period.DAY): gettext_noop("{share} % of your budget for today is spent: {spent}."),
    (False, Period.MONTH): gettext_noop(
        "{share} % of your budget for this month is spent: {spent}."
    ),
    (True, Period.DAY): gettext_noop("{share} % of the site's budget for today is spent: {spent}."),
    (True, Period.MONTH): gettext_noop(
        "{share} % of the site's budget for this month is spent: {spent}."
    ),
}
_NOTHING = {
    False: gettext_noop(
        "Your budget is zero: no model can be asked. An administrator can raise it. Reading, "
        "search and export work as before."
    ),
    True: gettext_noop(
        "The budget of the whole site is zero: no model can be asked. An administrator can raise "
        "it. Reading, search and export work as before."
    ),
}
_TOO_DEAR = {
    False: gettext_noop(
        "This may cost more than is left of your budget. Compact the chat, choose a cheaper model "
        "or begin a new chat; an administrator can raise the budget."
    ),
    True: gettext_noop(
        "This may cost more than is left of the site's budget. Compact the chat, choose a cheaper "
        "model or begin a new chat; an administrator can raise the budget."
    ),
}
_BUSY = {
    False: gettext_noop(
        "Other answers of yours hold what is left of your budget; what they do not spend comes "
        "back when they end. Your text is kept; try again in a moment."
    ),
    True: gettext_noop(
        "Other answers hold what is left of the site's budget; what they do not spend comes back "
        "when they end. Your text is kept; try again in a moment."
    ),
}


def explain_used(state: BudgetState) -> str:
    """Why a model was not asked; marked with `gettext_noop`."""
    of_site = state.user_id is None
    if not state.limit:
        return _NOTHING[of_site]
    return _USED[of_site, state.period] if state.share >= NEAR else _TOO_DEAR[of_site]


def explain_busy(state: BudgetState) -> str:
    """Why one was not asked now; marked with `gettext_noop`."""
    return _BUSY[state.user_id is None]


def describe_nearly_used(state: BudgetState) -> str:
    """The line for a page, and the subject of what is sent: how much of a budget is spent, and when
    it begins anew."""
    if not state.limit:
        return gettext(explain_used(state))
    share, spent = min(state.share, USED_UP), describe_spent(state)
    words = gettext(_NEARLY_USED[state.user_id is None, state.period])
    resets = gettext("It begins anew on {moment}.").format(moment=format_moment(state.resets_at))
    goes_on = STILL_WORKS if share == USED_UP else ANSWERS_GO_ON
    return f"{words.format(share=share, spent=spent)} {resets} {goes_on}"


def describe_spent(state: BudgetState) -> str:
    """`$4.02 of $5.00`, `12k tokens of 50k tokens`."""
    spent, limit = (describe_amount(state.unit, each) for each in (state.spent, state.limit))
    return gettext("{spent} of {limit}").format(spent=spent, limit=limit)


def describe_amount(unit: str, amount: Decimal) -> str:
    """`$4.02`, `12k tokens`."""
    if unit == Unit.MONEY:
        return format_money(amount)
    return gettext("{count} tokens").format(count=format_tokens(int(amount)))
