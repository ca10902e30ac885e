"""Budgets in the administration: of the site, of a group, of a person, with what is used."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import User
from accounts.roles import is_administrator
from chat.html.budget_words import describe_amount, describe_spent
from spending.budget_changes import find_budgets, key_budgets, set_budgets
from spending.budgets import describe_budgets
from spending.models import Budget, ModelCall, Period, Unit
from spending.periods import find_span, find_start
from spending.queries import Sums, add_up, add_up_all

NO_BUDGET, UNLIMITED, AT_MOST = "none", "unlimited", "most"
MOST_LISTED = 200  # groups, and people, on the first page

# By period and unit, in the order of the pages.
LABELS = {
    (Period.DAY, Unit.MONEY): "US dollars a day",
    (Period.MONTH, Unit.MONEY): "US dollars a month",
    (Period.DAY, Unit.TOKENS): "Tokens a day",
    (Period.MONTH, Unit.TOKENS): "Tokens a month",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose budget it is: a group's members', a person's, or with neither the site's."""

    group: Group | None = None
    user: User | None = None

    @property
    def name(self) -> str:
        if self.group:
            return f"Each member of {self.group}"
        return str(self.user) if self.user else "The whole site"

    @property
    def without(self) -> str:
        """What holds where this scope has no budget."""
        return "As the groups say" if self.user else "No budget"

    @property
    def url(self) -> str:
        if self.group:
            return reverse("admin:spending_budget_group", args=[self.group.pk])
        if self.user:
            return reverse("admin:spending_budget_user", args=[self.user.pk])
        return reverse("admin:spending_budget_site")

    def load_budgets(self) -> dict[tuple[str, str], Budget]:
        """By period and unit."""
        return key_budgets(find_budgets(group=self.group, user=self.user))

    def describe_use(self) -> dict[tuple[str, str], str]:
        """By period and unit, what is used of it now."""
        used = {period: _load_used(self, period) for period in Period}
        words = "so far by whoever has used most" if self.group else "so far"
        return {
            (period, unit): f"{_describe_most(used[period], unit)} {words}"
            for period, unit in LABELS
        }


class BudgetForm(forms.Form):
    """Four budgets of a scope, each with a choice and an amount."""

    def __init__(self, *args: Any, scope: Scope, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stored = scope.load_budgets()
        use = scope.describe_use()
        choices = [(NO_BUDGET, scope.without), (UNLIMITED, "Unlimited"), (AT_MOST, "At most")]
        self.rows = []
        for (period, unit), label in LABELS.items():
            row = stored.get((period, unit))
            name = f"{unit}_{period}"
            self.fields[name] = forms.ChoiceField(
                label=label, choices=choices, initial=_choose(row)
            )
            self.fields[f"{name}_most"] = forms.DecimalField(
                label=f"{label}: at most",
                required=False,
                min_value=0,
                max_value=10**9,
                decimal_places=2 if unit == Unit.MONEY else 0,
                initial=_write(row.limit) if row and row.limit is not None else None,
            )
            self.rows.append((label, self[name], self[f"{name}_most"], use[period, unit]))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for period, unit in LABELS:
            name = f"{unit}_{period}"
            most = f"{name}_most"
            is_missing = values.get(most) is None and most not in self.errors
            if values.get(name) == AT_MOST and is_missing:
                self.add_error(most, "Enter the most that may be spent; 0 is nothing.")
        return values

    def read_limits(self) -> dict[tuple[str, str], Decimal | None]:
        """As `set_budgets` takes them."""
        values = self.cleaned_data
        return {
            (period, unit): values[f"{unit}_{period}_most"] if chosen == AT_MOST else None
            for period, unit in LABELS
            if (chosen := values[f"{unit}_{period}"]) != NO_BUDGET
        }


class WhoseForm(forms.Form):
    """Whose budgets are to be set."""

    group = forms.ModelChoiceField(Group.objects.order_by("name"), required=False)
    user = forms.CharField(label="Or a person, by name", required=False, max_length=150)

    def find_scope(self) -> Scope | None:
        """None where nobody is named, or somebody who does not exist."""
        if not self.is_valid():
            return None
        if group := self.cleaned_data["group"]:
            return Scope(group=group)
        user = User.objects.filter(username=self.cleaned_data["user"]).first()
        return Scope(user=user) if user else None


@admin.register(Budget)
class BudgetAdmin(admin.ModelAdmin):
    """A list of whose budgets there are, and a page for those of each. For administrators."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"spending_budget_{name}")

        return [
            page("", self.changelist_view, "changelist"),
            page("site/", self.scope_view, "site"),
            page("group/<int:group>/", self.scope_view, "group"),
            page("user/<int:user>/", self.scope_view, "user"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        self._require(request)
        whose = WhoseForm(request.GET if "user" in request.GET else None)
        if whose.is_bound:
            if scope := whose.find_scope():
                return redirect(scope.url)
            messages.error(request, "There is no such group or person.")
        return render(
            request,
            "admin/spending/budgets.html",
            self.admin_site.each_context(request)
            | {"title": "Budgets", "scopes": _list_scopes(), "whose": whose, "labels": LABELS},
        )

    def scope_view(
        self, request: HttpRequest, group: int | None = None, user: int | None = None
    ) -> HttpResponse:
        """What one group, person or the site may spend."""
        self._require(request)
        scope = _find_scope(group, user)
        form = BudgetForm(request.POST or None, scope=scope)
        if request.method == "POST" and form.is_valid():
            assert isinstance(request.user, User)
            set_budgets(request.user, form.read_limits(), group=scope.group, user=scope.user)
            messages.success(request, f"{scope.name}: the budgets are set. They hold in 2 seconds.")
            return redirect("admin:spending_budget_changelist")
        in_force = describe_budgets(scope.user.pk) if scope.user else []
        return render(
            request,
            "admin/spending/budget_form.html",
            self.admin_site.each_context(request)
            | {
                "title": f"Budgets: {scope.name}",
                "scope": scope,
                "form": form,
                "in_force": [
                    (LABELS[each.period, each.unit], describe_spent(each), each)
                    for each in in_force
                ],
            },
            status=422 if form.errors else 200,
        )

    def _require(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied


def _find_scope(group: int | None, user: int | None) -> Scope:
    try:
        return Scope(
            group and Group.objects.get(pk=group),  # type: ignore[arg-type]
            user and User.objects.get(pk=user),  # type: ignore[arg-type]
        )
    except (Group.DoesNotExist, User.DoesNotExist):
        raise Http404 from None


def _list_scopes() -> list[tuple[Scope, list[str]]]:
    """The site, all groups, and the people with a budget of their own, with their limits in the
    order of `LABELS`."""
    groups = Group.objects.prefetch_related("budgets").order_by("name")[:MOST_LISTED]
    people = User.objects.filter(budgets__isnull=False).distinct().prefetch_related("budgets")
    return [
        (Scope(), _list_limits(find_budgets())),
        *((Scope(group=each), _list_limits(each.budgets.all())) for each in groups),
        *(
            (Scope(user=each), _list_limits(each.budgets.all()))
            for each in people.order_by("username")[:MOST_LISTED]
        ),
    ]


def _list_limits(rows: Iterable[Budget]) -> list[str]:
    stored = key_budgets(rows)
    return [
        "–"
        if (row := stored.get(key)) is None
        else "unlimited"
        if row.limit is None
        else describe_amount(row.unit, row.limit)
        for key in LABELS
    ]


def _write(limit: Decimal) -> str:
    """`5000000`, `12.5`: a browser's field for numbers takes no other form."""
    return f"{limit.normalize():f}"


def link_budgets(scope: Scope) -> SafeString:
    """What a person or a group's members may spend, as a link to where it is set."""
    stored = scope.load_budgets()
    said = [
        "unlimited " + LABELS[key].lower().replace("us dollars", "dollars")
        if row.limit is None
        else f"{describe_amount(row.unit, row.limit)} a {row.period}"
        for key in LABELS
        if (row := stored.get(key))
    ]
    return format_html('<a href="{}">{}</a>', scope.url, ", ".join(said) or scope.without)


def _choose(row: Budget | None) -> str:
    if row is None:
        return NO_BUDGET
    return UNLIMITED if row.limit is None else AT_MOST


# --- What is used ---------------------------------------------------------------------------------


def _load_used(scope: Scope, period: str) -> list[Sums]:
    """What the calls of a running period came to: a person's, the site's, or those of each member
    of a group who has made some."""
    begin, _ = find_span(period, find_start(period, timezone.now()))
    calls = ModelCall.objects.filter(opened_at__gte=begin)
    if scope.group:
        return [*add_up(calls.filter(user__groups=scope.group), "user").values()]
    return [add_up_all(calls.filter(user=scope.user) if scope.user else calls)]


def _describe_most(used: Iterable[Sums], unit: str) -> str:
    amounts = [sums.dollars if unit == Unit.MONEY else Decimal(sums.tokens) for sums in used]
    return describe_amount(unit, max(amounts, default=Decimal(0)))
