"""Views that a person's own programs may open too, with an access token instead of a session."""

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from allauth.core.internal import ratelimit
from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from accounts.preferences import keep_user
from accounts.second_factor import is_missed_by
from accounts.tokens import PREFIX, find_user_id_by_token
from accounts.views import too_many_attempts

SCHEME = "bearer"
READING = ("GET", "HEAD")
IN_ADDRESS = gettext_noop(
    "An access token belongs into the header Authorization. This one may stand in logs now: revoke "
    "it."
)
View = Callable[..., Any]


def login_or_token(scope: str) -> Callable[[View], View]:
    """`login_required` for a view that only reads, sync or async, which also takes
    `Authorization: Bearer ev_…` with a token of the scope. Then the token alone counts: cookies are
    not looked at, no session is made, and the answer to a wrong one is 401 and no sign-in page. A
    token in the address, where logs and histories keep it, is refused with 400."""

    def decorate(view: View) -> View:
        for_people = login_required(view)

        def open_door(request: HttpRequest) -> HttpResponse | None:
            return _open(request, scope)

        if iscoroutinefunction(view):

            @wraps(view)
            async def enter_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                if not _has_token(request):
                    return await for_people(request, *args, **kwargs)
                refusal = await sync_to_async(open_door)(request)
                return refusal or await view(request, *args, **kwargs)

            return enter_async

        @wraps(view)
        def enter(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not _has_token(request):
                return for_people(request, *args, **kwargs)
            return open_door(request) or view(request, *args, **kwargs)

        return enter

    return decorate


def _has_token(request: HttpRequest) -> bool:
    """Whether a program asks, if only with a token in the wrong place."""
    return _read_scheme(request) == SCHEME or has_token_in_address(request)


def read_token(request: HttpRequest) -> str:
    """The access token of the header Authorization; "" for none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == SCHEME else ""


def _read_scheme(request: HttpRequest) -> str:
    return request.headers.get("Authorization", "").partition(" ")[0].lower()


def has_token_in_address(request: HttpRequest) -> bool:
    """Whether a value in the address is an access token: there logs and histories keep it."""
    return any(value.startswith(PREFIX) for values in request.GET.lists() for value in values[1])


def _open(request: HttpRequest, scope: str) -> HttpResponse | None:
    """Make the token's person the one who asks, or say why not."""
    if has_token_in_address(request):
        return _say(gettext(IN_ADDRESS), 400)
    if request.method not in READING:
        return HttpResponseNotAllowed(READING)
    if not may_try(request, "wrong_token", dry_run=True):
        return too_many_attempts(request)
    user_id = find_user_id_by_token(read_token(request), scope)
    user = User.objects.filter(pk=user_id).first() if user_id else None
    if user is None or is_missed_by(user):
        may_try(request, "wrong_token")
        return _refuse_token(scope)
    if not may_try(request, "token", key=str(user.pk)):
        return too_many_attempts(request)
    keep_user(request, user)
    return None


def may_try(request: HttpRequest, action: str, **of: Any) -> bool:
    """Count a try, unless it is a dry run; whether `ACCOUNT_RATE_LIMITS` allows it."""
    counted = ratelimit.consume(request, app="allauth.account", action=action, limit_get=True, **of)
    return counted is not None


def _refuse_token(scope: str) -> HttpResponse:
    words = gettext("This access token is unknown, revoked, expired or not made for “{scope}”.")
    response = _say(words.format(scope=scope), 401)
    response["WWW-Authenticate"] = (
        f'Bearer realm="Everlong", error="invalid_token", scope="{scope}"'
    )
    return response


def _say(words: str, status: int) -> HttpResponse:
    return HttpResponse(words, status=status, content_type="text/plain; charset=utf-8")
