"""What an administrator wants to know of the whole site first: added up in the database, from index
ranges. Writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import TruncDate

from chat.models import Compaction, Conversation, Turn
from spending.models import ModelCall
from spending.queries import Sums, add_up
from spending.spans import begin_of, last_days

SPANS = (1, 7, 30)  # days, today included
FAULT_DAYS = 14
# Half of what somebody waits for at most, by default.
SLOW_SECONDS = 30
FAILED_COMPACTION = Q(status=Compaction.Status.FAILED)
SLOW_COMPACTION = ~FAILED_COMPACTION & Q(
    finished_at__gt=F("created_at") + timedelta(seconds=SLOW_SECONDS)
)


@dataclass(frozen=True, slots=True)
class Use:
    """So many days up to now: what model calls came to, and how many people have said something in
    conversations that still exist."""

    days: int
    since: datetime
    spent: Sums
    people: int


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


def load_use() -> list[Use]:
    """Today, a week and a month, in two queries."""
    firsts = {days: last_days(days).first for days in SPANS}
    earliest = begin_of(min(firsts.values()))
    people = Conversation.objects.filter(updated_at__gte=earliest).aggregate(
        **{
            str(days): Count("owner", filter=Q(updated_at__gte=begin_of(first)), distinct=True)
            for days, first in firsts.items()
        }
    )
    calls = ModelCall.objects.filter(opened_at__gte=earliest)
    newest = add_up(calls, periods=list(firsts.values()))
    use, spent = [], Sums()
    for days, first in firsts.items():  # each holds those before it
        spent += newest.get((first,), Sums())
        use.append(Use(days, begin_of(first), spent, people[str(days)]))
    return use


def load_days() -> list[FaultyDay]:
    """The last days, today first, in two queries."""
    turns = _count_by_day(Turn.objects.filter(status=Turn.Status.FAILED), failed=Count("pk"))
    compactions = _count_by_day(
        Compaction.objects.filter(FAILED_COMPACTION | SLOW_COMPACTION),
        failed=Count("pk", filter=FAILED_COMPACTION),
        slow=Count("pk", filter=SLOW_COMPACTION),
    )
    return [
        FaultyDay(
            begin_of(day),
            turns.get(day, {}).get("failed", 0),
            compactions.get(day, {}).get("failed", 0),
            compactions.get(day, {}).get("slow", 0),
        )
        for day in reversed(last_days(FAULT_DAYS).days)
    ]


def _count_by_day(rows: QuerySet[Any], **counts: Count) -> dict[date, dict[str, int]]:
    recent = rows.filter(created_at__gte=begin_of(last_days(FAULT_DAYS).first)).order_by()
    grouped: Sequence[dict[str, Any]] = list(
        recent.values(day=TruncDate("created_at")).annotate(**counts)
    )
    return {row.pop("day"): row for row in grouped}
