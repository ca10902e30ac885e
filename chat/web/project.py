"""HTTP: the pages of projects, and the dialog that moves a conversation into one."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agent.messages import RawTokens
from chat.engine.model_profiles import find_default_name, load_profile
from chat.engine.projects import find_room, list_conversations, list_projects
from chat.errors import Refused
from chat.html.figures import format_tokens
from chat.models import Project
from chat.services.library import memories, projects
from chat.services.library.file_types import KINDS, MAX_FILE_BYTES
from chat.web.access import find_conversation, find_project, get_user
from chat.web.project_form import ProjectForm

SHOWN = 200  # conversations on a project's page


# --- All projects ---------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "POST"])
def project_list(request: HttpRequest) -> HttpResponse:
    """The projects; POST makes one by its `name`, with each `conversation` that is given in it."""
    user = get_user(request)
    context: dict[str, Any] = {}
    if request.method == "POST":
        try:
            made = projects.create_project(user, request.POST.get("name", ""))
        except Refused as refusal:
            context = {"error": refusal.message, "name": request.POST.get("name", "")}
        else:
            if given := request.POST.getlist("conversation"):
                projects.move_conversations(user, _ids(given), made)
            return redirect(made)
    context |= {
        "projects": list_projects(user),
        "archived": list_projects(user, archived=True),
        "most": projects.MAX_NAME,
    }
    status = 422 if "error" in context else 200
    return render(request, "chat/projects/list.html", context, status=status)


def _ids(given: list[str]) -> list[UUID]:
    try:
        return [UUID(text) for text in given]
    except ValueError:
        raise Http404 from None


# --- One project ----------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "POST"])
def project(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A project's page; POST changes name, instructions, model and budget."""
    row = find_project(get_user(request), pk)
    if request.method == "GET":
        return _page(request, row)
    form = ProjectForm(request.POST, instance=Project.objects.get(pk=row.pk))
    if form.is_valid():
        try:
            projects.change_project(row, form.cleaned_data)
            return redirect(row)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    return _page(request, find_project(get_user(request), pk), form=form)


def _page(
    request: HttpRequest,
    row: Project,
    *,
    form: ProjectForm | None = None,
    errors: Sequence[str] = (),
) -> HttpResponse:
    room = find_room(row)
    files = [
        (file, format_tokens(room.factor.apply(RawTokens(file.tokens))))
        for file in row.files.order_by("created_at", "pk")
    ]
    members = list(list_conversations(row)[: SHOWN + 1])
    context = {
        "project": row,
        "form": form or ProjectForm(instance=row),
        "files": files,
        "room": room,
        "used": format_tokens(room.used),
        "most_tokens": format_tokens(room.most),
        "memory_url": reverse("memories"),
        "model": load_profile(row.model or find_default_name(row.owner_id)),
        "kinds": KINDS,
        "most_files": projects.MAX_FILES,
        "memories": memories.list_all(row.owner_id).filter(project=row),
        "most": memories.MAX_CHARACTERS,
        "conversations": members[:SHOWN],
        "shown": SHOWN if len(members) > SHOWN else 0,
        "errors": errors,
    }
    failed = errors or (form and form.errors)
    return render(request, "chat/projects/project.html", context, status=422 if failed else 200)


@login_required
@require_POST
def project_archive(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Put a project away, or with an empty `archived` back."""
    row = find_project(get_user(request), pk)
    projects.set_project_archived(row, archived=bool(request.POST.get("archived")))
    return redirect(row)


@login_required
@require_http_methods(["GET", "POST"])
def project_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say what goes and what stays, then delete; with `keep_memories` its facts stay."""
    row = find_project(get_user(request), pk)
    if request.method == "POST":
        projects.delete_project(row, keep_memories="keep_memories" in request.POST)
        return redirect("projects")
    context = {
        "project": row,
        "conversations": list_conversations(row).count(),
        "files": row.files.count(),
        "memories": row.memories.count(),
    }
    return render(request, "chat/projects/delete.html", context)


# --- Its files ------------------------------------------------------------------------------------


@login_required
@require_POST
def project_files(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Add the uploaded `file`s, as far as they fit."""
    row = find_project(get_user(request), pk)
    uploads = request.FILES.getlist("file")
    told = [] if uploads else [gettext("Choose a file.")]
    for upload in uploads:
        try:
            # One byte more than may be: enough to say so without reading the rest.
            projects.add_file(row, upload.name or "", upload.read(MAX_FILE_BYTES + 1))
        except Refused as refusal:
            told.append(refusal.message)
    return _page(request, row, errors=told) if told else redirect(f"{_url(row)}#files")


@login_required
@require_POST
def project_file_delete(request: HttpRequest, pk: UUID, file: UUID) -> HttpResponse:
    """Remove a file from a project, which deletes it."""
    row = find_project(get_user(request), pk)
    projects.remove_file(row, file)
    return redirect(f"{_url(row)}#files")


def _url(row: Project) -> str:
    return row.get_absolute_url()


# --- Its conversations ----------------------------------------------------------------------------


@login_required
@require_GET
def conversation_move(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog that asks which project a conversation goes to; `conversations_change` does it."""
    row = find_conversation(request, pk)
    context = {"conversation": row, "projects": list_projects(row.owner), "most": projects.MAX_NAME}
    return render(request, "chat/dialogs/conversation_move.html", context)


@login_required
@require_GET
def conversations_move(request: HttpRequest) -> HttpResponse:
    """The same dialog for several, which the page knows."""
    context = {"projects": list_projects(get_user(request)), "most": projects.MAX_NAME}
    return render(request, "chat/dialogs/conversation_move.html", context)
