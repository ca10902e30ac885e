"""HTTP: the list beside the chat, the palette, and changes to conversations of the list."""

import re
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from agent.messages import sanitise_text
from chat.db import in_db
from chat.live.peers import stop_elsewhere
from chat.live.runner import runner
from chat.models import Conversation, Turn
from chat.queries.projects import find_projects
from chat.services import conversations, projects
from chat.web import transcript
from chat.web.access import find_project, load_user

CHANGES = ("pinned", "archived", "deleted")
SEARCH_CHARACTERS = 500  # of a search box
PALETTE_TITLES = 8
PALETTE_FILTER = re.compile(r"(?:^|\s)in:(title|here)(?!\S)")


def load_listed(request: HttpRequest, user: User, project_id: UUID | None = None) -> dict[str, Any]:
    """What the sidebar lists by the request's `q`, `archived` and `count`; the project with the id
    `project_id` is unfolded."""
    query = _query(request)
    given = request.GET.get("count", "")
    count = int(given) if given.isdecimal() and len(given) < 6 else 0
    context = transcript.load_sidebar(user, query, archived="archived" in request.GET, count=count)
    hits, more_hits = transcript.find_text_hits(user, query) if query else ([], False)
    more = {"hits": hits, "more_hits": more_hits, "unfolded": project_id}
    return context | {"count": count} | more


def _query(request: HttpRequest) -> str:
    return sanitise_text(request.GET.get("q", "")).strip()[:SEARCH_CHARACTERS]


@login_required
@require_GET
def sidebar(request: HttpRequest) -> HttpResponse:
    """The conversation list; with `q` those that have it in their titles, and messages that do."""
    assert request.user.is_authenticated
    current = _uuid(request.GET.get("current", ""))
    mine = Conversation.objects.of(request.user)
    shown = mine.filter(pk=current).values_list("project", flat=True) if current else []
    unfolded = next(iter(shown), None)
    context = {"current": current, **load_listed(request, request.user, unfolded)}
    return render(request, "chat/sidebar/conversations.html", context)


@login_required
@require_GET
def palette(request: HttpRequest) -> HttpResponse:
    """Projects by name, conversations by title and messages that have `q`; without words the newest
    conversations.
    `in:title` leaves out the messages; `in:here` all but messages of `current`, in their order."""
    assert request.user.is_authenticated
    query = _query(request)
    filters = set(PALETTE_FILTER.findall(query))
    words = PALETTE_FILTER.sub(" ", query).strip()
    found: list[Any] = []
    titles: list[Any] = []
    hits: list[Any] = []
    if "here" not in filters:
        groups = transcript.load_sidebar(request.user, words)["groups"]
        titles = [row for group in groups for row in group.rows][:PALETTE_TITLES]
        found = find_projects(request.user, words) if words else []
    if words and "here" in filters:
        current = _uuid(request.GET.get("current", ""))
        hits = transcript.find_hits_in(request.user, words, current) if current else []
    elif words and "title" not in filters:
        hits, _ = transcript.find_text_hits(request.user, words)
    context = {"projects": found, "titles": titles, "hits": hits}
    return render(request, "chat/sidebar/palette.html", context)


@login_required
@require_POST
async def conversations_change(request: HttpRequest) -> HttpResponse:
    """Pin, archive or delete the conversations with these `id`s, or undo that: `pinned`, `archived`
    or `deleted` is 1 or empty. Or move them: `project` is an id, or empty for none."""
    user = await load_user(request)
    ids = [pk for text in request.POST.getlist("id") if (pk := _uuid(text))]
    if "project" in request.POST:
        count = await in_db(_move, user, ids, request.POST["project"])
        return HttpResponse(status=204 if count else 404)
    match [(name, bool(request.POST[name])) for name in CHANGES if name in request.POST]:
        case [("pinned", on)]:
            count = await in_db(conversations.set_pinned, user, ids, pinned=on)
        case [("archived", on)]:
            count = await in_db(conversations.set_archived, user, ids, archived=on)
        case [("deleted", True)]:
            count = await _discard(user, ids)
        case [("deleted", False)]:
            count = await in_db(conversations.restore, user, ids)
        case _:
            return HttpResponse("One of pinned, archived and deleted is needed.", status=400)
    return HttpResponse(status=204 if count else 404)


def _move(user: User, ids: list[UUID], given: str) -> int:
    """Move into the project with that id, or into none; how many."""
    return projects.move(user, ids, find_project(user, given) if given else None)


async def _discard(user: User, ids: list[UUID]) -> int:
    """Delete for now; how many. Answers that are being written there stop, and keep their text."""
    deleted = await in_db(conversations.discard, user, ids)
    for pk in deleted:
        if live := runner.find_live(pk):
            runner.stop(live)
    active = Turn.objects.filter(conversation__in=deleted, status__in=Turn.ACTIVE)
    for turn in await in_db(list, active.exclude(owner=runner.owner)):
        await stop_elsewhere(turn)
    return len(deleted)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
