"""The rounds of tools within a turn: what the model said, how its calls ended, their results."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from agent.attachments import find_reference
from agent.loop import CallResult
from agent.messages import Block, plain_text, result_text
from chat.db.rows import insert_row, save_row
from chat.engine.model_profiles import load_profile
from chat.engine.model_server import get_counter
from chat.html.tool_row import MAX_TOOL_TEXT
from chat.models import CallEnd, Conversation, Message, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit_later
from chat.services.turns.endings import TurnOutcome, store_answer
from chat.services.turns.turns import (
    TurnEnded,
    append_message,
    find_head,
    find_open_answer,
    lock_turn,
)
from spending.calls import end_call

STOPPED = "The tool was stopped before it returned a result."


def close_round(turn_id: int, ending: TurnOutcome, refused: Collection[CallResult] = ()) -> None:
    """Store the message that calls tools, and which of its calls are not made; the turn goes on.
    Raises TurnEnded."""
    tokens = get_counter().count_blocks(list(ending.blocks))
    with transaction.atomic():
        turn = lock_turn(turn_id)
        message = find_open_answer(turn_id)
        if message is None:
            raise TurnEnded(turn_id)
        profile = load_profile(turn.answering_model)
        store_answer(turn.conversation, profile, message, ending, tokens)
        if refused:
            message.calls = _shown_by_id(refused)
            save_row(message, "calls")
        group = conversation_group(turn.conversation_id)
        emit_later(group, lambda: from_rows.message_created(message))
        if ending.call:
            end_call(ending.call)


def store_call_end(message_id: int, result: CallResult) -> None:
    """Keep and show how a call ended, while others may still run. What it takes does not depend on
    how many calls the message has: `store_results` puts their ends together."""
    shown = _shown(result)
    with transaction.atomic():
        message = Message.objects.only("turn_id", "conversation_id").filter(pk=message_id).first()
        if message is None or message.turn_id is None:
            raise TurnEnded(message_id)
        insert_row(CallEnd(message=message, call=result.call["id"], shown=shown))
        group = conversation_group(message.conversation_id)
        emit_later(group, lambda: from_rows.tool_finished(message, result.call, shown))


def store_results(
    turn_id: int, message_id: int, calls: Sequence[Block], ended: Sequence[CallResult]
) -> None:
    """Store the results of a round as one message, in the order of the calls; those that have not
    ended were stopped. If it is repeated because the reply to the commit was lost, it stores
    nothing and returns what is there. Raises TurnEnded."""
    by_id = {result.call["id"]: result for result in ended}
    results = [by_id.get(call["id"]) or CallResult(call, STOPPED, True, 0.0) for call in calls]
    blocks = [result.block for result in results]
    tokens = get_counter().count_blocks(blocks)
    with transaction.atomic():
        turn = lock_turn(turn_id)
        Message.objects.filter(pk=message_id).update(calls=_shown_by_id(results))
        CallEnd.objects.filter(message=message_id).delete()
        conversation = Conversation.objects.select_for_update().get(pk=turn.conversation_id)
        head = find_head(conversation)
        if head and head.pk != message_id:
            message = Message.objects.get(pk=head.pk)
        else:
            message = append_message(
                conversation,
                head,
                turn,
                role=Message.Role.USER,
                blocks=blocks,
                text=plain_text(blocks),
                tokens=tokens,
            )
        group = conversation_group(conversation.pk)
        emit_later(group, lambda: from_rows.message_created(message))


def request_compaction(conversation_id: UUID, focus: str) -> None:
    """Note that the model asked for a compaction before the turn's next request."""
    active = Turn.objects.filter(conversation=conversation_id, status__in=Turn.ACTIVE)
    active.update(compaction_wanted=True, focus=focus)


def _shown_by_id(results: Collection[CallResult]) -> dict[str, dict[str, Any]]:
    return {result.call["id"]: _shown(result) for result in results}


def _shown(result: CallResult) -> dict[str, Any]:
    """What the page keeps of a result, whose whole text is in the next message."""
    if not result.made:
        return {"made": False}
    text = result_text(result.block)
    parts = result.content if isinstance(result.content, list) else []
    shown: dict[str, Any] = {
        "text": text[:MAX_TOOL_TEXT],
        "omitted": max(0, len(text) - MAX_TOOL_TEXT),
        "failed": result.failed,
        "seconds": round(result.seconds, 2),
    }
    files = [part for part in parts if find_reference(part)]
    return shown | {"files": files} if files else shown
