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
    count = 0
    for pk in conversation_ids:
        if live := runner.find_live(pk):
            runner.stop(live)
            count += 1
    active = Turn.objects.filter(conversation__in=conversation_ids, status__in=Turn.ACTIVE)
    for turn in await in_db(list, active.exclude(holder=runner.holder)):
        await stop_elsewhere(turn)
        count += 1
    return count
