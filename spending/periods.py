"""Days and months by the site's clock: when a budget begins, and when it begins anew."""

from datetime import date, datetime

from django.utils import timezone

from spending.models import Period
from spending.spans import begin_of, day_of, month_of


def find_start(period: str, moment: datetime) -> date:
    """The first day of the period that a moment lies in, at the site's place (TIME_ZONE)."""
    day = timezone.localdate(moment, timezone.get_default_timezone())
    return day if period == Period.DAY else day.replace(day=1)


def find_span(period: str, starts: date) -> tuple[datetime, datetime]:
    """When the period begins that has that first day, and when the next one does."""
    span = day_of(starts) if period == Period.DAY else month_of(starts)
    return begin_of(span.first), begin_of(span.end)
