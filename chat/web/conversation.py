"""HTTP: pages, fragments for htmx, and the actions that are not frames of the socket."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import trigger_client_event

from accounts.models import User
from chat.db.threads import in_db
from chat.engine.model_profiles import (
    find_default_name,
    is_demo,
    is_offered,
    list_offered,
    load_profile,
)
from chat.engine.state import load_state_for, policy_for
from chat.errors import Refused
from chat.html.budget_line import load_budget_line
from chat.html.moments import describe_dates
from chat.live.runner import runner
from chat.models import Project, Turn
from chat.protocol import from_rows
from chat.protocol.pasted import parse_pasted_field
from chat.protocol.zone import read_zone
from chat.queries.recent import list_recent
from chat.queries.shared import load_conversation_with_mark
from chat.services.library import conversations, projects
from chat.services.library.file_types import MAX_FILE_BYTES
from chat.services.people import retention
from chat.services.summary import summaries
from chat.services.turns import requests
from chat.services.turns.turns import NewMessage
from chat.web import transcript
from chat.web.access import (
    NOT_OFFERED,
    find_conversation,
    find_project,
    get_user,
    is_from_htmx,
    is_from_script,
    limit_response,
    load_user,
    make_sender,
    refusal_response,
)
from chat.web.composer import describe_offer, list_choices, read_choices
from chat.web.compression import compress, compress_without_query
from chat.web.forms import RenameForm, SettingsForm
from chat.web.script_texts import load_script_texts
from chat.web.sidebar import load_listed


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Context of every page."""
    return {
        "base_path": settings.BASE_PATH,
        "demo": settings.DEMO,
        "tools_offered": settings.TOOLS,
        "script_texts": load_script_texts,
        "dates": describe_dates,
        "most_bytes": MAX_FILE_BYTES,
        "most_characters": settings.MAX_MESSAGE_CHARACTERS,
    }


def _render_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """A page. The script that goes from one chat to another gets only what differs: no list."""
    context |= {"budget_line": load_budget_line(get_user(request))}
    if is_from_htmx(request):
        return render(request, "chat/page/chat.html", context)
    return render(request, "chat/page.html", context | _list(request, context))


def _list(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the list beside a chat needs; the chat's project is unfolded."""
    row, project = context["conversation"], context.get("project")
    return load_listed(
        request, get_user(request), row.project_id if row else project and project.pk
    )


@login_required
@require_GET
@vary_on_headers("HX-Request")
@compress_without_query
def home(request: HttpRequest) -> HttpResponse:
    """A new chat, in the `project` with that id; with `q` the sidebar has what was searched for."""
    return render_start(request)


def render_start(request: HttpRequest, more: dict[str, Any] | None = None) -> HttpResponse:
    """The new-chat page; `more` of its context."""
    return _render_page(request, _start(request, get_user(request)) | (more or {}))


def _start(request: HttpRequest, user: User) -> dict[str, Any]:
    """The context of the new-chat page, with what was posted to it."""
    project = _find_project(request, user)
    of_project = project.model if project and is_offered(user.pk, project.model) else ""
    name = request.POST.get("model") or of_project or find_default_name(user.pk)
    return describe_offer(user.pk, load_profile(name)) | {
        "conversation": None,
        "demo": is_demo(name),
        "model": name,
        "text": request.POST.get("text", ""),
        "temporary": "temporary" in request.POST,
        "project": project,
        "recent": [] if "q" in request.GET or project else list_recent(user),
    }


def _find_project(request: HttpRequest, user: User) -> Project | None:
    """Where the new chat will be. A posted project that is gone is told by the refusal."""
    if given := request.GET.get("project"):
        return find_project(user, given)
    try:
        return projects.load_project(user, UUID(request.POST.get("project", "")))
    except (Project.DoesNotExist, ValueError):
        return None


@login_required
@require_GET
@vary_on_headers("HX-Request")
@compress_without_query
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One conversation: the newest messages; the socket brings what happens from then on."""
    row = find_conversation(request, pk, load_conversation_with_mark)
    state = load_state_for(row)
    usage = from_rows.context_usage(state)
    context = transcript.load_newest(row, usage.summarised)
    context |= describe_offer(row.owner_id, state.profile) | {
        "conversation": row,
        "demo": is_demo(row.model),
        "slack": settings.SLACK,
        "usage": usage.as_dict(),
        "turn": Turn.objects.filter(conversation=row, status__in=Turn.ACTIVE).first(),
        "lease": settings.LEASE_SECONDS,
        "deletion": retention.find_deletion(get_user(request), row),
    }
    return _render_page(request, context)


@login_required
@require_GET
@compress
def messages(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Transcript items: the newest, those `before` or `after` a position, or `around` a number.

    With `after` goes the `number` that the page shows at that position; where another message is
    there by now the answer is 409, and the page has to begin anew. The answer is also 409 for a
    number that is not on the branch: `X-Message-Id` then says which message to switch to.
    """
    row = find_conversation(request, pk)
    try:
        query = {name: int(value) for name, value in request.GET.dict().items()}
    except ValueError:
        return HttpResponse("before, after, around and number are whole numbers.", status=400)
    match query:
        case {"before": position}:
            context = transcript.load_before(row, position)
        case {"after": position, "number": number} if not transcript.has_message_at(
            row, position, number
        ):
            return HttpResponse(gettext("The conversation has changed here."), status=409)
        case {"after": position}:
            context = transcript.load_after(row, position)
        case {"around": number}:
            message = get_object_or_404(row.messages, number=number)
            if not message.active:
                other = {"X-Message-Id": str(message.pk)}
                words = gettext("Message #{number} is on another branch.").format(number=number)
                return HttpResponse(words, status=409, headers=other)
            context = transcript.load_around(row, message)
        case _:
            context = transcript.load_newest(row)
    return render(request, "chat/transcript/items.html", context)


@login_required
@require_http_methods(["GET", "POST"])
async def conversation_create(request: HttpRequest) -> HttpResponse:
    """Start a conversation with its first message; the answer streams on the page it leads to.

    The page's script, which keeps what was typed, gets the address or the words of the refusal.
    A GET comes from somebody who had to sign in first: they go to the page that kept the text.
    """
    if request.method == "GET":
        return redirect("home")
    user = await load_user(request)
    try:
        opening = await runner.begin(
            make_sender(request),
            requests.open_conversation,
            user,
            request.POST.get("model", ""),
            NewMessage(
                request.POST.get("text", ""),
                request.POST.getlist("attachments"),
                parse_pasted_field(request.POST.get("pasted", "")),
                zone=read_zone(request.COOKIES),
            ),
            holder=runner.holder,
            temporary="temporary" in request.POST,
            tool_settings=await in_db(_read_tools, request),
            project=request.POST.get("project", ""),
        )
    except Refused as refusal:
        return limit_response(await _again(request, refusal.message, 422), refusal)
    assert opening is not None
    row = opening.turn.conversation
    if is_from_script(request):
        return HttpResponse(status=201, headers={"Location": row.get_absolute_url()})
    return redirect(row)


def _read_tools(request: HttpRequest) -> dict[str, Any]:
    """What the panel of tools says, if it was opened."""
    if "tools" not in request.POST:
        return {}
    profile = load_profile(request.POST.get("model", ""))
    offered = list_choices(get_user(request).pk, {}, profile)
    return read_choices(request.POST.getlist("tools"), {}, offered)


async def _again(request: HttpRequest, error: str, status: int) -> HttpResponse:
    """What was wrong. Without a script it is shown on the new-chat page, which keeps what was
    posted."""
    if is_from_script(request):
        return HttpResponse(error, status=status, content_type="text/plain; charset=utf-8")
    user = await load_user(request)
    context = await in_db(_start, request, user)
    context |= await in_db(_list, request, context) | {"error": error}
    return await in_db(render, request, "chat/page.html", context, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def conversation_rename(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for a title, or give it to the conversation."""
    row = find_conversation(request, pk)
    if request.method == "GET":
        return render(request, "chat/dialogs/conversation_rename.html", {"conversation": row})
    form = RenameForm(request.POST)
    if not form.is_valid():
        return HttpResponse(gettext("Write a title of at most 200 characters."), status=422)
    conversations.rename_conversation(row, form.cleaned_data["title"])
    if not is_from_script(request):
        return redirect(row)
    return trigger_client_event(HttpResponse(status=204), "conversation-renamed")


@login_required
@require_http_methods(["GET", "POST"])
def conversation_settings(request: HttpRequest, pk: UUID) -> HttpResponse:
    """System prompt and compaction settings."""
    row = find_conversation(request, pk)
    form = SettingsForm(request.POST or None, instance=row)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                conversations.change_settings(row, form.changes())
                automatic = policy_for(find_conversation(request, pk)).enabled
                saved = HttpResponse(status=204)
                return trigger_client_event(saved, "settings-saved", {"automatic": automatic})
            except Refused as refusal:
                form.add_error(None, refusal.message)
    context = {"form": form, "conversation": row}
    return render(request, "chat/dialogs/conversation_settings.html", context, status=status)


@login_required
@require_POST
async def conversation_model(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Choose another model; where the conversation does not fit it, the old one compacts first."""
    await load_user(request)
    row = await in_db(find_conversation, request, pk)
    name = request.POST.get("model", "")
    if name not in {each.name for each in await in_db(list_offered, row.owner_id)}:
        return HttpResponse(NOT_OFFERED, status=422)
    try:
        await runner.begin(
            make_sender(request), summaries.switch_model, row, name, holder=runner.holder
        )
    except Refused as refusal:
        return refusal_response(refusal, 409)
    return HttpResponse(status=204)


@login_required
@require_POST
async def conversation_retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answer the last message again."""
    await load_user(request)
    row = await in_db(find_conversation, request, pk)
    try:
        zone = read_zone(request.COOKIES)
        await runner.begin(
            make_sender(request), requests.retry, row, holder=runner.holder, zone=zone
        )
    except Refused as refusal:
        return refusal_response(refusal, 409)
    return HttpResponse(status=204)
