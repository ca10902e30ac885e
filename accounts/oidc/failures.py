"""What is shown where the provider of identities does not do its part."""

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

log = structlog.get_logger(__name__)


def show_away(request: HttpRequest, error: Exception) -> HttpResponse:
    """The page for a provider that is away, or sends what no provider sends: 503."""
    log.warning("the provider of identities cannot be used", error=repr(error)[:500])
    context = {"is_away": True}
    return render(request, "socialaccount/authentication_error.html", context, status=503)
