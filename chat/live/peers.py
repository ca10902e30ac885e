"""Web processes talk to each other: whoever holds the socket asks whoever runs the turn."""

import asyncio
from collections.abc import Callable
from uuid import UUID

from channels.layers import get_channel_layer

from chat.db.threads import in_db
from chat.live import consent
from chat.live.live_turn import LiveTurn
from chat.models import Turn
from chat.protocol.parts import LiveAnswer
from chat.services.turns import turns

ANSWER_SECONDS = 1.0


def control_group(holder: str) -> str:
    return f"process.{holder}"


async def listen_to_peers(
    holder: str, find: Callable[[UUID], LiveTurn | None], stop: Callable[[LiveTurn], None]
) -> None:
    """Do what other processes ask of this one, `holder`: stop a turn, pass on what the user has
    decided, or send its text so far."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(control_group(holder), channel)
    while True:
        message = await layer.receive(channel)
        action = message.get("action")  # RESYNC needs nothing: the stop flag is in the database
        if action is None:
            continue
        live = find(UUID(message["conversation_id"]))
        if action == "stop" and live:
            stop(live)
        elif action == "decide" and live:
            consent.answer_question(live, message["call_id"], message["decision"])
        elif action == "tell":
            told = live.snapshot() if live else None
            await layer.send(message["reply_to"], {"type": "told", "live": told})


async def ask_holder(turn: Turn) -> LiveAnswer | None:
    """The live text of a turn that another process runs; None if it does not answer."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await _send(turn, action="tell", reply_to=channel)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            told = await layer.receive(channel)
    except TimeoutError:
        return None
    finally:
        await layer.leave(channel)
    live: LiveAnswer | None = told["live"]
    return live


async def stop_elsewhere(turn: Turn) -> None:
    """Stop a turn that another process runs: a message now, the stop flag in case that is lost."""
    await in_db(turns.request_stop, turn.pk)
    await _send(turn, action="stop")


async def decide_elsewhere(turn: Turn, call_id: str, decision: str) -> None:
    """Pass a decision on to the process that runs the turn. If that is lost, the question stays."""
    await _send(turn, action="decide", call_id=call_id, decision=decision)


async def _send(turn: Turn, **message: str) -> None:
    await get_channel_layer().group_send(
        control_group(turn.holder),
        {"type": "control", "conversation_id": str(turn.conversation_id)} | message,
    )
