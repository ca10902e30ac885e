"""What somebody's own pages and the administration say of spending: sums of model calls, with the
names of what they belong to. Writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.contrib.auth.models import Group
from django.utils import timezone

from accounts.models import User
from agent.model_names import join_name
from chat.models import Conversation
from spending.models import ModelCall
from spending.queries import Sums, add_up, find_calls, fold, total
from spending.spans import Span, begin_of, last_months

MONTHS = 12


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The calls of a span by what people ask for, each the dearest first: by model (with its
    provider as `name::model`, where it has one) and by kind; and by day, in order."""

    span: Span
    all: Sums
    by_day: Mapping[date, Sums]
    by_model: Mapping[str, Sums]
    by_kind: Mapping[str, Sums]


@dataclass(frozen=True, slots=True)
class ByConversation:
    """Somebody's calls by conversation, the dearest first. `deleted`: of conversations that they no
    longer have; `none`: of no conversation."""

    present: Sequence[tuple[Conversation, Sums]]
    deleted: Sums
    none: Sums


@dataclass(frozen=True, slots=True)
class SiteBreakdown:
    """The calls of the whole site in a span. None stands for an account that was deleted, and for
    no cost centre."""

    calls: Breakdown
    by_person: Mapping[User | None, Sums]
    by_group: Mapping[Group | None, Sums]


def load_months(user: User) -> tuple[Sums, list[tuple[Span, Sums]]]:
    """What somebody has spent today, and in each of the last months, this one first."""
    months = last_months(MONTHS)
    today, first = timezone.localdate(), months[0].first
    own = ModelCall.objects.filter(user=user, opened_at__gte=begin_of(months[-1].first))
    periods = list({today, *(month.first for month in months)})
    found = {day: sums for (day,), sums in add_up(own, periods=periods).items()}
    spent_today = found.get(today, Sums())
    if today != first:
        found[first] = found.get(first, Sums()) + spent_today
    return spent_today, [(month, found.get(month.first, Sums())) for month in months]


def load_own(user: User, span: Span) -> Breakdown:
    found = add_up(
        find_calls(span).filter(user=user), "provider", "model", "kind", periods=span.days
    )
    return _break_down(span, found)


def load_by_conversation(user: User, span: Span) -> ByConversation:
    """In two statements."""
    calls = find_calls(span).filter(user=user)
    found = fold(add_up(calls, "conversation"), lambda conversation: conversation)
    none = found.pop(None, Sums())
    named = Conversation.objects.of(user).filter(pk__in=calls.values("conversation"))
    present = named.only("title").in_bulk()
    return ByConversation(
        [(present[pk], sums) for pk, sums in found.items() if pk in present],
        total(sums for pk, sums in found.items() if pk not in present),
        none,
    )


def load_site(span: Span) -> SiteBreakdown:
    """In three statements, of which one reads the calls."""
    columns = ("provider", "model", "kind", "user", "group")
    found = add_up(find_calls(span), *columns, periods=span.days)
    people = fold(found, lambda day, provider, model, kind, user, group: user)
    groups = fold(found, lambda day, provider, model, kind, user, group: group)
    users = User.objects.only("username").in_bulk([pk for pk in people if pk])
    centres = Group.objects.in_bulk([pk for pk in groups if pk])
    return SiteBreakdown(
        _break_down(span, found),
        {users.get(pk): sums for pk, sums in people.items()},
        {centres.get(pk): sums for pk, sums in groups.items()},
    )


def _break_down(span: Span, found: Mapping[tuple[object, ...], Sums]) -> Breakdown:
    """Of sums by day, provider, model, kind and whatever else."""
    days = fold(found, lambda day, *others: day)
    return Breakdown(
        span,
        total(found.values()),
        {day: days.get(day, Sums()) for day in span.days},
        fold(found, lambda day, provider, model, *others: join_name(provider, model)),
        fold(found, lambda day, provider, model, kind, *others: kind),
    )
