"""What follows a finished answer, in the background: a title, a summary prepared for later."""

import asyncio

import structlog

from accounts import push
from chat import tasks
from chat.db.threads import in_db
from chat.engine.state import RequestState
from chat.live.enqueuing import ask_for_rebuild, enqueue
from chat.live.live_turn import LiveTurn
from chat.live.waiting import hand_over
from chat.models import Turn
from chat.services.summary import gaps, preparations
from chat.services.turns.endings import TurnOutcome

TOLD = (Turn.Status.COMPLETED, Turn.Status.FAILED)

log = structlog.get_logger(__name__)


async def follow_up(live: LiveTurn, ending: TurnOutcome, state: RequestState) -> None:
    """Queue what a turn's end calls for. Never raises: the answer itself is stored."""
    if live.preparing:
        await live.preparing
    if live.kind != Turn.Kind.ANSWER:
        return
    try:
        if ending.status in TOLD and await in_db(push.is_told, state.conversation.owner_id):
            failed = ending.status == Turn.Status.FAILED
            await enqueue(tasks.push_end, str(live.conversation_id), failed)
        if ending.status == Turn.Status.COMPLETED:
            await _enqueue_what_follows(live, state)
    except Exception:
        log.exception("nothing was prepared", conversation=live.conversation_id)


async def _enqueue_what_follows(live: LiveTurn, state: RequestState) -> None:
    conversation_id = live.conversation_id
    if live.opening:
        await enqueue(tasks.suggest_title, str(conversation_id))
    if prepared := await in_db(preparations.prepare_if_due, state):
        await hand_over(prepared)
    elif gaps.has_gap(state) or state.conversation.record_agreed_at:
        await asyncio.to_thread(ask_for_rebuild, conversation_id)
    elif pause := preparations.find_pause(state):
        head, seconds = pause
        await enqueue(tasks.use_pause, str(conversation_id), head, countdown=seconds)
