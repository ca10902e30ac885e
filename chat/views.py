"""HTTP: pages, fragments for htmx, and the actions that are not frames of the socket."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from chat import pages
from chat.contexts import head_number, load, usage_event
from chat.db import in_db
from chat.errors import Refused
from chat.forms import RenameForm, SettingsForm
from chat.limits import count_message
from chat.models import Conversation, Turn
from chat.profiles import offered, profile_for
from chat.services import conversations, turns
from chat.turns import runner


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Context of every page."""
    return {"demo": settings.DEMO}


def find(request: HttpRequest, pk: UUID) -> Conversation:
    """The signed-in user's conversation, or 404."""
    assert request.user.is_authenticated
    try:
        return conversations.owned(request.user, pk)
    except Conversation.DoesNotExist:
        raise Http404 from None


async def signed_in(request: HttpRequest) -> User:
    """The user of an async view behind `login_required`; templates then find them without a query,
    which they could not make here."""
    user = await request.auser()
    assert isinstance(user, User)
    request.user = user
    return user


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """A new chat."""
    assert request.user.is_authenticated
    context = {
        "conversation": None,
        "models": offered(),
        "model": settings.DEFAULT_MODEL,
        "model_label": str(profile_for(settings.DEFAULT_MODEL)),
        "sidebar": pages.sidebar_groups(request.user),
    }
    return render(request, "chat/page.html", context)


@login_required
@require_GET
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One conversation: the newest messages; the socket brings what happens from then on."""
    assert request.user.is_authenticated
    row = find(request, pk)
    head = head_number(pk)  # read first: what comes meanwhile is then asked for by the page
    context = pages.newest(row) | {
        "conversation": row,
        "models": offered(),
        "usage": usage_event(load(pk)),
        "turn": Turn.objects.filter(conversation=row, status__in=Turn.ACTIVE).first(),
        "head": head,
        "sidebar": pages.sidebar_groups(request.user),
    }
    return render(request, "chat/page.html", context)


@login_required
@require_GET
def messages(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Transcript items before or after a position."""
    row = find(request, pk)
    try:
        if "before" in request.GET:
            context = pages.before(row, int(request.GET["before"]))
        else:
            context = pages.after(row, int(request.GET.get("after", -1)))
    except ValueError:
        return HttpResponse("before and after are whole numbers.", status=400)
    return render(request, "chat/_items.html", context)


@login_required
@require_GET
def sidebar(request: HttpRequest) -> HttpResponse:
    """The conversation list, filtered by `q`."""
    assert request.user.is_authenticated
    groups = pages.sidebar_groups(request.user, request.GET.get("q", "").strip())
    current = request.GET.get("current", "")
    context = {"groups": groups, "current": _uuid(current)}
    return render(request, "chat/_sidebar.html", context)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@login_required
@require_POST
async def conversation_create(request: HttpRequest) -> HttpResponse:
    """Start a conversation with its first message; the answer streams on the page it leads to."""
    user = await signed_in(request)
    text = request.POST.get("text", "")
    if runner.draining:
        return await _again(request, text, "The server is restarting. Send it in a moment.", 503)
    try:
        count_message(user)
        row, turn = await in_db(
            turns.open_conversation,
            user,
            request.POST.get("model", ""),
            text,
            owner=runner.owner,
        )
    except Refused as refusal:
        return await _again(request, text, refusal.message, 422)
    runner.start(turn)
    return redirect(row)


async def _again(request: HttpRequest, text: str, error: str, status: int) -> HttpResponse:
    """The new-chat page with the text still in it and what was wrong."""
    user = await signed_in(request)
    context = {
        "conversation": None,
        "models": await in_db(offered),
        "model": request.POST.get("model") or settings.DEFAULT_MODEL,
        "sidebar": await in_db(pages.sidebar_groups, user),
        "text": text,
        "error": error,
    }
    return render(request, "chat/page.html", context, status=status)


@login_required
@require_POST
def conversation_rename(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give a conversation a title."""
    row = find(request, pk)
    form = RenameForm(request.POST)
    if not form.is_valid():
        return HttpResponse("Write a title of at most 200 characters.", status=422)
    conversations.rename(row, form.cleaned_data["title"])
    if request.htmx or request.headers.get("x-requested-with"):  # type: ignore[attr-defined]
        return HttpResponse(status=204)
    return redirect(row)


@login_required
@require_http_methods(["GET", "POST"])
async def conversation_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask first, then delete."""
    await signed_in(request)
    row = await in_db(find, request, pk)
    if request.method == "GET":
        return render(request, "chat/_delete.html", {"conversation": row})
    if live := runner.live(pk):
        runner.stop(live)
    await in_db(conversations.delete, row)
    if request.htmx:  # type: ignore[attr-defined]
        return HttpResponse(status=204, headers={"HX-Redirect": "/"})
    return redirect("home")


@login_required
@require_http_methods(["GET", "POST"])
def conversation_settings(request: HttpRequest, pk: UUID) -> HttpResponse:
    """System prompt and compaction settings."""
    row = find(request, pk)
    form = SettingsForm(request.POST or None, instance=row)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                conversations.change_settings(find(request, pk), form.cleaned_data)
                return HttpResponse(status=204, headers={"HX-Trigger": "settings-saved"})
            except Refused as refusal:
                form.add_error(None, refusal.message)
    context = {"form": form, "conversation": row}
    return render(request, "chat/_settings.html", context, status=status)


@login_required
@require_POST
def conversation_model(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Choose another model."""
    row = find(request, pk)
    name = request.POST.get("model", "")
    if name not in {profile.name for profile in offered()}:
        return HttpResponse("This model is not offered any more. Reload the page.", status=422)
    try:
        conversations.change_settings(row, {"model": name})
    except Refused as refusal:
        return HttpResponse(refusal.message, status=409)
    return HttpResponse(status=204)


@login_required
@require_POST
async def conversation_retry(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answer the last message again."""
    await signed_in(request)
    row = await in_db(find, request, pk)
    if runner.draining:
        return HttpResponse("The server is restarting. Retry in a moment.", status=503)
    try:
        turn = await in_db(turns.retry, row, owner=runner.owner)
    except Refused as refusal:
        return HttpResponse(refusal.message, status=409)
    runner.start(turn)
    return HttpResponse(status=204)


@require_GET
def health(request: HttpRequest) -> JsonResponse:
    """200 where the process serves and its database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok", "draining": runner.draining})
