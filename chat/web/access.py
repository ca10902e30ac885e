"""How views begin and end: whose request it is, whose row it is about, and how one is refused."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy

from accounts.models import User
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, Project
from chat.services.library import conversations, projects

NOT_OFFERED = gettext_lazy("This model is no longer offered. Reload the page.")
# Not the user's doing, and soon over.
TEMPORARY = (RefusalCode.SERVER_BUSY, RefusalCode.SHUTTING_DOWN)


def find_conversation(request: HttpRequest, pk: UUID) -> Conversation:
    """The signed-in user's conversation, or 404."""
    assert request.user.is_authenticated
    try:
        return conversations.load_owned(request.user, pk)
    except Conversation.DoesNotExist:
        raise Http404 from None


def find_project(user: User, pk: UUID | str) -> Project:
    """The user's project, or 404."""
    try:
        return projects.load_owned(user, UUID(str(pk)))
    except (Project.DoesNotExist, ValueError):
        raise Http404 from None


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


async def load_user(request: HttpRequest) -> User:
    """The user of an async view behind `login_required`; templates then find them without a query,
    which they could not make here."""
    user = await request.auser()
    assert isinstance(user, User)
    request.user = user
    return user
