"""When a scheduled prompt is due: dates and times of a zone, as moments of the clock. Pure.

A time that the zone skips, as when summer time begins, is the next one that it has. One that it has
twice is the first of the two.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dateutil import rrule
from dateutil.tz import datetime_exists

from agent.clock import find_zone
from chat.models.scheduled_prompt import ScheduledPrompt

Repeat = ScheduledPrompt.Repeat

LAST_DAYS = 28  # the day up to which each month has it
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def find_next(prompt: ScheduledPrompt, after: datetime) -> datetime | None:
    """The first moment after another one at which a prompt is due, in UTC; None: there is none any
    more."""
    zone = find_zone(prompt.time_zone) or UTC
    begun = datetime.combine(prompt.first_date, prompt.time)
    # A skipped day, as where the date line moved, may put one off by a day.
    since = max(begun, after.astimezone(zone).replace(tzinfo=None) - 2 * DAY)
    for local in _list_times(prompt.repeat, begun, since):
        while not datetime_exists(local, zone):
            local += MINUTE
        moment = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if moment > after:
            return moment
    return None


def _list_times(repeat: str, begun: datetime, since: datetime) -> Iterator[datetime]:
    """The times by a clock on the wall, from the one that is at `since` or after it."""
    if repeat == Repeat.ONCE:
        return iter([begun])
    match repeat:
        case Repeat.DAILY:
            rule = rrule.rrule(rrule.DAILY, dtstart=begun)
        case Repeat.WEEKDAYS:
            rule = rrule.rrule(rrule.DAILY, dtstart=begun, byweekday=range(5))
        case Repeat.WEEKLY:
            rule = rrule.rrule(rrule.WEEKLY, dtstart=begun)
        case _ if begun.day <= LAST_DAYS:
            rule = rrule.rrule(rrule.MONTHLY, dtstart=begun)
        case _:  # in a shorter month on its last day
            days = range(LAST_DAYS, begun.day + 1)
            rule = rrule.rrule(rrule.MONTHLY, dtstart=begun, bymonthday=days, bysetpos=-1)
    return rule.xafter(since, inc=True)
