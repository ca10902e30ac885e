"""HTTP: what somebody may do with all that is theirs: take it along, or delete the account."""

from collections.abc import AsyncIterator
from typing import Any

from allauth.account.decorators import reauthentication_required
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.doors import login_or_token
from accounts.models import User
from accounts.roles import LastAdministrator
from accounts.tokens import EXPORT_READ
from chat.db.threads import in_db
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Conversation, Memory, Project
from chat.queries.account_export import export_account
from chat.services.people import accounts
from chat.web.access import get_user, load_user, refusal_response
from chat.web.exports import send_while_active

# Until when an export counts as running from which nothing was heard: its process was killed.
EXPORT_SECONDS = 120


# --- Export ---------------------------------------------------------------------------------------


@login_or_token(EXPORT_READ)
@require_GET
async def account_export(request: HttpRequest) -> HttpResponseBase:
    """All of the account as one zip."""
    try:
        return await send_account(await load_user(request))
    except Refused as refusal:
        return refusal_response(refusal, 429)


async def send_account(user: User) -> StreamingHttpResponse:
    """The response with all of an account. Refused while another one is being sent."""
    running = f"account-export:{user.pk}"
    if not await in_db(cache.add, running, 1, EXPORT_SECONDS):
        words = gettext("An export of your account is being sent already. Wait until it is there.")
        raise Refused(RefusalCode.RATE_LIMITED, words, retryable=True, retry_after=EXPORT_SECONDS)
    name = f"everlong-{timezone.localdate():%Y-%m-%d}.zip"
    return StreamingHttpResponse(
        _send(user, running),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _send(user: User, running: str) -> AsyncIterator[bytes]:
    try:
        async for data in send_while_active(user, export_account(user)):
            yield data
            await in_db(cache.touch, running, EXPORT_SECONDS)
    finally:
        await in_db(cache.delete, running)


# --- Deletion -------------------------------------------------------------------------------------


@login_required
@reauthentication_required
@never_cache
@require_http_methods(["GET", "POST"])
def account_delete(request: HttpRequest) -> HttpResponse:
    """Ask, with what would go, and delete the account of whoever types its name. Who has not just
    said who they are, by password or second factor, is asked for that first."""
    user = get_user(request)
    context: dict[str, Any] = {"counts": _count(user)}
    if request.method == "GET":
        return render(request, "chat/account/delete.html", context)
    if request.POST.get("name", "").strip() != user.get_username():
        context["error"] = gettext("This is not the name of your account. Type it as it is shown.")
        return render(request, "chat/account/delete.html", context, status=422)
    try:
        accounts.delete_own_account(user)
    except LastAdministrator:
        context["error"] = gettext(
            "You are the only administrator, without whom nobody could look after this site. Make "
            "somebody else an administrator first."
        )
        return render(request, "chat/account/delete.html", context, status=422)
    logout(request)
    return redirect("account_login")


def _count(user: User) -> dict[str, int]:
    """What the account has, for the words of the question."""
    return {
        "conversations": Conversation.objects.of(user).count(),
        "projects": Project.objects.of(user).count(),
        "files": Attachment.objects.filter(owner=user).count(),
        "facts": Memory.objects.filter(owner=user).count(),
    }
