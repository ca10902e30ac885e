"""The settings of a person: sections that share a frame, as a dialog of the chat and as a page."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from chat.web.access import is_from_htmx

SECTIONS: dict[str, str | Promise] = {
    "general": gettext_lazy("General"),
    "memory": gettext_lazy("Memory"),
    "notifications": gettext_lazy("Notifications"),
    "tokens": gettext_lazy("Access tokens"),
    "sessions": gettext_lazy("Sessions"),
    "security": gettext_lazy("Security"),
    "usage": gettext_lazy("Usage"),
    "data": gettext_lazy("Data"),
}
FIRST = "general"


def render_section(
    request: HttpRequest,
    section: str,
    context: dict[str, Any],
    *,
    is_chosen: bool = True,
    status: int = 200,
) -> HttpResponse:
    """A section in its frame. One that nobody has chosen is shown on a wide screen only: a narrow
    one has the list of sections first."""
    frame = {
        "sections": SECTIONS.items(),
        "section": section,
        "section_label": SECTIONS[section],
        "section_template": f"chat/settings/{section}.html",
        "is_chosen": is_chosen,
        "is_dialog": is_from_htmx(request),
    }
    template = "chat/dialogs/settings.html" if is_from_htmx(request) else "chat/settings/page.html"
    return render(request, template, frame | context, status=status)
