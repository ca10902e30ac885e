"""The API: turns that run, as a stream of events or waited for."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Annotated, Any, Protocol
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from ninja import Header, Router, Status

from accounts.doors import read_token
from accounts.tokens import CONVERSATIONS_READ, MESSAGES_SEND
from chat.api.auth import get_user, make_sender, reads, reads_async, sends
from chat.api.conversations import find_conversation
from chat.api.ear import Ear
from chat.api.events import Reader, TurnStream
from chat.api.rows import as_turn
from chat.api.schemas import ERRORS, AgainIn, ErrorOut, RowId, TurnOut
from chat.api.sent_text import read_place
from chat.db.threads import in_db
from chat.errors import RefusalCode, Refused
from chat.live.runner import Begun, runner
from chat.live.stopping import stop_turns
from chat.models import Turn
from chat.queries.turns import find_turn, load_turn
from chat.services.turns import requests

router = Router(tags=["turns"])
EVENT_STREAM = "text/event-stream"
EVENT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
}
STREAMED = {"responses": {200: {"content": {EVENT_STREAM: {"schema": EVENT}}}}}


class Wanted(Protocol):
    """How an answer is wanted: as a stream, or after so many seconds at the latest."""

    stream: bool
    wait: int


async def run_turn(
    request: HttpRequest,
    conversation: UUID,
    wanted: Wanted,
    store: Callable[..., Begun | None],
    *arguments: Any,
    find_repeated: Callable[[], int] | None = None,
    **named: Any,
) -> HttpResponseBase | Status[TurnOut]:
    """Begin a turn by what stores its beginning (`chat.live.runner.Runner.begin`), and answer as it
    is wanted: with its events; or with the turn, 200 when it has ended and 202 if that takes longer
    than is waited. `find_repeated`: the turn that was begun by the same request before."""
    ear = await Ear.open(conversation)  # before anything happens
    try:
        begun = await runner.begin(
            make_sender(request), store, *arguments, holder=runner.holder, **named
        )
        if begun is None:
            assert find_repeated is not None
            turn_id = await in_db(find_repeated)
        else:
            turn_id = begun.turn.pk
    except BaseException:
        await ear.close()
        raise
    stream = TurnStream(_make_reader(request, MESSAGES_SEND), ear, conversation, turn_id)
    if wanted.stream:
        return _respond(stream, ear)
    with suppress(TimeoutError):
        async with asyncio.timeout(wanted.wait), aclosing(stream.follow()) as events:
            async for _ in events:
                pass
    turn = await in_db(_load, get_user(request).pk, conversation, turn_id)
    return Status(200 if turn.finished_at else 202, turn)


def _make_reader(request: HttpRequest, scope: str) -> Reader:
    return Reader(get_user(request).pk, read_token(request), scope)


def _respond(stream: TurnStream, ear: Ear) -> StreamingHttpResponse:
    ear.close_unless_used()
    headers = {"Cache-Control": "private, no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(stream.write(), content_type=EVENT_STREAM, headers=headers)


def _load(user_id: int, conversation: UUID, turn_id: int) -> TurnOut:
    turn, messages = load_turn(user_id, conversation, turn_id)
    return as_turn(turn, messages)


@router.get(
    "/{uuid:conversation}/turns/{int:turn}", auth=reads, response={200: TurnOut, ERRORS: ErrorOut}
)
def get_turn(request: HttpRequest, conversation: UUID, turn: RowId) -> TurnOut:
    """One turn as it is now."""
    return _load(get_user(request).pk, conversation, turn)


@router.get(
    "/{uuid:conversation}/turns/{int:turn}/events",
    auth=reads_async,
    response={200: Any, ERRORS: ErrorOut},
    openapi_extra=STREAMED,
)
async def follow_turn(
    request: HttpRequest,
    conversation: UUID,
    turn: RowId,
    last_event_id: Annotated[str, Header(alias="Last-Event-ID", max_length=100)] = "",
) -> HttpResponseBase:
    """The events of a turn: from its beginning, or from what follows the event with that id. Any
    process of the site answers, also after the one that streamed has died."""
    await in_db(find_turn, get_user(request).pk, conversation, turn)  # or 404
    reader = _make_reader(request, CONVERSATIONS_READ)
    place = read_place(last_event_id, turn)
    ear = await Ear.open(conversation)
    return _respond(TurnStream(reader, ear, conversation, turn, place=place), ear)


@router.post("/{uuid:conversation}/stop", auth=sends, response={202: TurnOut, ERRORS: ErrorOut})
async def stop_turn(request: HttpRequest, conversation: UUID) -> Status[TurnOut]:
    """Stop what is being written; what there is of it is kept. It ends in a moment."""
    turn = await in_db(_find_active, request, conversation)
    if not await stop_turns([conversation]):
        raise _nothing_to_stop()
    return Status(202, await in_db(_load, get_user(request).pk, conversation, turn))


def _find_active(request: HttpRequest, conversation: UUID) -> int:
    row = find_conversation(request, conversation)
    turn = Turn.objects.filter(conversation=row, status__in=Turn.ACTIVE).first()
    if turn is None:
        raise _nothing_to_stop()
    return turn.pk


def _nothing_to_stop() -> Refused:
    return Refused(RefusalCode.NOTHING_TO_STOP, gettext("No answer is being written."))


@router.post(
    "/{uuid:conversation}/retry",
    auth=sends,
    response={200: TurnOut, 202: TurnOut, ERRORS: ErrorOut},
    openapi_extra=STREAMED,
)
async def retry(
    request: HttpRequest, conversation: UUID, body: AgainIn
) -> HttpResponseBase | Status[TurnOut]:
    """Answer the last message again, whose answer failed or was stopped."""
    row = await in_db(find_conversation, request, conversation)
    return await run_turn(request, conversation, body, requests.retry, row)
