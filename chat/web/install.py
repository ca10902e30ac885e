"""HTTP: what makes the site an app of the device: its manifest, its service worker, and the page to
which other apps share a text."""

from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from agent.messages import sanitise_text
from chat.web.conversation import render_start

SHARED_FIELDS = ("title", "text", "url")
SPLASH, BAR = "#fcfbf8", "#3d5a4c"  # --bg of static/css/base.css, and the ground of the icons
# Browsers ask for both without a cookie, so they hold nothing of a person and may be kept.
KEPT = {"Cache-Control": "public, max-age=3600"}


@require_GET
def manifest(request: HttpRequest) -> HttpResponse:
    """How the site is installed, as the W3C's web app manifest says it."""
    home = reverse("home")
    described = {
        "id": home,
        "name": "Everlong",
        "short_name": "Everlong",
        "description": gettext("Conversations with Claude that never end"),
        "start_url": home,
        "scope": home,
        "display": "standalone",
        "background_color": SPLASH,
        "theme_color": BAR,
        "icons": [
            _icon("icons/favicon.svg", "any", "any", "image/svg+xml"),
            _icon("app_icons/192.png", "192x192", "any"),
            _icon("app_icons/512.png", "512x512", "any"),
            _icon("app_icons/maskable-512.png", "512x512", "maskable"),
        ],
        "share_target": {
            "action": reverse("share_target"),
            "method": "GET",
            "enctype": "application/x-www-form-urlencoded",
            "params": {field: field for field in SHARED_FIELDS},
        },
    }
    return JsonResponse(described, content_type="application/manifest+json", headers=KEPT)


def _icon(path: str, sizes: str, purpose: str, media_type: str = "image/png") -> dict[str, str]:
    return {"src": static(path), "sizes": sizes, "type": media_type, "purpose": purpose}


@require_GET
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script that receives pushes. It is served from here, because a service worker looks after
    no address above its own."""
    return HttpResponse(
        _read_worker(), content_type="text/javascript", headers={"Cache-Control": "no-cache"}
    )


@cache
def _read_worker() -> str:
    found = finders.find("js/service_worker.js")
    assert found, "the script is part of the project"
    return Path(found).read_text()


@login_required
@require_GET
def share_target(request: HttpRequest) -> HttpResponse:
    """A new chat with what another app shared in its message box. Nothing is sent before the person
    does it."""
    given = (request.GET.get(field, "").strip() for field in SHARED_FIELDS)
    # Many apps write the address into the text as well.
    parts: list[str] = []
    for part in filter(None, given):
        if not any(part in each for each in parts):
            parts.append(part)
    text = sanitise_text("\n\n".join(parts))[: settings.MAX_MESSAGE_CHARACTERS]
    return render_start(request, {"text": text, "shared": True})
