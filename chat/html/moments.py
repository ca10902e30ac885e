"""Dates and times as a reader sees them: one form on all pages.

`static/js/base/moments.js` writes the same in the reader's own zone.
"""

from datetime import date, datetime
from functools import cache

from django.template import Library
from django.utils import timezone
from django.utils.dateformat import format as write
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

register = Library()


@register.filter
def as_hour(moment: datetime) -> SafeString:
    """`23:25`, where the day stands elsewhere."""
    return _tag(moment, "hour", timezone.localtime(moment).strftime("%H:%M"))


@register.filter
def as_day(moment: datetime) -> SafeString:
    """`25 Nov 2026`"""
    return _tag(moment, "day", format_day(moment))


@register.filter
def as_moment(moment: datetime) -> SafeString:
    """`25 Nov 2026, 23:25`"""
    return _tag(moment, "moment", format_moment(moment))


@register.filter
def as_days(began: datetime, ended: datetime) -> SafeString:
    """`25 Nov 2026 – 3 Dec 2026`, of one day just that."""
    first, last = format_day(began), format_day(ended)
    return format_html(
        '<time datetime="{}" data-until="{}">{}</time>',
        began.isoformat(),
        ended.isoformat(),
        first if first == last else f"{first} – {last}",
    )


def format_day(moment: datetime) -> str:
    local = timezone.localtime(moment)
    return _pattern().format(day=local.day, month=write(local, "M"), year=local.year)


def format_moment(moment: datetime) -> str:
    return f"{format_day(moment)}, {timezone.localtime(moment):%H:%M}"


def describe_dates() -> str:
    """The pattern of a day and the months of the active language, for the scripts."""
    return _describe(get_language() or "")


@cache
def _describe(language: str) -> str:
    months = (write(date(2000, month, 1), "M") for month in range(1, 13))
    return "|".join((_pattern(), *months))


def _pattern() -> str:
    return gettext("{day} {month} {year}")


def _tag(moment: datetime, form: str, words: str) -> SafeString:
    return format_html(
        '<time datetime="{}" data-form="{}">{}</time>', moment.isoformat(), form, words
    )
