"""HTTP: the standing instructions of a conversation, listed and changed."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from agent.compaction.chapters import list_pins
from agent.compaction.pins import LONGEST, Pin, PinState
from agent.context.summary import Summary
from chat.errors import Refused
from chat.html.divider import count_left_out
from chat.models import Compaction
from chat.queries.summaries import read_chapters
from chat.services import instructions
from chat.web.summary import explain_refusal, find_version


@login_required
@require_http_methods(["GET", "POST"])
def summary_instructions(request: HttpRequest, pk: UUID, version: int) -> HttpResponse:
    """The dialog; POST does one thing: `add` a text, or with the place of a `pin` in the list
    `save` a text for it, `remove` or `keep` it. The dialog then shows the new version."""
    row = find_version(request, pk, version)
    if request.method == "GET":
        return _dialog(request, row)
    text = request.POST.get("text", "")
    try:
        return _dialog(request, _change(request, row, text))
    except Refused as refusal:
        return _dialog(request, row, error=explain_refusal(refusal), text=text)


def _change(request: HttpRequest, row: Compaction, text: str) -> Compaction:
    if "add" in request.POST:
        return instructions.add_instruction(row.pk, text)
    pin = _find_pin(row, request.POST.get("pin", ""))
    if "save" in request.POST:
        return instructions.edit_instruction(row.pk, pin, text)
    if "remove" in request.POST:
        return instructions.remove_instruction(row.pk, pin)
    if "keep" in request.POST:
        return instructions.keep_instruction(row.pk, pin)
    raise Http404


def _find_pin(row: Compaction, place: str) -> Pin:
    pins = list_pins(read_chapters(row))
    if not (place.isascii() and place.isdigit() and int(place[:6]) < len(pins)):
        raise Http404
    return pins[int(place[:6])]


def _dialog(
    request: HttpRequest, row: Compaction, *, error: str = "", text: str = ""
) -> HttpResponse:
    pins = list(enumerate(list_pins(read_chapters(row))))
    others = [each for each in pins if each[1].state != PinState.STANDING]
    context = {
        "conversation": row.conversation,
        "version": row,
        "standing": [each for each in pins if each[1].state == PinState.STANDING],
        "others": sorted(others, key=lambda each: not each[1].is_offer),  # to be decided first
        "left_out": count_left_out(Summary.from_text(row.summary).instructions),
        "most": LONGEST,
        "error": error,
        # What was typed is not lost where it is refused.
        "failed": request.POST.get("pin", "") if error else "",
        "text": text,
    }
    status = 422 if error else 200
    return render(request, "chat/dialogs/summary_instructions.html", context, status=status)
