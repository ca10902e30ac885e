"""The report on the administration's start page: what the site costs, who uses it, what failed."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.db.models import Model
from django.utils import formats, timezone

from accounts.models import User
from chat.admin.base import list_url
from chat.html.figures import format_money
from chat.models import Compaction, Conversation, Turn
from chat.queries.site import (
    SLOW_SECONDS,
    FaultyDay,
    Span,
    Spending,
    load_days,
    load_spans,
    load_spending,
)

SEEN = ("chat.view_conversation", "chat.view_turn", "chat.view_compaction")
BAR = 60  # units of the SVG that the worst day's bar is wide

register = template.Library()


@register.inclusion_tag("admin/chat/report.html")
def site_report(user: User) -> dict[str, Any]:
    """For those who may see the lists behind it."""
    if not user.has_perms(SEEN):
        return {}
    days = load_days()
    worst = max(day.faults for day in days)
    return {
        "spans": [_describe_span(span) for span in load_spans()],
        "days": [_describe_day(day, worst) for day in days if day.faults],
        "spending": _describe_spending(load_spending()),
        "days_count": len(days),
        "slow": SLOW_SECONDS,
        "bar": BAR,
    }


def _describe_span(span: Span) -> dict[str, Any]:
    return {
        "days": span.days,
        "dollars": format_money(span.dollars),
        "people": span.people,
        "url": list_url(Conversation, updated_at__gte=span.since.isoformat()),
    }


def _describe_spending(spending: Spending) -> dict[str, Any]:
    return {
        "months": [formats.date_format(start, "M Y") for start in spending.months],
        "others": spending.others,
        "people": [
            (name, list_url(Conversation, owner=name), [format_money(each) for each in dollars])
            for name, dollars in spending.people
        ],
    }


def _describe_day(day: FaultyDay, worst: int) -> dict[str, Any]:
    """The counts with the addresses of their lists, and the parts of the bar."""
    counts = [
        ("turns", day.failed_turns, _day_url(Turn, day.start, status__exact="failed")),
        ("failed", day.failed_compactions, _day_url(Compaction, day.start, state="failed")),
        ("slow", day.slow_compactions, _day_url(Compaction, day.start, duration="slow")),
    ]
    parts, x = [], 0.0
    for kind, count, _ in counts:
        parts.append((kind, x, BAR * count / worst))
        x += BAR * count / worst
    date = formats.date_format(timezone.localdate(day.start), "D j M Y")
    return {"date": date, "counts": [(count, url) for _, count, url in counts], "parts": parts}


def _day_url(model: type[Model], start: datetime, **filters: str) -> str:
    end = start + timedelta(days=1)
    return list_url(
        model, created_at__gte=start.isoformat(), created_at__lt=end.isoformat(), **filters
    )
