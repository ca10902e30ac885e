"""HTTP: the line above every page, and how somebody puts it away."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from chat.queries.announcements import find_current, make_key
from chat.web.access import is_from_htmx

KEPT_AWAY = 400 * 24 * 3600  # s; browsers keep no cookie longer


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Context of every page: looked up where the page asks, and once."""
    return {"announcement": SimpleLazyObject(lambda: describe_announcement(request))}


def describe_announcement(request: HttpRequest) -> dict[str, str] | None:
    """What is to be shown in this browser, if anything is."""
    row = find_current()
    if row is None:
        return None
    key = make_key(row)
    if request.COOKIES.get(settings.ANNOUNCEMENT_COOKIE_NAME) == key:
        return None
    return {"text": row.text, "level": row.level, "key": key}


@login_required
@require_POST
def announcement_dismiss(request: HttpRequest) -> HttpResponse:
    """Show it no longer in this browser, until it says something else; back to the page."""
    response = HttpResponse() if is_from_htmx(request) else redirect(_find_page(request))
    response.set_cookie(
        settings.ANNOUNCEMENT_COOKIE_NAME,
        request.POST.get("announcement", "")[:16],
        max_age=KEPT_AWAY,
        path=settings.SESSION_COOKIE_PATH,
        secure=bool(settings.SESSION_COOKIE_SECURE),
        httponly=True,
        samesite="Lax",
    )
    return response


def _find_page(request: HttpRequest) -> str:
    page = request.POST.get("next", "")
    return page if url_has_allowed_host_and_scheme(page, None) else "home"
