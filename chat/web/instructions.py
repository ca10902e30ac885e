"""HTTP: the standing instructions of a conversation, listed and changed."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from agent.compaction.chapters.standing_pins import list_pins
from agent.compaction.instructions.pins import LONGEST, Pin, PinState
from agent.context.summary import Summary
from chat.errors import Refused
from chat.html.divider import count_left_out
from chat.models import Compaction
from chat.queries.summary_versions import read_chapters
from chat.services.summary import instructions
from chat.web.access import explain_refusal
from chat.web.summary import find_version


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
        made = _change(request, row, text)
    except Refused as refusal:
        return _dialog(request, row, error=explain_refusal(refusal), text=text)
    return _dialog(request, made, focused=_find_next(row, made, request.POST.get("pin", "")))


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


def _group(row: Compaction) -> dict[str, list[tuple[int, Pin]]]:
    """The sections of the dialog, each pin with its place in the list."""
    groups: dict[str, list[tuple[int, Pin]]] = {"standing": [], "offers": [], "others": []}
    for place, pin in enumerate(list_pins(read_chapters(row))):
        stands = pin.state == PinState.STANDING
        groups["standing" if stands else "offers" if pin.is_offer else "others"].append(
            (place, pin)
        )
    return groups


def _find_next(before: Compaction, after: Compaction, place: str) -> int | None:
    """The place of the one that has taken the place of another in its section, or is the last
    there: so a keyboard goes on where it was. None where the section is empty, or nothing was."""
    left = _group(after)
    for section, pins in _group(before).items():
        places = [str(each) for each, _ in pins]
        if place in places and left[section]:
            return left[section][min(places.index(place), len(left[section]) - 1)][0]
    return None


def _dialog(
    request: HttpRequest,
    row: Compaction,
    *,
    error: str = "",
    text: str = "",
    focused: int | None = None,
) -> HttpResponse:
    context = {
        "conversation": row.conversation,
        "version": row,
        **_group(row),
        "focused": focused,
        "done": request.method == "POST" and not error,
        "left_out": count_left_out(Summary.from_text(row.summary).instructions),
        "most": LONGEST,
        "error": error,
        # What was typed is not lost where it is refused.
        "failed": request.POST.get("pin", "") if error else "",
        "text": text,
    }
    status = 422 if error else 200
    return render(request, "chat/dialogs/summary_instructions.html", context, status=status)
