"""Days and months by the site's clock: when a budget begins, and when it begins anew."""

from datetime import date, datetime, time, timedelta

from django.utils import timezone

from spending.models import Period


def find_start(period: str, moment: datetime) -> date:
    """The first day of the period that a moment lies in, at the site's place (TIME_ZONE)."""
    day = moment.astimezone(timezone.get_default_timezone()).date()
    return day if period == Period.DAY else day.replace(day=1)


def find_span(period: str, starts: date) -> tuple[datetime, datetime]:
    """When the period begins that has that first day, and when the next one does."""
    return _midnight(starts), _midnight(_find_next(period, starts))


def _find_next(period: str, starts: date) -> date:
    if period == Period.DAY:
        return starts + timedelta(days=1)
    return (starts.replace(day=1) + timedelta(days=31)).replace(day=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, timezone.get_default_timezone())
