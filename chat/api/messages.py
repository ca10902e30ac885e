"""The API: messages, and what writes them."""

from functools import partial
from typing import Annotated
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from ninja import Header, Query, Router, Status

from chat.api.auth import get_user, reads, sends, writes
from chat.api.conversations import find_conversation, find_message
from chat.api.errors import ApiError
from chat.api.rows import as_message
from chat.api.schemas import (
    ERRORS,
    AgainIn,
    EditIn,
    ErrorOut,
    Limit,
    MessageOut,
    MessagesOut,
    Number,
    SendIn,
    TurnOut,
)
from chat.api.turns import STREAMED, run_turn
from chat.db.threads import in_db
from chat.engine.model_profiles import is_offered
from chat.errors import RefusalCode, Refused
from chat.live.enqueuing import ask_for_rebuild
from chat.models import Conversation, Message, Turn
from chat.protocol.frames import MAX_CLIENT_ID
from chat.queries.tree import find_newest_leaf, load_path_to_active
from chat.services.people.rate_limit import explain_limit
from chat.services.turns import branches, requests
from chat.services.turns.turns import NewMessage
from chat.web.access import NOT_OFFERED
from chat.web.transcript import take_first, take_last

router = Router(tags=["messages"])
IDEMPOTENCY_KEY = Header(
    alias="Idempotency-Key",
    min_length=1,
    max_length=MAX_CLIENT_ID,
    description="A text of your own for this message, as a UUID. The same one again sends nothing: "
    "it is answered with the turn of the first time, also after a crash.",
)


@router.get(
    "/{uuid:conversation}/messages", auth=reads, response={200: MessagesOut, ERRORS: ErrorOut}
)
def list_messages(
    request: HttpRequest,
    conversation: UUID,
    before: Annotated[Number | None, Query(description="The number of a message.")] = None,
    after: Annotated[Number | None, Query(description="The number of a message.")] = None,
    tip: Annotated[
        Number | None, Query(description="The number of a message of another branch than is shown.")
    ] = None,
    limit: Limit = 50,
) -> MessagesOut:
    """A part of a branch: its newest messages, or those before or after one of it."""
    if before is not None and after is not None:
        raise ApiError(422, "invalid", gettext("Send before or after, not both."))
    rows = _load_branch(find_conversation(request, conversation), tip)
    if after is not None:
        position = _find_position(rows, after)
        found, more = take_first(rows.filter(position__gt=position), limit)
        earlier, later = bool(found), more
    else:
        until = rows
        if before is not None:
            until = rows.filter(position__lt=_find_position(rows, before))
        found, more = take_last(until, limit)
        earlier, later = more, before is not None and bool(found)
    return MessagesOut(
        items=[as_message(row) for row in found],
        earlier=found[0].number if earlier else None,
        later=found[-1].number if later else None,
    )


def _load_branch(conversation: Conversation, tip: int | None) -> QuerySet[Message]:
    """The messages of the shown branch, or of the one through a message, in order."""
    rows = conversation.messages.select_related("parent").prefetch_related("attachments")
    on_branch = Q(active=True)
    if tip is not None:
        way = load_path_to_active(find_newest_leaf(conversation.messages.get(number=tip)))
        joint = way[-1]
        last = joint.position if joint.active else -1
        on_branch = Q(active=True, position__lte=last) | Q(pk__in=[row.pk for row in way])
    return rows.filter(on_branch).order_by("position")


def _find_position(rows: QuerySet[Message], number: int) -> int:
    position = rows.filter(number=number).values_list("position", flat=True).first()
    if position is None:
        words = gettext("Message #{number} is not on this branch.")
        raise ApiError(409, RefusalCode.NOT_SHOWN, words.format(number=number))
    return position


@router.get(
    "/{uuid:conversation}/messages/{int:number}",
    auth=reads,
    response={200: MessageOut, ERRORS: ErrorOut},
)
def get_message(request: HttpRequest, conversation: UUID, number: Number) -> MessageOut:
    """One message, of whatever branch."""
    return as_message(find_message(request, conversation, number))


@router.post(
    "/{uuid:conversation}/messages",
    auth=sends,
    response={200: TurnOut, 202: TurnOut, ERRORS: ErrorOut},
    openapi_extra=STREAMED,
)
async def send_message(
    request: HttpRequest,
    conversation: UUID,
    body: SendIn,
    idempotency_key: Annotated[str | None, IDEMPOTENCY_KEY] = None,
) -> HttpResponseBase | Status[TurnOut]:
    """Send a message and get its answer, whole or as a stream."""
    new = NewMessage(
        body.text,
        [str(each) for each in body.files],
        client_id=idempotency_key,
        zone=body.time_zone,
        source=Message.Source.API,
    )
    return await run_turn(
        request,
        conversation,
        body,
        requests.send_message,
        get_user(request),
        conversation,
        new,
        expected_head=body.expected_head,
        find_repeated=partial(_find_turn, conversation, idempotency_key),
    )


def _find_turn(conversation_id: UUID, client_id: str | None) -> int:
    """The turn that a message began which was sent before."""
    message = Message.objects.get(conversation=conversation_id, client_id=client_id)
    if message.turn_id is None:
        raise Turn.DoesNotExist
    return message.turn_id


@router.post(
    "/{uuid:conversation}/messages/{int:number}/edit",
    auth=sends,
    response={200: TurnOut, 202: TurnOut, ERRORS: ErrorOut},
    openapi_extra=STREAMED,
)
async def edit_message(
    request: HttpRequest, conversation: UUID, number: Number, body: EditIn
) -> HttpResponseBase | Status[TurnOut]:
    """Send another version of a message of yours; the old one stays as a branch."""
    message = await in_db(find_message, request, conversation, number)
    return await run_turn(
        request,
        conversation,
        body,
        branches.edit_message,
        get_user(request),
        conversation,
        message.pk,
        body.text,
    )


@router.post(
    "/{uuid:conversation}/messages/{int:number}/regenerate",
    auth=sends,
    response={200: TurnOut, 202: TurnOut, ERRORS: ErrorOut},
    openapi_extra=STREAMED,
)
async def regenerate_answer(
    request: HttpRequest, conversation: UUID, number: Number, body: AgainIn
) -> HttpResponseBase | Status[TurnOut]:
    """Answer again what an answer answers; the old one stays as a branch."""
    user = get_user(request)
    message = await in_db(find_message, request, conversation, number)
    if body.model and not await in_db(is_offered, user.pk, body.model):
        raise Refused(RefusalCode.MODEL_OFF, str(NOT_OFFERED))
    return await run_turn(
        request,
        conversation,
        body,
        branches.regenerate,
        user,
        conversation,
        message.pk,
        model=body.model,
    )


@router.delete(
    "/{uuid:conversation}/messages/{int:number}",
    auth=writes,
    response={204: None, ERRORS: ErrorOut},
)
def delete_message(request: HttpRequest, conversation: UUID, number: Number) -> Status[None]:
    """Delete a message of the shown branch for good. Parts of summaries that rest on it are written
    again."""
    user, row = get_user(request), find_message(request, conversation, number)
    rested = branches.delete_message(user, conversation, row.pk)
    if rested and not explain_limit(user.pk):
        ask_for_rebuild(conversation)
    return Status(204, None)
