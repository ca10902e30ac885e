"""Stopping what runs in a conversation, whichever process runs it."""

from collections.abc import Collection
from uuid import UUID

from chat.db.threads import in_db
from chat.live.peers import stop_elsewhere
from chat.live.runner import runner
from chat.models import Turn


async def stop_turns(conversation_ids: Collection[UUID]) -> int:
    """Stop what is being written in conversations, and keep the text; how many turns that were.
    They end in a moment."""
    here = [live for pk in conversation_ids if (live := runner.find_live(pk))]
    for live in here:
        runner.stop(live)
    others = set(conversation_ids) - {live.conversation_id for live in here}
    if not others:
        return len(here)
    active = Turn.objects.filter(conversation__in=others, status__in=Turn.ACTIVE)
    elsewhere = await in_db(list, active)
    for turn in elsewhere:
        await stop_elsewhere(turn)
    return len(here) + len(elsewhere)
