"""The server's events of docs/protocol.md, made from rows."""

from typing import Any

from django.utils.translation import gettext

from agent.messages import Block
from chat.errors import in_words
from chat.html.divider import (
    compaction_note,
    render_divider,
)
from chat.html.message import (
    render_message,
    whole_row_url,
)
from chat.html.questions import render_proposal
from chat.html.tool_row import render_call
from chat.models import Compaction, Conversation, MemoryProposal, Message, Turn
from chat.queries.tree import newest_variant

Event = dict[str, Any]


def message_created(message: Message) -> Event:
    return {
        "type": "message.created",
        "id": message.pk,
        "number": message.number,
        "role": message.role,
        "status": message.status,
        "client_id": message.client_id,
        "html": render_message(message, newest_variant(message)),
    }


def turn_started(turn: Turn) -> Event:
    return {"type": "turn.started", "turn_id": turn.pk, "kind": turn.kind}


def tool_finished(message: Message, call: Block) -> Event:
    """Of a message that is read with its turn."""
    ended = message.calls[call["id"]]
    return {
        "type": "tool.finished",
        "turn_id": message.turn_id,
        "message_id": message.pk,
        "id": call["id"],
        "name": call["name"],
        "failed": ended["failed"],
        "seconds": ended["seconds"],
        "html": render_call(call, ended, whole_row_url(message, call["id"])),
    }


def turn_finished(turn: Turn, message: Message | None) -> Event:
    return {
        "type": "turn.finished",
        "turn_id": turn.pk,
        "kind": turn.kind,
        "status": turn.status,
        "message_id": message.pk if message else None,
        "html": render_message(message, newest_variant(message)) if message else "",
        "stop_reason": message.stop_reason if message else "",
        "usage": message.usage if message else None,
        "error": in_words(turn.error),
    }


def conversation_updated(conversation: Conversation) -> Event:
    return {
        "type": "conversation.updated",
        "id": str(conversation.pk),
        "title": str(conversation),
    }


def proposal_asked(proposal: MemoryProposal) -> Event:
    return question_asked(f"memory-{proposal.pk}", render_proposal(proposal))


def proposal_closed(proposal: MemoryProposal) -> Event:
    return question_closed(f"memory-{proposal.pk}")


def question_asked(question_id: str, html: str) -> Event:
    return {"type": "question.asked", "id": question_id, "html": html}


def question_closed(question_id: str) -> Event:
    return {"type": "question.closed", "id": question_id}


def compaction_started(compaction: Compaction) -> Event:
    return _compaction("CompressionStarted", compaction) | {
        "trigger": compaction.trigger,
        "messages": compaction.messages,
        "tokens_before": compaction.tokens_before,
    }


def compaction_progress(compaction: Compaction, text: str) -> Event:
    return _compaction("CompressionProgress", compaction) | {"text": text}


def compaction_completed(compaction: Compaction) -> Event:
    success = compaction.status == Compaction.Status.COMPLETED
    return _compaction("CompressionCompleted", compaction) | {
        "success": success,
        "error": gettext(compaction.error),
        "cancelled": compaction.status == Compaction.Status.CANCELLED,
        "tokens_before": compaction.tokens_before,
        "tokens_after": compaction.tokens_after,
        "trigger": compaction.trigger,
        "engine": compaction.engine,
        "note": compaction_note(compaction) if success else "",
        "after_message_id": compaction.through_id,
        "html": render_divider(compaction) if success else "",
    }


def _compaction(kind: str, compaction: Compaction) -> Event:
    return {
        "type": kind,
        "conversation_id": str(compaction.conversation_id),
        "compaction_id": compaction.pk,
    }
