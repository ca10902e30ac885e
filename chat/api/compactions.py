"""The API: summaries, and compacting by hand."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from ninja import Router, Status

from chat.api.auth import get_user, reads, sends, writes
from chat.api.conversations import find_conversation
from chat.api.rows import as_compaction, as_compaction_text
from chat.api.schemas import (
    ERRORS,
    CompactIn,
    CompactionsOut,
    CompactionTextOut,
    ErrorOut,
    Limit,
    RowId,
    TurnOut,
)
from chat.api.turns import STREAMED, run_turn
from chat.db.threads import in_db
from chat.errors import RefusalCode, Refused
from chat.models import Compaction
from chat.services.summary import compactions, summaries

router = Router(tags=["summaries"])


def _load_versions(request: HttpRequest, conversation: UUID) -> QuerySet[Compaction]:
    found = find_conversation(request, conversation).compactions
    return found.select_related("conversation", "first", "through").order_by("-pk")


@router.get(
    "/{uuid:conversation}/compactions", auth=reads, response={200: CompactionsOut, ERRORS: ErrorOut}
)
def list_compactions(
    request: HttpRequest, conversation: UUID, before: RowId | None = None, limit: Limit = 50
) -> CompactionsOut:
    """The versions of the summary and the attempts at one, newest first."""
    rows = _load_versions(request, conversation).defer("chapters", "summary", "audit")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: limit + 1])
    return CompactionsOut(
        items=[as_compaction(row) for row in found[:limit]],
        next=found[limit - 1].pk if len(found) > limit else None,
    )


@router.get(
    "/{uuid:conversation}/compactions/{int:compaction}",
    auth=reads,
    response={200: CompactionTextOut, ERRORS: ErrorOut},
)
def get_compaction(
    request: HttpRequest, conversation: UUID, compaction: RowId
) -> CompactionTextOut:
    """One version with its text."""
    return as_compaction_text(_load_versions(request, conversation).get(pk=compaction))


@router.post(
    "/{uuid:conversation}/compactions",
    auth=sends,
    response={200: TurnOut, 202: TurnOut, ERRORS: ErrorOut},
    openapi_extra=STREAMED,
)
async def compact(
    request: HttpRequest, conversation: UUID, body: CompactIn
) -> HttpResponseBase | Status[TurnOut]:
    """Summarise the older messages now, as `/compact` does."""
    return await run_turn(
        request,
        conversation,
        body,
        summaries.open_compaction_turn,
        get_user(request),
        conversation,
        focus=body.focus,
        extent=body.extent,
    )


@router.post(
    "/{uuid:conversation}/compactions/cancel", auth=sends, response={204: None, ERRORS: ErrorOut}
)
async def cancel_compaction(request: HttpRequest, conversation: UUID) -> Status[None]:
    """Cancel the compaction that runs; nothing changes then."""
    await in_db(_cancel, request, conversation)
    return Status(204, None)


def _cancel(request: HttpRequest, conversation: UUID) -> None:
    if not compactions.cancel(find_conversation(request, conversation).pk):
        raise Refused(RefusalCode.NOTHING_TO_STOP, gettext("No compaction is running."))


@router.post(
    "/{uuid:conversation}/compactions/{int:compaction}/revert",
    auth=writes,
    response={204: None, ERRORS: ErrorOut},
)
def revert_compaction(request: HttpRequest, conversation: UUID, compaction: RowId) -> Status[None]:
    """Go back from the current version to the one before."""
    summaries.revert(_load_versions(request, conversation).get(pk=compaction).pk)
    return Status(204, None)
