"""Who is told that a budget is nearly or wholly spent, or was set anew: open pages, and by mail."""

from typing import Any

from django.dispatch import receiver

from accounts.models import User
from accounts.roles import select_administrators
from chat import tasks
from chat.html.budget_line import forget_budget_lines, read_budget_line
from chat.live.enqueuing import put_in_queue
from chat.protocol.broadcast import emit, user_group
from chat.protocol.events import BudgetLine
from spending.budgets import USED_UP, BudgetState
from spending.signals import budget_told, budgets_set


@receiver(budget_told, dispatch_uid="chat.live.budget_news.tell_people")
def tell_people(state: BudgetState, **_: Any) -> None:
    """The person whose budget it is; of the site's the administrators, and everybody at its end."""
    if state.user_id is not None:
        people = User.objects.filter(pk=state.user_id, is_active=True)
    elif state.share < USED_UP:
        people = select_administrators()
    else:
        people = User.objects.filter(is_active=True)
    _show_lines(list(people))
    put_in_queue(tasks.mail_budget, state.user_id, str(state.period), str(state.unit))


@receiver(budgets_set, dispatch_uid="chat.live.budget_news.show_again")
def show_again(user_ids: list[int], **_: Any) -> None:
    """Pages that tell of a budget tell how it is now."""
    forget_budget_lines()
    _show_lines(list(User.objects.filter(pk__in=user_ids)))


def _show_lines(people: list[User]) -> None:
    for user in people:
        emit(user_group(user.pk), BudgetLine(read_budget_line(user)))
