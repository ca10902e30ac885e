"""The report on the administration's start page: what the site costs, who uses it, what failed."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.conf import settings
from django.db.models import Model
from django.urls import reverse
from django.utils import formats, timezone

from accounts.models import User
from chat.admin.base import list_url
from chat.html.figures import format_money
from chat.html.spending import format_spent
from chat.models import Compaction, Conversation, SlackConnection, Turn
from chat.queries.site import SLOW_SECONDS, FaultyDay, Use, load_days, load_use
from spending.queries import load_held

SEEN = ("chat.view_conversation", "chat.view_turn", "chat.view_compaction")
BAR = 60  # units of the SVG that the worst day's bar is wide

register = template.Library()


@register.inclusion_tag("admin/chat/report.html")
def site_report(user: User) -> dict[str, Any]:
    """For those who may see the lists behind it."""
    if not user.has_perms(SEEN):
        return {}
    days = load_days()
    worst, held = max(day.faults for day in days), load_held()
    return {
        "use": [_describe_use(use) for use in load_use()],
        "held": held.calls and format_money(held.dollars),
        "slack": settings.SLACK and SlackConnection.objects.first(),
        "days": [_describe_day(day, worst) for day in days if day.faults],
        "days_count": len(days),
        "slow": SLOW_SECONDS,
        "bar": BAR,
    }


def _describe_use(use: Use) -> dict[str, Any]:
    return {
        "days": use.days,
        "spent": format_spent(use.spent),
        "people": use.people,
        "charts_url": f"{reverse('admin:spending_charts')}?span={use.days}",
        "people_url": list_url(Conversation, updated_at__gte=use.since.isoformat()),
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
