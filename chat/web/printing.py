"""HTTP: a conversation to be printed. The page of the chat holds only its newest messages."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Max, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_GET

from chat.db.threads import in_db
from chat.html.moments import format_day
from chat.models import Conversation, Message
from chat.web import transcript
from chat.web.access import find_conversation, load_user

PAGE = 50  # messages that are held at once
PLACE = "<!-- messages -->"
FOLDS = ('<details class="summary"', '<details class="chapter"')


@login_required
@require_GET
async def conversation_print(request: HttpRequest, pk: UUID) -> StreamingHttpResponse:
    """All messages of the shown branch with their summaries, or those from number `from` to number
    `to`; sent while they are read."""
    await load_user(request)
    row = await in_db(find_conversation, request, pk)
    return StreamingHttpResponse(_write(request, row))


async def _write(request: HttpRequest, row: Conversation) -> AsyncIterator[str]:
    last = await in_db(_find_last, row)
    first_shown = _read_number(request, "from", 1)
    last_shown = max(first_shown, min(last, _read_number(request, "to", last)))
    context = {
        "conversation": row,
        "last": last,
        "first_shown": first_shown,
        "last_shown": last_shown,
        "today": timezone.now(),
    }
    head, _, tail = (await in_db(_render, request, context)).partition(PLACE)
    yield head
    shown = transcript.load_branch(row).filter(number__range=(first_shown, last_shown))
    position, day = -1, ""
    while messages := await in_db(_load_page, shown, position):
        html, day = await in_db(_draw, row, messages, day)
        position = messages[-1].position
        yield html
    yield tail


def _render(request: HttpRequest, context: dict[str, Any]) -> str:
    return render_to_string("chat/print/page.html", context, request)


def _load_page(shown: QuerySet[Message], after: int) -> list[Message]:
    return list(shown.filter(position__gt=after)[:PAGE])


def _draw(row: Conversation, messages: list[Message], day: str) -> tuple[str, str]:
    """The messages with their dividers, and a heading where another day than the one before begins;
    the last day."""
    days = {message.number: format_day(message.created_at) for message in messages}
    html: list[str] = []
    for item in transcript.render_items(row, messages, []):
        begins = days.get(item["number"], day)
        if begins != day:
            day = begins
            html.append(format_html('<h2 class="day">{}</h2>', day))
        html.append(_unfold(item["html"]))
    return "".join(html), day


def _unfold(html: str) -> str:
    """With all folds open and all pictures loaded."""
    for fold in FOLDS:
        html = html.replace(fold, f"{fold} open")
    return html.replace('loading="lazy"', 'loading="eager"')


def _find_last(row: Conversation) -> int:
    """The number of the last message, 1 for none."""
    return transcript.load_branch(row).aggregate(last=Max("number"))["last"] or 1


def _read_number(request: HttpRequest, name: str, default: int) -> int:
    """A positive number of the query; what is none counts as not given."""
    given = request.GET.get(name, "")
    return (
        max(1, int(given)) if given.isascii() and given.isdigit() and len(given) < 10 else default
    )
