"""What the pages show: transcript items and sidebar groups."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chat.models import Compaction, Conversation, Message
from chat.render import render_divider, render_message

PAGE = 30
SIDEBAR = 100

Item = dict[str, Any]


def branch(conversation: Conversation) -> QuerySet[Message]:
    """The messages of the shown branch, in order."""
    return Message.objects.filter(conversation=conversation, active=True).order_by("position")


def newest(conversation: Conversation) -> dict[str, Any]:
    """The last page of the transcript, as `items` and `earlier_url`."""
    return _page(conversation, branch(conversation).reverse()[:PAGE])


def before(conversation: Conversation, position: int) -> dict[str, Any]:
    """The page before a position."""
    rows = branch(conversation).filter(position__lt=position)
    return _page(conversation, rows.reverse()[:PAGE])


def after(conversation: Conversation, position: int) -> dict[str, Any]:
    """All that follows a position, for a page that has missed it."""
    rows = list(branch(conversation).filter(position__gt=position).select_related("turn"))
    return {"items": _items(conversation, rows), "earlier_url": None}


def _page(conversation: Conversation, rows: Iterable[Message]) -> dict[str, Any]:
    messages = list(reversed(list(rows.select_related("turn"))))  # type: ignore[attr-defined]
    earlier = None
    if messages and messages[0].position > 0:
        url = reverse("messages", args=[conversation.pk])
        earlier = f"{url}?before={messages[0].position}"
    return {"items": _items(conversation, messages), "earlier_url": earlier}


def _items(conversation: Conversation, messages: Sequence[Message]) -> list[Item]:
    """Messages, each with the divider of the compaction that reaches to it."""
    dividers = _dividers(conversation, messages)
    items: list[Item] = []
    for message in messages:
        items.append({"kind": "message", "html": render_message(message)})
        if compaction := dividers.get(message.pk):
            items.append({"kind": "divider", "html": render_divider(compaction)})
    return items


def _dividers(conversation: Conversation, messages: Sequence[Message]) -> dict[int, Compaction]:
    """Completed compactions by the message they reach to; reverted ones are newer than the current
    version, and of several that reach to one message the last counts."""
    if conversation.compaction_id is None or not messages:
        return {}
    rows = Compaction.objects.filter(
        conversation=conversation,
        status=Compaction.Status.COMPLETED,
        pk__lte=conversation.compaction_id,
        through__position__range=(messages[0].position, messages[-1].position),
    )
    return {row.through_id: row for row in rows.order_by("pk")}


def sidebar_groups(user: User, query: str = "") -> list[tuple[str, list[Conversation]]]:
    """The newest conversations by age, pinned ones first; empty groups are left out."""
    rows = Conversation.objects.filter(owner=user, archived=False)
    if query:
        rows = rows.filter(title__icontains=query)
    rows = rows.only("title", "pinned", "updated_at").order_by("-updated_at")[:SIDEBAR]
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    bounds = [
        ("Today", today),
        ("Yesterday", today - timedelta(days=1)),
        ("Previous 7 days", today - timedelta(days=7)),
    ]
    groups: dict[str, list[Conversation]] = {"Pinned": []}
    groups |= {label: [] for label, _ in bounds} | {"Older": []}
    for row in rows:
        age = next((label for label, start in bounds if row.updated_at >= start), "Older")
        groups["Pinned" if row.pinned else age].append(row)
    return [(label, rows) for label, rows in groups.items() if rows]
