"""HTTP: the links to a conversation, and what people see who follow one."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat.errors import Refused
from chat.html.shared import render_shared
from chat.models import Conversation, Message, Share
from chat.queries.shared import find_share, find_shown_file, list_shares, select_shown
from chat.services.library.shares import revoke_share, share_conversation
from chat.services.people.rate_limit import count_shared_read
from chat.web.access import (
    explain_refusal,
    find_conversation,
    get_user,
    is_from_script,
    refusal_response,
)
from chat.web.attachment import serve
from chat.web.compression import compress
from chat.web.transcript import PAGE, take_first, take_last

# --- For the owner --------------------------------------------------------------------------------


@login_required
@require_http_methods(["GET", "POST"])
def shares(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The dialog of a conversation's links. GET with `through`, a message's key: a link up to there
    is offered, else up to the last message. POST makes one: `through`, "" for all that is shown."""
    row = find_conversation(request, pk)
    if request.method == "GET":
        return _render_dialog(request, row, offered=_find_offered(row, request.GET.get("through")))
    given = request.POST.get("through") or None
    offered = _find_offered(row, given)
    last = offered.pk if offered and given else None
    try:
        made = share_conversation(get_user(request), row.pk, last)
    except Refused as refusal:
        words = explain_refusal(refusal)
        return _render_dialog(request, row, offered=offered, refusal=words, status=422)
    return _render_dialog(request, row, offered=offered, made=made.pk)


@login_required
@require_POST
def share_revoke(request: HttpRequest, pk: UUID, share: UUID) -> HttpResponse:
    """Nobody can read the conversation by this link any more."""
    row = find_conversation(request, pk)
    revoke_share(get_user(request), row.pk, share)
    return _render_dialog(request, row, offered=_find_offered(row, None))


def _find_offered(row: Conversation, key: str | None) -> Message | None:
    """The message with a key, or 404; without one the last of the shown branch, None where there is
    none."""
    if key is None:
        return row.messages.filter(active=True).order_by("-position").first()
    is_key = key.isdecimal() and len(key) < 20
    found = row.messages.filter(pk=int(key)).first() if is_key else None
    if found is None:
        raise Http404
    return found


def _render_dialog(
    request: HttpRequest,
    row: Conversation,
    *,
    offered: Message | None,
    made: UUID | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    links = [
        {"share": share, "url": request.build_absolute_uri(reverse("shared", args=[share.pk]))}
        for share in list_shares(row)
    ]
    context = {
        "conversation": row,
        "is_shared": bool(links),
        "links": links,
        "offered": offered,
        "made": made,
        "refusal": refusal,
    }
    return render(request, "chat/dialogs/shares.html", context, status=status)


# --- For whoever has a link -----------------------------------------------------------------------


@login_required
@require_GET
@compress
def shared(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A shared conversation from its beginning, `after` or `before` a number, or `around` one; the
    page's script gets only the messages."""
    share = _find_share(pk)
    try:
        count_shared_read(get_user(request).pk)
    except Refused as refusal:
        return refusal_response(refusal, 429)
    context = _load_page(share, _read_numbers(request))
    if is_from_script(request):
        return render(request, "chat/shares/items.html", context)
    context |= {"share": share, "conversation": share.conversation}
    return render(request, "chat/shares/page.html", context)


@login_required
@require_GET
def shared_file(request: HttpRequest, pk: UUID, file: UUID) -> HttpResponse:
    """A file of a message that the share shows; see `chat.web.attachment.attachment`."""
    share = _find_share(pk)
    try:
        count_shared_read(get_user(request).pk)
    except Refused as refusal:
        return refusal_response(refusal, 429)
    found = find_shown_file(share, file)
    if found is None:
        raise Http404
    return serve(request, found)


def _find_share(pk: UUID) -> Share:
    share = find_share(pk)
    if share is None:
        raise Http404
    return share


def _read_numbers(request: HttpRequest) -> dict[str, int]:
    """What an address names; nothing where it is none of ours."""
    try:
        return {name: int(value) for name, value in request.GET.dict().items()}
    except ValueError:
        return {}


def _load_page(share: Share, asked: dict[str, int]) -> dict[str, Any]:
    """The articles of some messages as `items`; `earlier` and `later`: the number before or after
    which others stand, None at the ends."""
    rows = select_shown(share)
    before: list[Message] = []
    after: list[Message] = []
    is_earlier, is_later = True, True
    match asked:
        case {"before": number}:
            before, is_earlier = take_last(rows.filter(number__lt=number))
        case {"around": number}:
            before, is_earlier = take_last(rows.filter(number__lt=number), PAGE // 2)
            after, is_later = take_first(rows.filter(number__gte=number), PAGE // 2)
        case {"after": number}:
            after, is_later = take_first(rows.filter(number__gt=number))
        case _:
            after, is_later = take_first(rows)
            is_earlier = False
    messages = [*before, *after]
    return {
        "items": [render_shared(message, share) for message in messages],
        "earlier": messages[0].number if messages and is_earlier else None,
        "later": messages[-1].number if messages and is_later else None,
    }
