"""HTTP: remembered facts, a section of the settings, and the command that adds one."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from chat.errors import Refused
from chat.models import Conversation, Memory, Project
from chat.services.library import memories
from chat.web.access import get_user, is_from_htmx, is_from_script
from chat.web.settings_frame import render_section


@login_required
@require_http_methods(["GET", "POST"])
def memory_list(request: HttpRequest) -> HttpResponse:
    """What is remembered of the signed-in user; POST adds a fact. The page's script, which does
    not ask for a page, gets the outcome in words."""
    user = get_user(request)
    if request.method == "GET":
        return _page(request, user)
    text = request.POST.get("text", "")
    project = _find_project(request, user)
    place = project.pk if project else None
    try:
        memory, new = memories.remember_fact(user.pk, text, Memory.Source.USER, project_id=place)
    except Refused as refusal:
        if is_from_htmx(request):
            context = {"text": text, "error": refusal.message, "most": memories.MAX_CHARACTERS}
            return render(request, "chat/memory_add.html", context, status=422)
        if is_from_script(request):
            return HttpResponse(refusal.message, status=422)
        return _page(request, user, text=text, error=refusal.message)
    words = gettext("Remembered: “{text}”") if new else gettext("Known already: “{text}”")
    if new and project:
        words = gettext("Remembered in the project “{project}”: “{text}”")
    words = words.format(text=memory.text, project=project)
    if is_from_htmx(request):
        context = {"added": words, "memory": new and memory, "most": memories.MAX_CHARACTERS}
        return render(request, "chat/memory_add.html", context)
    if is_from_script(request):
        return HttpResponse(words)
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
    """Change one fact; with `delete` remove it, with `restore` bring it back. The dialog gets its
    row."""
    user = get_user(request)
    if "restore" in request.POST:
        return _restore(request, user, pk)
    memory = Memory.objects.filter(owner=user, pk=pk).select_related("project").first()
    if memory is None:
        raise Http404
    # Its project's page says so where it shows the fact.
    of_project = memory.project if "project" in request.POST else None
    back = f"{of_project.get_absolute_url()}#memories" if of_project else "memories"
    if "delete" in request.POST:
        memories.forget_fact(user.pk, pk)
        return _row(request, memory, state="deleted") if is_from_htmx(request) else redirect(back)
    text = request.POST.get("text", "")
    try:
        memories.edit_fact(memory, text)
    except Refused as refusal:
        if is_from_htmx(request):
            memory.text = text
            return _row(request, memory, error=refusal.message)
        return _page(request, user, error=refusal.message)
    if not is_from_htmx(request):
        return redirect(back)
    return _row(request, memory, state="saved" if memory.pk else "merged")


def _restore(request: HttpRequest, user: User, pk: int) -> HttpResponse:
    try:
        memory = memories.restore_fact(user.pk, pk)
    except Memory.DoesNotExist:
        if is_from_htmx(request):
            return render(request, "chat/memory_row.html", {"state": "gone"})
        raise Http404 from None
    return _row(request, memory) if is_from_htmx(request) else redirect("memories")


@login_required
@require_POST
def memory_proposal(request: HttpRequest, pk: int) -> HttpResponse:
    """Do what the assistant proposed, with the `decision` accept, or discard it. The page's script
    gets a status."""
    user = get_user(request)
    decision = request.POST.get("decision")
    if decision not in ("accept", "discard"):
        return HttpResponse("decision is accept or discard.", status=400)
    proposal = memories.list_proposals(user.pk).filter(pk=pk).first()
    if proposal is None:
        raise Http404
    scripted = is_from_script(request)
    try:
        memories.decide_proposal(proposal, accept=decision == "accept")
    except Refused as refusal:
        if scripted:
            return HttpResponse(refusal.message, status=422)
        return _page(request, user, error=refusal.message)
    if is_from_htmx(request):
        return _page(request, user)
    return HttpResponse(status=204) if scripted else redirect("memories")


def _row(request: HttpRequest, memory: Memory, *, state: str = "", error: str = "") -> HttpResponse:
    """A fact of the dialog's list; `state` says what has just become of it."""
    context = {
        "memory": memory,
        "most": memories.MAX_CHARACTERS,
        "state": state,
        "error": error,
    }
    return render(request, "chat/memory_row.html", context, status=422 if error else 200)


def _page(request: HttpRequest, user: User, *, text: str = "", error: str = "") -> HttpResponse:
    context = load_memory(user) | {"text": text, "error": error}
    return render_section(request, "memory", context, status=422 if error else 200)


def load_memory(user: User) -> dict[str, Any]:
    """What the section shows."""
    return {
        "memories": memories.list_all(user.pk),
        "proposals": memories.list_proposals(user.pk),
        "most": memories.MAX_CHARACTERS,
    }
