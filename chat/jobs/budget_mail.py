"""Mail about a budget that is nearly or wholly spent."""

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.translation import gettext

from accounts.mail import send_or_log
from accounts.models import User
from accounts.preferences import speaking_to
from accounts.roles import select_administrators
from chat.html.budget_words import describe_nearly_used
from spending.budgets import NEAR, BudgetState, describe_budgets

log = structlog.get_logger(__name__)


def mail_budget_word(user_id: int | None, period: str, unit: str) -> None:
    """Write to a person, or about the site's budget (None) to the administrators, how much of the
    budget is spent. Where no mail server is configured, nothing is sent."""
    state = _find_state(user_id, period, unit)
    if not settings.MAIL or state is None or state.share < NEAR:
        return
    people = User.objects.filter(pk=user_id, is_active=True) if user_id else select_administrators()
    for person in people.exclude(email=""):
        with speaking_to(person.pk):
            subject = (
                gettext("Everlong: your budget")
                if user_id
                else gettext("Everlong: the site's budget")
            )
            send_or_log(EmailMessage(subject, describe_nearly_used(state), to=[person.email]))
    log.info("budget told by mail", user=user_id, period=period, unit=unit, share=state.share)


def _find_state(user_id: int | None, period: str, unit: str) -> BudgetState | None:
    key = (user_id, period, unit)
    states = describe_budgets(user_id)
    return next((each for each in states if (each.user_id, each.period, each.unit) == key), None)
