"""HTTP: the responses when a view has failed."""

import errno
import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_noop
from django.views import defaults

from chat.db.outages import DATABASE
from chat.db.threads import FULL, MISFIT, UNAVAILABLE, explain_unavailable, is_misfit

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
        words = FULL
    else:
        return defaults.server_error(request)
    if "x-requested-with" in request.headers or "hx-request" in request.headers:
        text = " ".join([gettext(words), gettext(NEXT_STEP)])
        return HttpResponse(text, status=503, content_type="text/plain; charset=utf-8")
    context = {"words": gettext(words), "next_step": gettext(NEXT_STEP)}
    return HttpResponse(render_to_string("503.html", context), status=503)
