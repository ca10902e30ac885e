"""The page of remembered facts, and the command that adds one."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from chat.errors import Refused
from chat.models import Conversation, Memory, Project
from chat.services import memories


@login_required
@require_http_methods(["GET", "POST"])
def memory_list(request: HttpRequest) -> HttpResponse:
    """What is remembered of the signed-in user; POST adds a fact. The page's script, which does
    not ask for a page, gets the outcome in words."""
    user = _user(request)
    if request.method == "GET":
        return _page(request, user)
    text = request.POST.get("text", "")
    scripted = "x-requested-with" in request.headers
    project = _find_project(request, user)
    place = project.pk if project else None
    try:
        memory, new = memories.remember(user.pk, text, Memory.Source.USER, project_id=place)
    except Refused as refusal:
        if scripted:
            return HttpResponse(refusal.message, status=422)
        return _page(request, user, text=text, error=refusal.message)
    if scripted:
        words = gettext("Remembered: “{text}”") if new else gettext("Known already: “{text}”")
        if new and project:
            words = gettext("Remembered in the project “{project}”: “{text}”")
        return HttpResponse(words.format(text=memory.text, project=project))
    return redirect(f"{project.get_absolute_url()}#memories" if project else "memories")


def _find_project(request: HttpRequest, user: User) -> Project | None:
    """The project whose fact it is: the posted one, or that of the posted conversation."""
    given = {name: request.POST.get(name, "") for name in ("project", "conversation")}
    try:
        if given["project"]:
            return Project.objects.of(user).get(pk=UUID(given["project"]))
        if given["conversation"]:
            row = Conversation.objects.of(user).get(pk=UUID(given["conversation"]))
            return row.project
    except (ValueError, Project.DoesNotExist, Conversation.DoesNotExist):
        raise Http404 from None
    return None


@login_required
@require_POST
def memory_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Change one fact, or with `delete` remove it."""
    user = _user(request)
    memory = Memory.objects.filter(owner=user, pk=pk).select_related("project").first()
    if memory is None:
        raise Http404
    # Its project's page says so where it shows the fact.
    of_project = memory.project if "project" in request.POST else None
    back = f"{of_project.get_absolute_url()}#memories" if of_project else "memories"
    if "delete" in request.POST:
        memories.forget(user.pk, pk)
        return redirect(back)
    try:
        memories.edit(memory, request.POST.get("text", ""))
    except Refused as refusal:
        return _page(request, user, error=refusal.message, failed=pk)
    return redirect(back)


@login_required
@require_POST
def memory_proposal(request: HttpRequest, pk: int) -> HttpResponse:
    """Do what the assistant proposed, with the `decision` accept, or discard it. The page's script
    gets a status."""
    user = _user(request)
    decision = request.POST.get("decision")
    if decision not in ("accept", "discard"):
        return HttpResponse("decision is accept or discard.", status=400)
    proposal = memories.list_proposals(user.pk).filter(pk=pk).first()
    if proposal is None:
        raise Http404
    scripted = "x-requested-with" in request.headers
    try:
        memories.decide_proposal(proposal, accept=decision == "accept")
    except Refused as refusal:
        if scripted:
            return HttpResponse(refusal.message, status=422)
        return _page(request, user, error=refusal.message)
    return HttpResponse(status=204) if scripted else redirect("memories")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _page(
    request: HttpRequest, user: User, *, text: str = "", error: str = "", failed: int = 0
) -> HttpResponse:
    context = {
        "memories": memories.list_all(user.pk),
        "proposals": memories.list_proposals(user.pk),
        "text": text,
        "error": error,
        "failed": failed,
        "most": memories.MAX_CHARACTERS,
    }
    return render(request, "chat/memories.html", context, status=422 if error else 200)
