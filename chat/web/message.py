"""HTTP: what people do with one message. A refusal is its words, with 409 or 422."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models.functions import Left
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from chat.db.threads import in_db
from chat.engine.model_profiles import list_offered
from chat.engine.state import find_number_since
from chat.errors import Refused
from chat.html.message import render_whole_row
from chat.live.enqueuing import ask_for_rebuild
from chat.live.runner import runner
from chat.models import Conversation, Message
from chat.protocol import pasted
from chat.protocol.zone import read_zone
from chat.queries.exchanges import load_exchange, select_paired
from chat.services.people.rate_limit import explain_limit
from chat.services.summary import leaving_out
from chat.services.turns import branches
from chat.services.turns.requests import AnswerStart
from chat.web.access import (
    NOT_OFFERED,
    explain_refusal,
    find_conversation,
    load_user,
    make_sender,
    refusal_response,
    render_question,
)

PEEK_SHOWN = 300  # characters
PEEK_READ = 1_200  # of which runs of white space become one space


def find_message(request: HttpRequest, pk: UUID, message: int) -> Message:
    """A message of the signed-in user's conversation, or 404."""
    row = Message.objects.filter(conversation=find_conversation(request, pk), pk=message).first()
    if row is None:
        raise Http404
    return row


@login_required
@require_GET
def message_since(request: HttpRequest, pk: UUID, seconds: int) -> HttpResponse:
    """The number of the first message written so many seconds after 1970 began, or later."""
    row = find_conversation(request, pk)
    try:
        time = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as error:  # after the year 9999
        raise Http404 from error
    number = find_number_since(row.pk, time)
    if number is None:
        raise Http404
    return HttpResponse(str(number), content_type="text/plain")


@login_required
@require_GET
def message_peek(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """What a message begins with, for who points at its number: a fragment with its text as plain
    text."""
    found = find_conversation(request, pk).messages.filter(number=number)
    row = get_object_or_404(found.defer("text", "blocks"))
    (opening,) = found.values_list(Left("text", PEEK_READ), flat=True)
    words = Truncator(" ".join(opening.split())).chars(PEEK_SHOWN)
    return render(request, "chat/transcript/message_peek.html", {"message": row, "words": words})


@login_required
@require_GET
def message_markdown(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """The message as it was written; `X-Pasted` tells which parts of it were pasted."""
    row = find_message(request, pk, message)
    texts = [block["text"] for block in row.blocks if block.get("type") == "text"]
    response = HttpResponse("\n\n".join(texts), content_type="text/plain; charset=utf-8")
    if row.pasted is not None and len(texts) == 1:
        response["X-Pasted"] = json.dumps(pasted.convert_to_units(texts[0], row.pasted))
    return response


@login_required
@require_GET
def message_row(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """The row of one of the message's tool calls, or results, with nothing left out."""
    html = render_whole_row(find_message(request, pk, message), request.GET.get("call", ""))
    if html is None:
        raise Http404
    return HttpResponse(html)


@login_required
@require_POST
async def message_edit(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """Send another version of a message of the user's."""
    try:
        parts = pasted.parse_pasted_field(request.POST.get("pasted", ""))
    except Refused as refusal:
        return _refused(refusal)
    text = request.POST.get("text", "")
    return await _answered(request, branches.edit_message, pk, message, text, parts)


@login_required
@require_POST
async def message_regenerate(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """Answer again, this once with another `model` where one is given."""
    model, user = request.POST.get("model", ""), await load_user(request)
    if model:
        await in_db(find_message, request, pk, message)
        if model not in {each.name for each in await in_db(list_offered, user.pk)}:
            return HttpResponse(NOT_OFFERED, status=422)
    return await _answered(request, branches.regenerate, pk, message, model=model)


async def _answered(
    request: HttpRequest, change: Callable[..., AnswerStart], *arguments: Any, **named: Any
) -> HttpResponse:
    """Make a change and run the turn that it opens."""
    user = await load_user(request)
    try:
        named |= {"holder": runner.holder, "zone": read_zone(request.COOKIES)}
        await runner.begin(make_sender(request), change, user, *arguments, **named)
    except Refused as refusal:
        return _refused(refusal)
    except (Conversation.DoesNotExist, Message.DoesNotExist):
        raise Http404 from None
    return HttpResponse(status=204)


@login_required
@require_POST
def message_switch(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """Show the branch through a message."""
    row = find_message(request, pk, message)
    try:
        branches.switch_branch(row.conversation.owner, pk, message)
    except Refused as refusal:
        return _refused(refusal)
    return HttpResponse(status=204)


@login_required
@require_http_methods(["GET", "POST"])
def message_delete(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """Ask first, then delete."""
    template = "chat/dialogs/message_delete.html"
    row = find_message(request, pk, message)
    through = row.conversation.compressed_through
    summarised = through is not None and row.position <= through.position
    context = {"message": row, "summarised": summarised}
    if request.method == "GET":
        return render_question(request, template, context)
    try:
        rested = branches.delete_message(row.conversation.owner, pk, message)
    except Refused as refusal:
        return render_question(request, template, context, refusal)
    return _changed("message-deleted", row.conversation, rebuilt=rested)


@login_required
@require_http_methods(["GET", "POST"])
def message_leave_out(request: HttpRequest, pk: UUID, message: int) -> HttpResponse:
    """Ask first, then keep a message out of the context, or put it back with `change` = `put-back`;
    `whole`: with its exchange."""
    row = find_message(request, pk, message)
    if request.method == "GET":
        return _show_leave_out(request, row)
    back = request.POST.get("change") == "put-back"
    change = leaving_out.put_message_back if back else leaving_out.leave_message_out
    try:
        rebuilt = change(row.conversation.owner, pk, message, whole="whole" in request.POST)
    except Refused as refusal:
        return _show_leave_out(request, row, refusal)
    done = "message-put-back" if back else "message-left-out"
    return _changed(done, row.conversation, rebuilt=rebuilt)


def _changed(done: str, conversation: Conversation, *, rebuilt: bool) -> HttpResponse:
    """The event that tells the page of a change of the context, after which a part of the summary
    is `rebuilt`, or later where its user has reached a limit."""
    response = HttpResponse(status=204, headers={"HX-Trigger": done})
    if not rebuilt:
        return response
    if limit := explain_limit(conversation.owner_id):
        words = gettext(
            "{limit} So the part of the summary that is based on this message is written again "
            "after your next message."
        ).format(limit=limit)
        return trigger_client_event(HttpResponse(status=204), done, {"later": words})
    ask_for_rebuild(conversation.pk)
    return response


def _show_leave_out(
    request: HttpRequest, row: Message, refusal: Refused | None = None
) -> HttpResponse:
    """The dialog, with how many messages each choice would change."""
    exchange = load_exchange(row) if row.active else [row]
    through = row.conversation.compressed_through
    context = {
        "message": row,
        "alone": _count_changed(select_paired(exchange, row), row),
        "whole": _count_changed(exchange, row),
        "summarised": through is not None and row.position <= through.position,
    }
    return render_question(request, "chat/dialogs/message_leave_out.html", context, refusal)


def _count_changed(rows: Sequence[Message], row: Message) -> int:
    """Of some messages, those that are in the context as little, or as much, as `row` is."""
    return sum(each.left_out == row.left_out for each in rows)


def _refused(refusal: Refused) -> HttpResponse:
    return refusal_response(refusal, 409 if refusal.retryable else 422, explain_refusal(refusal))
