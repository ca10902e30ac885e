"""Scheduled prompts in words."""

from typing import Any, NamedTuple

from django.utils.translation import gettext, gettext_lazy

from chat.html.moments import format_day
from chat.models import ScheduledPrompt

Repeat = ScheduledPrompt.Repeat

REPEAT_WORDS: dict[str, Any] = {
    Repeat.ONCE: gettext_lazy("Once"),
    Repeat.DAILY: gettext_lazy("Every day"),
    Repeat.WEEKDAYS: gettext_lazy("Monday to Friday"),
    Repeat.WEEKLY: gettext_lazy("Every week"),
    Repeat.MONTHLY: gettext_lazy("Every month"),
}


class ScheduleWords(NamedTuple):
    """One of the list: how often and at what time, and what its owner has to know; `is_trouble`:
    and do something about."""

    row: ScheduledPrompt
    when: str
    state: str
    is_trouble: bool


def describe_schedule(row: ScheduledPrompt) -> ScheduleWords:
    """The time is that of its own zone."""
    when = gettext("{repeat}, {time} ({zone})").format(
        repeat=REPEAT_WORDS[row.repeat], time=f"{row.time:%H:%M}", zone=row.time_zone
    )
    return ScheduleWords(row, when, _describe_state(row), bool(row.problem))


def _describe_state(row: ScheduledPrompt) -> str:
    if row.pause == ScheduledPrompt.Pause.FAILURES:
        return gettext("Rests after {failures} failures in a row. {problem}").format(
            failures=row.failures, problem=gettext(row.problem)
        )
    if row.pause:
        return gettext("Paused")
    if row.problem:
        return gettext("The last one was not answered: {problem}").format(
            problem=gettext(row.problem)
        )
    if row.missed_at:
        return gettext("Missed on {day}: the site was not running.").format(
            day=format_day(row.missed_at)
        )
    return "" if row.next_at else gettext("Sent. It goes when it is answered.")
