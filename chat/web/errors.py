"""HTTP: the responses when a view has failed."""

import errno
import sys
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.decorators import sync_and_async_middleware
from django.utils.translation import gettext, gettext_noop
from django.views import defaults

from chat.db.outages import DATABASE
from chat.db.threads import MISFIT, NO_SPACE, UNAVAILABLE, explain_unavailable, is_misfit
from chat.queries import schema

Respond = Callable[[HttpRequest], Any]
NEXT_STEP = gettext_noop("What was stored before is safe; what you have just sent was not stored.")


def server_error(request: HttpRequest) -> HttpResponse:
    """The 500 page; 503 and the cause where nothing can be stored for the time being."""
    error = sys.exc_info()[1]
    if error is not None and is_misfit(error):
        words = MISFIT
    elif isinstance(error, UNAVAILABLE):
        DATABASE.note_failure(error)
        words = explain_unavailable(error)
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        words = NO_SPACE
    else:
        return defaults.server_error(request)
    return _explain(request, words)


@sync_and_async_middleware
def refuse_misfit(get_response: Respond) -> Respond:
    """Middleware: while the database does not fit, nothing is read from it or written into it."""
    if not iscoroutinefunction(get_response):
        return lambda request: _refuse(request) or get_response(request)

    async def respond(request: HttpRequest) -> Any:
        return _refuse(request) or await get_response(request)

    return respond


def _refuse(request: HttpRequest) -> HttpResponse | None:
    return _explain(request, MISFIT) if schema.watch.misfit else None


def _explain(request: HttpRequest, words: str) -> HttpResponse:
    """503, as a page or, for a script, as a sentence."""
    if "x-requested-with" in request.headers or "hx-request" in request.headers:
        text = " ".join([gettext(words), gettext(NEXT_STEP)])
        return HttpResponse(text, status=503, content_type="text/plain; charset=utf-8")
    context = {"words": gettext(words), "next_step": gettext(NEXT_STEP)}
    return HttpResponse(render_to_string("503.html", context), status=503)
