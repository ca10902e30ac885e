"""Spending in the admin panel, added up from the model calls: charts of a span, and the months of
cost centres as CSV. For those who may see the calls, as operators may."""

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import Group
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from accounts.models import User
from chat.admin.base import list_url
from chat.html.figures import format_money
from chat.html.spending import (
    Namer,
    format_spent,
    make_lines,
    name_kinds,
    name_month,
    name_rows,
    render_days,
)
from chat.queries.spending import MONTHS, load_site
from spending.exports import name_file, write_cost_centre_calls, write_cost_centre_sums
from spending.models import ModelCall
from spending.queries import Sums, load_held
from spending.spans import LAST_DAYS, Span, last_days, last_months, month_of, read_month, read_span

USUAL = LAST_DAYS[-1]
MOST_PEOPLE = 50
DELETED = "deleted accounts"
NO_CENTRE = "no cost centre"

calls_permission_required = permission_required("spending.view_modelcall", raise_exception=True)


def list_spans() -> list[tuple[str, str]]:
    """What to choose from: keys for addresses, with words."""
    days = [(count, "Today" if count == "1" else f"{count} days") for count in LAST_DAYS]
    months = [(month.key, name_month(month)) for month in last_months(MONTHS)]
    return days + months


def choose_span(request: HttpRequest) -> tuple[str, Span]:
    """What is asked for, with its key; the usual span where there is no such one."""
    asked = request.GET.get("span", "")
    if span := read_span(asked):
        return asked, span
    return USUAL, last_days(int(USUAL))


@calls_permission_required
@require_GET
def show_charts(request: HttpRequest) -> HttpResponse:
    """Charts of the `span` that is asked for: by day, model, kind, person and cost centre."""
    key, span = choose_span(request)
    site = load_site(span)
    spent, held = site.calls.all, load_held()
    month = month_of(span.last)
    context = admin.site.each_context(request) | {
        "title": "Spending",
        "spans": list_spans(),
        "chosen": key,
        "spent": format_spent(spent),
        "sums": spent,
        "calls": f"{spent.calls:,}",
        "estimated": _describe_estimated(spent),
        "held": held,
        "held_dollars": format_money(held.dollars),
        "chart": render_days(site.calls.by_day) if len(span.days) > 1 else "",
        "models": make_lines(name_rows(site.calls.by_model.items(), _name_model(key))),
        "kinds": make_lines(name_kinds(site.calls.by_kind)),
        "people": make_lines(
            name_rows(site.by_person.items(), _name_person(key), most=MOST_PEOPLE)
        ),
        "groups": make_lines(name_rows(site.by_group.items(), _name_group(key), most=MOST_PEOPLE)),
        "month": name_month(month),
        "files": [(group, _file_url(group, month.key)) for group in site.by_group if group],
        "list_url": list_url(ModelCall, span=key),
    }
    return render(request, "admin/spending/charts.html", context)


@calls_permission_required
@require_GET
def send_cost_centre(request: HttpRequest, pk: int) -> HttpResponse:
    """A group's `month`: what its calls came to by person and model; with `calls` each of them."""
    month = read_month(request.GET.get("month", ""))
    if month is None:
        raise Http404
    group = get_object_or_404(Group, pk=pk)
    write = write_cost_centre_calls if "calls" in request.GET else write_cost_centre_sums
    name = name_file(month, slugify(group.name) or f"group-{pk}")
    return HttpResponse(
        "".join(write(group, month)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _describe_estimated(spent: Sums) -> str:
    """How much of what was spent is an estimate, in per cent; "" where nothing is."""
    if not spent.estimated_dollars:
        return ""
    return f"{100 * spent.estimated_dollars / spent.dollars:.1f}"


def _file_url(group: Group, month: str) -> str:
    return f"{reverse('admin:cost_centre', args=[group.pk])}?month={month}"


def _name_model(span: str) -> Namer[str]:
    return lambda name: (name, list_url(ModelCall, span=span, model=name))


def _name_person(span: str) -> Namer[User | None]:
    def name(user: User | None) -> tuple[str, str]:
        if user is None:
            return DELETED, ""
        return user.get_username(), list_url(ModelCall, span=span, person=user.get_username())

    return name


def _name_group(span: str) -> Namer[Group | None]:
    def name(group: Group | None) -> tuple[str, str]:
        if group is None:
            return NO_CENTRE, list_url(ModelCall, span=span, group__isnull=True)
        return group.name, list_url(ModelCall, span=span, group__id__exact=group.pk)

    return name
