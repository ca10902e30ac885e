"""HTTP: the list beside the chat, the palette, and changes to conversations of the list."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from agent.messages import sanitise_text
from chat.db.threads import in_db
from chat.engine.projects import LISTED, find_projects
from chat.live.stopping import stop_turns
from chat.models import Conversation
from chat.services.library import conversations, projects
from chat.services.people import retention
from chat.web import transcript
from chat.web.access import find_project, get_user, load_user, parse_id
from chat.web.announcement import describe_announcement
from chat.web.search_box import LONGEST_SEARCH, find_hits, read_search

CHANGES = ("pinned", "archived", "deleted")
PALETTE_TITLES = 8


def load_listed(request: HttpRequest, user: User, project_id: UUID | None = None) -> dict[str, Any]:
    """What the sidebar lists by the request's `q`, `archived` and `count`; the project with the id
    `project_id` is unfolded."""
    search = read_search(user, _query(request))
    given = request.GET.get("count", "")
    count = int(given) if given.isdecimal() and len(given) < 6 else 0
    archived = "archived" in request.GET
    context = transcript.load_sidebar(
        user, search.words, archived=archived, count=count, projects=search.projects
    )
    if search.here:
        context["groups"] = []
    for group in context["groups"]:
        for row in group.rows:
            row.deletion = retention.find_deletion(user, row)
    hits, more_hits = find_hits(user, search, parse_id(request.GET.get("current", "")))
    more = {"hits": hits, "more_hits": more_hits, "unfolded": project_id}
    return context | {"count": count, "search": search} | more


def _query(request: HttpRequest) -> str:
    return sanitise_text(request.GET.get("q", "")).strip()[:LONGEST_SEARCH]


@login_required
@require_GET
def sidebar(request: HttpRequest) -> HttpResponse:
    """The conversation list; with `q` those that have it in their titles, and messages that do, as
    far as its filters let them."""
    user = get_user(request)
    current = parse_id(request.GET.get("current", ""))
    mine = Conversation.objects.of(user)
    shown = mine.filter(pk=current).values_list("project", flat=True) if current else []
    unfolded = next(iter(shown), None)
    context = {
        "current": current,
        "news": _has_other_announcement(request),
        **load_listed(request, user, unfolded),
    }
    return render(request, "chat/sidebar/conversations.html", context)


def _has_other_announcement(request: HttpRequest) -> bool:
    """Whether the page, which fetches its list again, shows another line than it should."""
    if request.htmx.trigger != "sidebar-list":  # type: ignore[attr-defined]
        return False
    current = describe_announcement(request)
    return request.GET.get("announcement", "") != (current["key"] if current else "")


@login_required
@require_GET
def palette(request: HttpRequest) -> HttpResponse:
    """Projects by name, conversations by title and messages that have `q`; without words the newest
    conversations.
    `in:title` leaves out the messages; `in:here` all but messages of `current`, in their order;
    `in:` a project's name what is not of this project."""
    user = get_user(request)
    search = read_search(user, _query(request))
    found: list[Any] = []
    titles: list[Any] = []
    if not search.here:
        listed = transcript.load_sidebar(user, search.words, projects=search.projects)
        titles = [row for group in listed["groups"] for row in group.rows][:PALETTE_TITLES]
        if search.projects is None:
            found = find_projects(user, search.words) if search.words else []
        else:
            found = search.projects[:LISTED]
    hits, _ = find_hits(user, search, parse_id(request.GET.get("current", "")))
    context = {"projects": found, "titles": titles, "hits": hits, "search": search}
    return render(request, "chat/sidebar/palette.html", context)


@login_required
@require_POST
async def conversations_change(request: HttpRequest) -> HttpResponse:
    """Pin, archive or delete the conversations with these `id`s, or undo that: `pinned`, `archived`
    or `deleted` is 1 or empty. Or move them: `project` is an id, or empty for none; the answer says
    where they were, as an object of ids by `project`."""
    user = await load_user(request)
    ids = [pk for text in request.POST.getlist("id") if (pk := parse_id(text))]
    if "project" in request.POST:
        was = await in_db(_move, user, ids, request.POST["project"])
        named = {str(project or ""): moved for project, moved in was.items()}
        return JsonResponse(named) if was else HttpResponse(status=404)
    match [(name, bool(request.POST[name])) for name in CHANGES if name in request.POST]:
        case [("pinned", on)]:
            count = await in_db(conversations.set_conversations_pinned, user, ids, pinned=on)
        case [("archived", on)]:
            count = await in_db(conversations.set_conversations_archived, user, ids, archived=on)
        case [("deleted", True)]:
            count = await _discard(user, ids)
        case [("deleted", False)]:
            count = await in_db(conversations.restore_conversations, user, ids)
        case _:
            return HttpResponse("One of pinned, archived and deleted is needed.", status=400)
    return HttpResponse(status=204 if count else 404)


def _move(user: User, ids: list[UUID], given: str) -> dict[UUID | None, list[UUID]]:
    """Move into the project with that id, or into none; where they were, by project."""
    return projects.move_conversations(user, ids, find_project(user, given) if given else None)


async def _discard(user: User, ids: list[UUID]) -> int:
    """Delete for now; how many. Answers that are being written there stop, and keep their text."""
    deleted = await in_db(conversations.discard_conversations, user, ids)
    await stop_turns(deleted)
    return len(deleted)
