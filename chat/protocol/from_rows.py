"""Events made from rows. Where one holds HTML, making it takes as long as rendering does."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext

from agent.messages import Block
from chat.engine.model_server import get_counter
from chat.engine.state import RequestState
from chat.errors import translate_error
from chat.html.compaction_words import explain_compaction, explain_failure, name_occasion
from chat.html.divider import render_divider
from chat.html.message import render_message, whole_row_url
from chat.html.questions import render_proposal
from chat.html.queue import render_queue
from chat.html.summarised import list_summarised
from chat.html.tool_row import render_call_row
from chat.models import Compaction, Conversation, MemoryProposal, Message, Turn
from chat.protocol.events import (
    CompressionCompleted,
    CompressionProgress,
    CompressionStarted,
    ContextUsage,
    ConversationUpdated,
    MessageCreated,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    SummaryChanged,
    ToolFinished,
    TurnFinished,
    TurnStarted,
)
from chat.queries.queue import list_queue
from chat.queries.summary_versions import has_ready
from chat.queries.tree import find_newest_variant


def message_created(message: Message) -> MessageCreated:
    return MessageCreated(
        id=message.pk,
        number=message.number,
        role=message.role,
        status=message.status,
        client_id=message.client_id,
        html=render_message(message, find_newest_variant(message)),
    )


def turn_started(turn: Turn) -> TurnStarted:
    return TurnStarted(turn_id=turn.pk, kind=turn.kind)


def tool_finished(message: Message, call: Block, ended: dict[str, Any]) -> ToolFinished:
    """`ended`: as in `Message.calls`."""
    return ToolFinished(
        turn_id=message.turn_id,
        message_id=message.pk,
        id=call["id"],
        name=call["name"],
        failed=ended["failed"],
        seconds=ended["seconds"],
        html=render_call_row(call, ended, whole_row_url(message, call["id"])),
    )


def turn_finished(turn: Turn, message: Message | None) -> TurnFinished:
    return TurnFinished(
        turn_id=turn.pk,
        kind=turn.kind,
        status=turn.status,
        message_id=message.pk if message else None,
        html=render_message(message, find_newest_variant(message)) if message else "",
        stop_reason=message.stop_reason if message else "",
        usage=message.usage if message else None,
        error=translate_error(turn.error),
    )


def conversation_updated(conversation: Conversation) -> ConversationUpdated:
    return ConversationUpdated(id=str(conversation.pk), title=str(conversation))


def queue_changed(conversation_id: UUID) -> QueueChanged:
    rows = list_queue(conversation_id)
    return QueueChanged(len(rows), [row.client_id for row in rows], render_queue(rows))


def proposal_asked(proposal: MemoryProposal) -> QuestionAsked:
    return QuestionAsked(id=f"memory-{proposal.pk}", html=render_proposal(proposal))


def proposal_closed(proposal: MemoryProposal) -> QuestionClosed:
    return QuestionClosed(id=f"memory-{proposal.pk}")


def compression_started(compaction: Compaction) -> CompressionStarted:
    return CompressionStarted(
        conversation_id=str(compaction.conversation_id),
        compaction_id=compaction.pk,
        trigger=compaction.occasion,
        why=name_occasion(compaction),
        messages=compaction.messages,
        messages_before=compaction.messages_before,
        tokens_before=compaction.tokens_before,
        elapsed=(timezone.now() - compaction.created_at).total_seconds(),
    )


def compaction_progress(compaction: Compaction, text: str) -> CompressionProgress:
    return CompressionProgress(
        conversation_id=str(compaction.conversation_id), compaction_id=compaction.pk, text=text
    )


def compression_completed(compaction: Compaction) -> CompressionCompleted:
    success = compaction.status == Compaction.Status.COMPLETED
    return CompressionCompleted(
        conversation_id=str(compaction.conversation_id),
        compaction_id=compaction.pk,
        success=success,
        error="" if success else explain_failure(compaction),
        cancelled=compaction.status == Compaction.Status.CANCELLED,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
        messages_before=compaction.messages_before,
        messages_after=compaction.messages_after,
        trigger=compaction.occasion,
        why=name_occasion(compaction),
        engine=compaction.method,
        note=explain_compaction(compaction) if success else "",
        after_message_id=compaction.through_id,
        html=render_divider(compaction) if success else "",
    )


def summary_changed(compaction: Compaction) -> SummaryChanged:
    return SummaryChanged(
        id=compaction.pk, after_message_id=compaction.through_id, html=render_divider(compaction)
    )


def context_usage(state: RequestState) -> ContextUsage:
    limits = state.limits
    return ContextUsage(
        used=state.used,
        budget=limits.budget,
        window=limits.window,
        ratio=state.ratio,
        trigger=state.policy.trigger_tokens(limits) / limits.budget,
        estimated=state.estimated,
        automatic=state.policy.enabled,
        held=state.policy.held,
        ready=_is_ready(state),
        note=_explain_estimate(state),
        breakdown={
            "system": state.size.system,
            "project": state.size.project,
            "tools": state.size.tools,
            "summary": state.size.summary,
            "conversation": max(0, state.used - state.size.fixed),
            "reserve": limits.reserve,
        },
        totals={"compactions": state.conversation.compactions_completed},
        summarised=list_summarised(
            state.context.summary,
            state.context.summary_through,
            state.context.first.number if state.context.first else 0,
        ),
    )


def _is_ready(state: RequestState) -> bool:
    """Whether a summary is prepared for when the context is full; before that nobody asks."""
    near = state.used >= state.policy.prepare_tokens(state.limits)
    return state.policy.enabled and near and has_ready(state.conversation)


def _explain_estimate(state: RequestState) -> str:
    """What the reader should know of an estimate besides that it is one; or ""."""
    notes = []
    if state.doubted:
        notes.append(
            gettext("The model's server reported far too few tokens, so everything is estimated.")
        )
    if get_counter().encoding is None:
        notes.append(gettext("The token vocabulary is missing: counts are estimated from bytes."))
    return " ".join(notes)
