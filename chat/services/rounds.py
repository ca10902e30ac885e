"""The rounds of tools within a turn: what the model said, how its calls ended, their results."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from agent.loop import Result
from agent.messages import Block, plain_text, result_text
from chat.html.tool_row import MAX_TOOL_TEXT
from chat.models import Conversation, Message, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import conversation_group, emit_later
from chat.queries.model_profiles import profile_for
from chat.queries.model_server import counter
from chat.services.endings import Ending, store_answer
from chat.services.turns import TurnEnded, append, head_of, lock, open_answer

STOPPED = "The tool was stopped before it returned a result."


def close(turn_id: int, ending: Ending) -> None:
    """Store the message that calls tools; the turn goes on. Raises TurnEnded."""
    tokens = counter().count_blocks(list(ending.blocks))
    with transaction.atomic():
        turn = lock(turn_id)
        message = open_answer(turn_id)
        if message is None:
            raise TurnEnded(turn_id)
        profile = profile_for(turn.conversation.model)
        store_answer(turn.conversation, profile, message, ending, tokens)
        group = conversation_group(turn.conversation_id)
        emit_later(group, lambda: from_rows.message_created(message))


def call_ended(message_id: int, result: Result) -> None:
    """Show how a call ended, while others may still run."""
    with transaction.atomic():
        rows = Message.objects.select_for_update(of=("self",)).select_related("turn")
        message = rows.filter(pk=message_id).first()
        if message is None or message.turn is None:
            raise TurnEnded(message_id)
        message.calls[result.call["id"]] = _shown(result)
        message.save(update_fields=["calls"])
        group = conversation_group(message.conversation_id)
        emit_later(group, lambda: from_rows.tool_finished(message, result.call))


def store_results(
    turn_id: int, message_id: int, calls: Sequence[Block], ended: Sequence[Result]
) -> None:
    """Store the results of a round as one message, in the order of the calls; those that have not
    ended were stopped. Done again, because the reply to the commit was lost, it stores nothing and
    tells of what is there. Raises TurnEnded."""
    by_id = {result.call["id"]: result for result in ended}
    results = [by_id.get(call["id"]) or Result(call, STOPPED, True, 0.0) for call in calls]
    blocks = [result.block for result in results]
    tokens = counter().count_blocks(blocks)
    with transaction.atomic():
        turn = lock(turn_id)
        shown = {result.call["id"]: _shown(result) for result in results}
        Message.objects.filter(pk=message_id).update(calls=shown)
        conversation = Conversation.objects.select_for_update().get(pk=turn.conversation_id)
        head = head_of(conversation)
        if head and head.pk != message_id:
            message = Message.objects.get(pk=head.pk)
        else:
            message = append(
                conversation,
                head,
                turn=turn,
                role=Message.Role.USER,
                blocks=blocks,
                text=plain_text(blocks),
                tokens=tokens,
            )
        group = conversation_group(conversation.pk)
        emit_later(group, lambda: from_rows.message_created(message))


def want_compaction(conversation_id: UUID, focus: str) -> None:
    """Note that the model asked for a compaction before the turn's next request."""
    active = Turn.objects.filter(conversation=conversation_id, status__in=Turn.ACTIVE)
    active.update(compaction_wanted=True, focus=focus)


def _shown(result: Result) -> dict[str, Any]:
    """What the page keeps of a result, whose whole text is in the next message."""
    text = result_text(result.block)
    return {
        "text": text[:MAX_TOOL_TEXT],
        "omitted": max(0, len(text) - MAX_TOOL_TEXT),
        "failed": result.failed,
        "seconds": round(result.seconds, 2),
    }
