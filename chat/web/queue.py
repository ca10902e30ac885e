"""One queued prompt, for its editor in the page. All else goes over the socket."""

import json
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from chat.errors import Refused
from chat.protocol import pasted
from chat.services.turns.queue import load_queued
from chat.web.access import get_user


@login_required
@require_GET
def queued_prompt(request: HttpRequest, pk: UUID, queued: int) -> HttpResponse:
    """Its whole text; `X-Pasted` tells which parts of it were pasted."""
    try:
        row = load_queued(get_user(request), pk, queued)
    except Refused as refusal:
        raise Http404 from refusal
    response = HttpResponse(row.text, content_type="text/plain; charset=utf-8")
    if row.pasted is not None:
        response["X-Pasted"] = json.dumps(pasted.convert_to_units(row.text, row.pasted))
    return response
