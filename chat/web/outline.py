"""HTTP: the outline of a conversation, and what leads from a place in it to a message."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from chat.queries.outline import find_number_at, list_own_turns, load_outline
from chat.web.access import find_conversation
from chat.web.compression import compress


@login_required
@require_GET
@compress
def outline(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Chapters, standing instructions, and the user's newest messages."""
    row = find_conversation(request, pk)
    return render(
        request, "chat/outline/outline.html", {"conversation": row, "outline": load_outline(row)}
    )


@login_required
@require_GET
@compress
def outline_turns(request: HttpRequest, pk: UUID, after: int, before: int) -> HttpResponse:
    """Items of the list: the newest of what the user said between two numbers."""
    row = find_conversation(request, pk)
    listed = list_own_turns(row, after=after, before=before)
    return render(request, "chat/outline/turns.html", {"conversation": row, "listed": listed})


@login_required
@require_GET
def message_at(request: HttpRequest, pk: UUID, position: int) -> HttpResponse:
    """The number of the message at a position of the branch, or of the next one."""
    number = find_number_at(find_conversation(request, pk), position)
    if number is None:
        raise Http404
    return HttpResponse(str(number), content_type="text/plain")
