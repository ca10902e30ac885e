"""Every error of the API in one form: `{"error": {"code", "message", "retry_after", "fields"}}`."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse, JsonResponse
from django.utils.translation import gettext, gettext_noop
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from chat.db.outages import DATABASE
from chat.db.threads import UNAVAILABLE, explain_unavailable
from chat.errors import RefusalCode, Refused

# Where the request is as it should be, and something else is in its way.
CONFLICTS = {
    RefusalCode.CONVERSATION_BUSY,
    RefusalCode.HEAD_CHANGED,
    RefusalCode.IMPORT_ACTIVE,
    RefusalCode.IMPORT_OVER,
    RefusalCode.LEFT_OUT,
    RefusalCode.NOT_ASKED,
    RefusalCode.NOT_CURRENT,
    RefusalCode.NOT_EDITABLE,
    RefusalCode.NOT_QUEUED,
    RefusalCode.NOT_SHOWN,
    RefusalCode.NOTHING_TO_ANSWER,
    RefusalCode.NOTHING_TO_COMPACT,
    RefusalCode.NOTHING_TO_RETRY,
    RefusalCode.NOTHING_TO_STOP,
    RefusalCode.DOES_NOT_FIT,
    RefusalCode.QUEUE_FULL,
}
STATUS: Mapping[str, int] = {
    **dict.fromkeys(CONFLICTS, 409),
    RefusalCode.MODEL_OFF: 403,
    RefusalCode.FILE_TOO_LARGE: 413,
    RefusalCode.IMPORT_TOO_LARGE: 413,
    RefusalCode.RATE_LIMITED: 429,
    RefusalCode.BUDGET_USED: 429,
    RefusalCode.BUDGET_BUSY: 503,
    RefusalCode.DISK_FULL: 503,
    RefusalCode.SERVER_BUSY: 503,
    RefusalCode.SHUTTING_DOWN: 503,
    RefusalCode.UNAVAILABLE: 503,
    RefusalCode.INTERNAL: 500,
}
WRONG = 422  # all other refusals

# What is answered before a view of the API is reached, or where one has failed.
WORDS: Mapping[int, tuple[str, str]] = {
    400: ("bad_request", gettext_noop("The request is not valid HTTP or JSON.")),
    401: ("not_signed_in", gettext_noop("This needs an access token.")),
    403: ("forbidden", gettext_noop("This is not allowed.")),
    404: ("not_found", gettext_noop("There is nothing at this address that is yours.")),
    405: ("method_not_allowed", gettext_noop("This address does not take this method.")),
    413: ("too_large", gettext_noop("This is too large to be sent here.")),
    429: ("rate_limited", gettext_noop("Too many requests. Try again in a minute.")),
    500: ("internal", gettext_noop("Something went wrong; the server's log has the details.")),
    503: ("unavailable", gettext_noop("The server cannot do this at the moment. Try again soon.")),
}


class ErrorFields(TypedDict, total=False):
    """What is wrong with one field of a request."""

    field: str
    message: str


class ApiError(Exception):
    """Answered with this status. `code` is for programs, `message` names the next step."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after, self.headers = retry_after, headers or {}


def not_found() -> ApiError:
    """For what does not exist, and for what is somebody else's."""
    code, words = WORDS[404]
    return ApiError(404, code, gettext(words))


def describe(
    code: str,
    message: str,
    retry_after: int | None = None,
    fields: Sequence[ErrorFields] | None = None,
) -> dict[str, Any]:
    """An error as it is sent."""
    error: dict[str, Any] = {"code": code, "message": message}
    if retry_after is not None:
        error["retry_after"] = retry_after
    if fields is not None:
        error["fields"] = fields
    return {"error": error}


def respond(error: ApiError) -> JsonResponse:
    """The response to an error."""
    body = describe(error.code, error.message, error.retry_after)
    response = JsonResponse(body, status=error.status, headers=dict(error.headers))
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    return response


def read_refusal(refusal: Refused) -> ApiError:
    """A service's refusal as an error of the API."""
    return ApiError(
        STATUS.get(refusal.code, WRONG),
        refusal.code,
        refusal.message,
        retry_after=None if refusal.retry_after is None else math.ceil(refusal.retry_after),
    )


def handle_errors(api: NinjaAPI) -> None:
    """Have the API answer every exception of its views in the one form."""
    handlers: Mapping[type[Exception], Callable[[Any], HttpResponse]] = {
        ApiError: respond,
        Refused: lambda refusal: respond(read_refusal(refusal)),
        ObjectDoesNotExist: lambda _: respond(not_found()),
        Http404: lambda _: respond(not_found()),
        RequestDataTooBig: lambda _: say(413),
        SuspiciousOperation: lambda _: say(400),
        HttpError: lambda error: say(error.status_code),
        ValidationError: _respond_to_invalid,
        **dict.fromkeys(UNAVAILABLE, _respond_to_outage),
    }
    for kind, make in handlers.items():
        # Ninja hands over the request first, which says nothing of the error.
        api.add_exception_handler(kind, lambda _, error, make=make: make(error))  # type: ignore[misc]


def _respond_to_invalid(error: ValidationError) -> HttpResponse:
    """422, with what is wrong in each field."""
    fields: list[ErrorFields] = [
        {"field": _name_field(each["loc"]), "message": str(each["msg"])} for each in error.errors
    ]
    words = gettext("{field}: {message}").format(**fields[0]) if fields else ""
    return JsonResponse(describe("invalid", words, fields=fields), status=WRONG)


def _name_field(location: Sequence[str | int]) -> str:
    """Where a field is, as `body.text`. Ninja says after `body` what its view calls the whole."""
    first, *rest = map(str, location)
    return ".".join([first, *(rest[1:] if rest[:1] == [first] else rest)])


def _respond_to_outage(error: Exception) -> HttpResponse:
    DATABASE.note_failure(error)
    words = gettext(explain_unavailable(error))
    return respond(ApiError(503, RefusalCode.UNAVAILABLE, words))


def say(status: int) -> JsonResponse:
    """The response that says of a status what can be said of all its errors."""
    code, words = WORDS.get(status, WORDS[500 if status >= 500 else 400])
    return respond(ApiError(status, code, gettext(words)))
