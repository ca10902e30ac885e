"""HTTP: what somebody has spent, as a page, and their own model calls as CSV."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from accounts.doors import login_or_token
from accounts.models import User
from accounts.roles import is_administrator
from accounts.tokens import USAGE_READ
from chat.html.spending import (
    Line,
    describe_budget,
    format_spent,
    make_lines,
    name_kinds,
    name_month,
    name_rows,
    render_days,
)
from chat.queries.spending import load_by_conversation, load_months, load_own
from chat.web.access import get_user
from spending.budgets import describe_budgets
from spending.exports import name_file, write_own_calls
from spending.spans import Span, month_of, read_month


@login_required
@require_GET
def usage_page(request: HttpRequest) -> HttpResponse:
    """Today, the months, and a `month` (this one, where none is given) by day, model, kind and
    conversation."""
    return render(request, "chat/usage/page.html", _load(get_user(request), _read_month(request)))


@login_or_token(USAGE_READ)
@require_GET
def usage_calls(request: HttpRequest) -> HttpResponse:
    """The calls of a `month`, a line each."""
    month = _read_month(request)
    disposition = {"Content-Disposition": f'attachment; filename="{name_file(month)}"'}
    return HttpResponse(
        "".join(write_own_calls(get_user(request), month)),
        content_type="text/csv; charset=utf-8",
        headers=disposition,
    )


def _read_month(request: HttpRequest) -> Span:
    """What is no month counts as not given."""
    return read_month(request.GET.get("month", "")) or month_of(timezone.localdate())


def load_figures(user: User) -> dict[str, Any]:
    """Today, the months and the budgets, as `templates/chat/usage/figures.html` shows them."""
    today, months = load_months(user)
    return {
        "today": format_spent(today),
        "this_month": format_spent(months[0][1]),
        "budgets": [
            describe_budget(state)
            for state in describe_budgets(user.pk)
            if state.user_id or is_administrator(user)
        ],
        "months": [
            (name_month(each), each.key, format_spent(sums)) for each, sums in months if sums.calls
        ],
    }


def _load(user: User, month: Span) -> dict[str, Any]:
    own = load_own(user, month)
    return load_figures(user) | {
        "shown": name_month(month),
        "key": month.key,
        "sums": own.all,
        "calls": f"{own.all.calls:,}",
        "spent": format_spent(own.all),
        "chart": render_days(own.by_day),
        "models": make_lines(name_rows(own.by_model.items(), lambda name: (name, ""))),
        "kinds": make_lines(name_kinds(own.by_kind)),
        "conversations": _list_conversations(user, month),
    }


def _list_conversations(user: User, month: Span) -> list[Line]:
    found = load_by_conversation(user, month)
    rows = name_rows(found.present, lambda row: (str(row), row.get_absolute_url()))
    rest = {
        gettext("Deleted conversations"): found.deleted,
        gettext("Outside of conversations"): found.none,
    }
    return make_lines(rows + [(words, "", sums) for words, sums in rest.items() if sums.calls])
