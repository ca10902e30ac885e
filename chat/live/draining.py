"""What a web process still does once it has been asked to stop: its turns come to an end."""

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog

from chat.live.admission import Admission
from chat.live.live_turn import LiveTurn

log = structlog.get_logger(__name__)

STORE_SECONDS = 2.0  # for the ends of the turns that are interrupted
LOOK_SECONDS = 0.1


async def settle(live: Mapping[Any, LiveTurn], admission: Admission, seconds: float) -> None:
    """Until no turn runs and none is being stored, which is one that will run. Those that still run
    after so many seconds are interrupted, and so is what begins later."""
    now = asyncio.get_running_loop().time
    over = now() + seconds
    interrupted: set[int] = set()
    if live or admission.inside:
        log.info("waiting for running answers", answers=len(live), beginning=admission.inside)
    while (live or admission.inside) and now() < over + STORE_SECONDS:
        if now() >= over:
            _interrupt([each for each in live.values() if each.turn_id not in interrupted])
            interrupted.update(each.turn_id for each in live.values())
        tasks = {each.task for each in live.values() if each.task}
        if tasks:
            await asyncio.wait(tasks, timeout=LOOK_SECONDS)
        else:
            await asyncio.sleep(LOOK_SECONDS)
    for each in live.values():
        log.error("answer not stored", turn=each.turn_id, conversation=each.conversation_id)


def _interrupt(turns: list[LiveTurn]) -> None:
    for each in turns:
        if each.task and not (each.stopping or each.ending):
            each.task.cancel()
