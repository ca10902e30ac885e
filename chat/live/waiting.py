"""What the web process does about compactions: hands them to a worker, and waits for those that a
turn cannot go on without."""

import asyncio
from contextlib import suppress
from typing import Any

import structlog
from channels.layers import get_channel_layer
from django.conf import settings

from agent.compaction.policy import Trigger
from chat import metrics, tasks
from chat.db.threads import UNAVAILABLE, in_db, in_db_with_retries
from chat.engine.state import RequestState
from chat.live.enqueuing import enqueue
from chat.models import Compaction
from chat.protocol.broadcast import conversation_group
from chat.protocol.events import CompressionCompleted
from chat.queries import summary_versions
from chat.services.summary import compactions, preparations

log = structlog.get_logger(__name__)

POLL_SECONDS = 1.0


async def compact_within(
    turn_id: int, state: RequestState, trigger: Trigger, focus: str = ""
) -> bool:
    """Compact before an answer. False: it was not possible, and the turn goes on without."""
    compaction, new = await in_db(find_or_begin, turn_id, state, trigger, focus)
    if compaction is None:
        log.warning("nothing to compact", turn=turn_id, used=state.used)
        return False
    ended = await wait_for_compaction(compaction, new=new)
    return ended.status == Compaction.Status.COMPLETED


async def prepare_between_rounds(turn_id: int, state: RequestState) -> None:
    """Between two rounds of a turn, which does not wait for it: have a summary written where the
    context nears its trigger."""
    try:
        if prepared := await in_db(preparations.begin_between_rounds, turn_id, state):
            await hand_over(prepared)
    except Exception:
        metrics.NOT_PREPARED.inc()
        log.exception("nothing was prepared", turn=turn_id)


async def hand_over(compaction_id: int) -> None:
    """Give a compaction to the workers; it fails where the queue cannot be reached."""
    if not await enqueue(tasks.compact, compaction_id):
        await in_db_with_retries(compactions.fail, compaction_id, compactions.NO_QUEUE)


async def wait_for_compaction(compaction: Compaction, *, new: bool = True) -> Compaction:
    """Hand a compaction to a worker and wait for its end: an event, with a look at the row each
    second, so that neither a lost event nor a dead worker holds the conversation."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    group = conversation_group(compaction.conversation_id)
    await layer.group_add(group, channel)
    try:
        if new:
            await hand_over(compaction.pk)
        taken_up_by = asyncio.get_running_loop().time() + settings.COMPACTION_PICKUP_SECONDS
        heard = not new  # one that was ready was announced before anybody listened here
        while True:
            late = asyncio.get_running_loop().time() > taken_up_by
            row = await in_db_with_retries(
                compactions.fail_if_abandoned, compaction.pk, pickup_over=late
            )
            if row.status != Compaction.Status.RUNNING:
                if not heard:  # told after the commit; pages hear it before what the turn does next
                    await _wait_for_end(layer, channel)
                return row
            heard = await _wait_for_end(layer, channel)
    except asyncio.CancelledError:
        with suppress(*UNAVAILABLE):  # then the end of its turn does it
            await in_db(compactions.fail, compaction.pk, compactions.CANCELLED, cancelled=True)
        raise
    finally:
        await layer.leave(channel)


def find_or_begin(
    turn_id: int, state: RequestState, trigger: Trigger, focus: str
) -> tuple[Compaction | None, bool]:
    """A compaction for a turn to wait for, and whether a worker must still be asked for it: the
    preparation that is being written, one that is ready and becomes current now, or a new one; None
    where there is too little to summarise. With a focus, it is always a new one."""
    if not focus:
        running = summary_versions.find_running(state.conversation)
        if running and compactions.adopt(running, turn_id):
            return running, False
        if swapped := compactions.commit_ready(state):
            return swapped.conversation.compaction, False
    planned = summary_versions.plan_for(state, trigger)
    if planned is None:
        return None, False
    previous = state.conversation.compaction
    begun = compactions.begin(
        state, planned, trigger, turn_id=turn_id, previous=previous, focus=focus
    )
    return begun, True


async def _wait_for_end(layer: Any, channel: str) -> bool:
    """Until a compaction's end is announced on the channel; False after a second without that."""
    try:
        async with asyncio.timeout(POLL_SECONDS):
            while (await layer.receive(channel)).get("name") != CompressionCompleted.type:
                pass
    except TimeoutError:
        return False
    return True
