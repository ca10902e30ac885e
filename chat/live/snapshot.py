"""The `snapshot` event: all that a page needs to be right, whatever it has missed."""

from typing import Any
from uuid import UUID

from django.utils import timezone

from chat.db import in_db
from chat.html.questions import render_proposal
from chat.live.peers import ask_owner
from chat.live.runner import runner
from chat.models import Compaction, Message, Turn
from chat.protocol import events
from chat.queries.conversation import (
    head_number,
    load,
    usage_event,
)
from chat.services import memories


async def snapshot(conversation_id: UUID) -> dict[str, Any]:
    """The event of docs/protocol.md, with the live text from the process that writes it."""
    event, turn = await in_db(_stored, conversation_id)
    if turn is None:
        return event
    live = runner.live(conversation_id)
    if live is not None and live.turn_id == turn.pk:
        told: dict[str, Any] | None = live.snapshot()
    elif turn.owner != runner.owner:
        told = await ask_owner(turn)
    else:
        told = None
    if told is None:
        told = await in_db(_checkpoint, turn)
    event["questions"] += told.pop("questions", "")
    event["turn"] |= told
    return event


def _stored(conversation_id: UUID) -> tuple[dict[str, Any], Turn | None]:
    loaded = load(conversation_id)
    turn = Turn.objects.filter(conversation=conversation_id, status__in=Turn.ACTIVE).first()
    compaction = Compaction.objects.filter(
        conversation=conversation_id, status=Compaction.Status.RUNNING
    ).first()
    event: dict[str, Any] = {
        "type": "snapshot",
        "conversation_id": str(conversation_id),
        "title": str(loaded.conversation),
        "head": head_number(conversation_id),
        "turn": None,
        "compaction": None,
        "usage": usage_event(loaded),
        "questions": "".join(map(render_proposal, memories.proposals_of(loaded.conversation))),
    }
    if turn:
        event["turn"] = {"turn_id": turn.pk, "kind": turn.kind, "status": turn.status}
    if compaction:
        elapsed = (timezone.now() - compaction.created_at).total_seconds()
        event["compaction"] = events.compaction_started(compaction) | {"elapsed": elapsed}
    return event, turn


def _checkpoint(turn: Turn) -> dict[str, Any]:
    """The stored text of a turn whose owner does not answer."""
    message = Message.objects.filter(turn=turn, status=Message.Status.STREAMING).first()
    return {
        "message_id": message.pk if message else None,
        "number": message.number if message else None,
        "seq": 0,
        "html": "",
        "through": 0,
        "text": message.text if message else "",
        "thinking": "",
        "rows": "",
        "questions": "",
    }
