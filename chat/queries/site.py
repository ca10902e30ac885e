"""What an administrator wants to know of the whole site first: added up in the database, from index
ranges. Writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate, TruncMonth
from django.utils import timezone

from accounts.models import User
from chat.models import Compaction, Conversation, Turn
from spending.models import ModelCall

SPANS = (1, 7, 30)  # days, today included
FAULT_DAYS = 14
MONTHS = 3
MOST_PEOPLE = 50
# Half of what somebody waits for at most, by default.
SLOW_SECONDS = 30
FAILED_COMPACTION = Q(status=Compaction.Status.FAILED)
SLOW_COMPACTION = ~FAILED_COMPACTION & Q(
    finished_at__gt=F("created_at") + timedelta(seconds=SLOW_SECONDS)
)


@dataclass(frozen=True, slots=True)
class Span:
    """So many days up to now: what model calls cost in US dollars, and how many people have said
    something."""

    days: int
    since: datetime
    dollars: float
    people: int


@dataclass(frozen=True, slots=True)
class Spending:
    """US dollars by person, a number for each of `months` (when they began, this one first), and
    how many people are not listed."""

    months: Sequence[datetime]
    people: Sequence[tuple[str, Sequence[float]]]
    others: int


@dataclass(frozen=True, slots=True)
class FaultyDay:
    """What went wrong on a day, and the time at which it began."""

    start: datetime
    failed_turns: int
    failed_compactions: int
    slow_compactions: int

    @property
    def faults(self) -> int:
        return self.failed_turns + self.failed_compactions + self.slow_compactions


def load_spans() -> list[Span]:
    """Today, a week and a month, in two queries."""
    since = {days: _days_ago(days - 1) for days in SPANS}
    calls = _add_up(ModelCall.objects.all(), "opened_at", Sum, "cost", since)
    people = _add_up(Conversation.objects.all(), "updated_at", Count, "owner", since, distinct=True)
    return [
        Span(days, start, float(calls[days] or 0), people[days]) for days, start in since.items()
    ]


def load_spending() -> Spending:
    """What model calls of this month and the two before have cost, by who pays, most of this month
    first. In two queries."""
    starts = _list_months()
    spent: dict[int, list[float]] = {}
    recent = ModelCall.objects.filter(opened_at__gte=starts[-1], cost__gt=0, user__isnull=False)
    by_month = recent.order_by().values("user", month=TruncMonth("opened_at"))
    for row in by_month.annotate(dollars=Sum("cost")):
        sums = spent.setdefault(row["user"], [0.0] * MONTHS)
        sums[starts.index(row["month"])] += float(row["dollars"])
    listed = sorted(spent, key=lambda owner: spent[owner], reverse=True)[:MOST_PEOPLE]
    names = dict(User.objects.filter(pk__in=listed).values_list("pk", "username"))
    return Spending(
        starts, [(names[owner], spent[owner]) for owner in listed], len(spent) - len(listed)
    )


def _list_months() -> list[datetime]:
    """The first midnights of this month and of those before, by the site's clock."""
    first = timezone.localdate().replace(day=1)
    months = []
    for _ in range(MONTHS):
        months.append(timezone.make_aware(datetime.combine(first, datetime.min.time())))
        first = (first - timedelta(days=1)).replace(day=1)
    return months


def load_days() -> list[FaultyDay]:
    """The last days, today first, in two queries."""
    turns = _count_by_day(Turn.objects.filter(status=Turn.Status.FAILED), failed=Count("pk"))
    compactions = _count_by_day(
        Compaction.objects.filter(FAILED_COMPACTION | SLOW_COMPACTION),
        failed=Count("pk", filter=FAILED_COMPACTION),
        slow=Count("pk", filter=SLOW_COMPACTION),
    )
    starts = [_days_ago(days) for days in range(FAULT_DAYS)]
    return [
        FaultyDay(
            start,
            turns.get(start.date(), {}).get("failed", 0),
            compactions.get(start.date(), {}).get("failed", 0),
            compactions.get(start.date(), {}).get("slow", 0),
        )
        for start in starts
    ]


def _days_ago(days: int) -> datetime:
    """The midnight, by the site's clock, with which the day began."""
    day = timezone.localdate() - timedelta(days=days)
    return timezone.make_aware(datetime.combine(day, datetime.min.time()))


def _add_up(
    rows: QuerySet[Any],
    moment: str,
    how: type[Sum] | type[Count],
    column: str,
    since: Mapping[int, datetime],
    **options: Any,
) -> dict[int, Any]:
    """By the spans' days, in one query."""
    longest = rows.filter(**{f"{moment}__gte": min(since.values())})
    found = longest.aggregate(
        **{
            f"days_{days}": how(column, filter=Q(**{f"{moment}__gte": start}), **options)
            for days, start in since.items()
        }
    )
    return {days: found[f"days_{days}"] for days in since}


def _count_by_day(rows: QuerySet[Any], **counts: Count) -> dict[date, dict[str, int]]:
    recent = rows.filter(created_at__gte=_days_ago(FAULT_DAYS - 1)).order_by()
    grouped: Sequence[dict[str, Any]] = list(
        recent.values(day=TruncDate("created_at")).annotate(**counts)
    )
    return {row.pop("day"): row for row in grouped}
