"""Whose program asks, and what it may: `Authorization: Bearer ev_…`, and nothing else."""

from functools import partial
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext
from ninja.security.base import AuthBase

from accounts import tokens
from accounts.doors import IN_ADDRESS, has_token_in_address, may_try, read_token
from accounts.models import User
from accounts.preferences import keep_user, speak_chosen_language
from accounts.second_factor import is_missed_by
from accounts.tokens import (
    ANY_SCOPE,
    CONVERSATIONS_READ,
    CONVERSATIONS_WRITE,
    EXPORT_READ,
    IMPORTS_WRITE,
    MESSAGES_SEND,
    USAGE_READ,
)
from chat.api.errors import ApiError
from chat.db.threads import in_db
from chat.live.admission import Sender

MINUTE = 60  # seconds, of which the limits are


class AccessToken(AuthBase):
    """Lets in whoever has a token that was made for a scope, for a view that is sync or async.

    Two statements at most: the token with its person, and once a minute that it was used.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, scope: str, *, is_async: bool = False) -> None:
        super().__init__()
        self.scope = scope
        self.is_async = is_async

    def __call__(self, request: HttpRequest) -> Any:
        """The person; a coroutine for an async view. Its connection is not the request's, which
        PostgreSQL's pool would miss for as long as an answer streams."""
        return self._let_in_async(request) if self.is_async else let_in(request, self.scope)

    async def _let_in_async(self, request: HttpRequest) -> User:
        user = await in_db(let_in, request, self.scope)
        speak_chosen_language(request)
        return user


def let_in(request: HttpRequest, scope: str) -> User:
    """Make the token's person the one who asks. Raises ApiError: 400 for a token in the address,
    401 for one that is not good, 403 for one of other scopes, 429 above the limits."""
    if has_token_in_address(request):
        raise token_in_address()
    if not may_try(request, "wrong_token", dry_run=True):
        raise _too_many()
    try:
        found = _find(read_token(request), scope)
    except ApiError as error:
        if error.status == 401:
            may_try(request, "wrong_token")
        raise
    if not may_try(request, "api", key=str(found.user_id)):
        raise _too_many()
    tokens.note_use(found)
    keep_user(request, found.user)
    speak_chosen_language(request)
    return found.user


def _find(token: str, scope: str) -> tokens.AccessToken:
    found = tokens.find_token(token) if token else None
    if found is None or is_missed_by(found.user):
        raise bad_token()
    if scope not in (ANY_SCOPE, *found.scopes):
        raise ApiError(
            403,
            "missing_scope",
            gettext("This access token was not made for “{scope}”.").format(scope=scope),
            headers={
                "WWW-Authenticate": f'Bearer realm="Everlong", error="insufficient_scope", '
                f'scope="{scope}"'
            },
        )
    return found


def token_in_address() -> ApiError:
    """400: logs and histories keep addresses."""
    return ApiError(400, "token_in_address", gettext(IN_ADDRESS))


def bad_token() -> ApiError:
    """401, for no token too."""
    words = gettext(
        "This needs an access token in the header Authorization (Bearer ev_…). The one that was "
        "sent, if any, is unknown, revoked or expired. Make one in the settings."
    )
    challenge = {"WWW-Authenticate": 'Bearer realm="Everlong", error="invalid_token"'}
    return ApiError(401, "bad_token", words, headers=challenge)


def require_token(token: str, scope: str) -> None:
    """Raise ApiError where a token that was good when a request began no longer is. For a database
    thread."""
    _find(token, scope)


def make_sender(request: HttpRequest, scope: str = MESSAGES_SEND) -> Sender:
    """Who begins a turn: the person of a request's token, which may be revoked while they wait."""
    check = partial(require_token, read_token(request), scope)
    return Sender(get_user(request).pk, check=check)


def get_user(request: HttpRequest) -> User:
    """The person whose program asks."""
    user = request.user
    assert isinstance(user, User)
    return user


def _too_many() -> ApiError:
    words = gettext("Too many requests. Try again in a minute.")
    return ApiError(429, "rate_limited", words, retry_after=MINUTE)


reads, reads_async = AccessToken(CONVERSATIONS_READ), AccessToken(CONVERSATIONS_READ, is_async=True)
writes = AccessToken(CONVERSATIONS_WRITE)
writes_async = AccessToken(CONVERSATIONS_WRITE, is_async=True)
sends = AccessToken(MESSAGES_SEND, is_async=True)
uploads = AccessToken(MESSAGES_SEND)
imports = AccessToken(IMPORTS_WRITE)
exports = AccessToken(EXPORT_READ, is_async=True)
reads_usage = AccessToken(USAGE_READ)
