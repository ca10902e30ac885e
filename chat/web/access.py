"""How views begin and end: whose request it is, whose row it is about, and how one is refused."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy

from accounts.models import User
from accounts.sessions import find_user_id
from chat.errors import RefusalCode, Refused
from chat.live.admission import Sender
from chat.models import Conversation, Project
from chat.services.library import conversations, projects

NOT_OFFERED = gettext_lazy("This model is no longer offered. Reload the page.")
# Not the user's doing, and soon over.
TEMPORARY = (RefusalCode.SERVER_BUSY, RefusalCode.BUDGET_BUSY, RefusalCode.SHUTTING_DOWN)


# --- Who asks -------------------------------------------------------------------------------------


def get_user(request: HttpRequest) -> User:
    """The user of a view behind `login_required`."""
    assert isinstance(request.user, User)
    return request.user


async def load_user(request: HttpRequest) -> User:
    """The same of an async view; templates then find them without a query, which they could not
    make here."""
    user = await request.auser()
    assert isinstance(user, User)
    request.user = user
    return user


def make_sender(request: HttpRequest) -> Sender:
    """Who begins a turn: the user of a request. Their session may end while they wait."""
    user, session = get_user(request), request.session.session_key
    return Sender(user.pk, check=partial(_require_session, user.pk, session))


def _require_session(user_id: int, session: str | None) -> None:
    if find_user_id(session) != user_id:
        raise PermissionDenied


def is_from_htmx(request: HttpRequest) -> bool:
    """Whether a part of a page is asked for."""
    return bool(request.htmx)  # type: ignore[attr-defined]


def is_from_script(request: HttpRequest) -> bool:
    """Whether the page's script asks, which needs a status or a part and not a page."""
    return is_from_htmx(request) or "x-requested-with" in request.headers


# --- Whose it is ----------------------------------------------------------------------------------


def parse_id(text: str) -> UUID | None:
    """None where the text is no id."""
    try:
        return UUID(text)
    except ValueError:
        return None


def find_conversation(
    request: HttpRequest,
    pk: UUID,
    load: Callable[[User, UUID], Conversation] = conversations.load_conversation,
) -> Conversation:
    """The signed-in user's conversation, or 404."""
    try:
        return load(get_user(request), pk)
    except Conversation.DoesNotExist:
        raise Http404 from None


def find_project(user: User, pk: UUID | str) -> Project:
    """The user's project, or 404."""
    try:
        return projects.load_project(user, UUID(str(pk)))
    except (Project.DoesNotExist, ValueError):
        raise Http404 from None


# --- How one is refused ---------------------------------------------------------------------------


def explain_refusal(refusal: Refused) -> str:
    """A refusal in words that fit any action: the usual words are about sending a message."""
    if refusal.code == RefusalCode.CONVERSATION_BUSY:
        return gettext("An answer or a compaction is running. Try again when it is done.")
    return refusal.message


def render_question(
    request: HttpRequest, template: str, context: dict[str, Any], refusal: Refused | None = None
) -> HttpResponse:
    """A dialog that asks, `dialogs/form.html`; or with 422 why what it asks cannot be done."""
    context["refusal"] = explain_refusal(refusal) if refusal else ""
    return render(request, template, context, status=422 if refusal else 200)


def refusal_response(refusal: Refused, status: int, words: str = "") -> HttpResponse:
    """A refusal's words, or others, as plain text."""
    plain = "text/plain; charset=utf-8"
    response = HttpResponse(words or refusal.message, status=status, content_type=plain)
    return limit_response(response, refusal)


def limit_response(response: HttpResponse, refusal: Refused) -> HttpResponse:
    """The response to a refusal; 429 where a limit of the user's was reached, 503 where the server
    cannot for now; with the seconds to wait where they are known."""
    if refusal.code in TEMPORARY:
        response.status_code = 503
    elif refusal.retry_after is not None:
        response.status_code = 429
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response
