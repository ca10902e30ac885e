"""After a pause: what was written, changed or deleted in linked threads meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import structlog
from django.utils import timezone

from chat.db.threads import in_db
from chat.models import SlackThread
from chat.queries.slack import find_recent, list_known
from chat.sources.slack.client import CallRefused, SlackAway, SlackBusy, SlackClient
from chat.sources.slack.taking import Taker

log = structlog.get_logger(__name__)

MOST_THREADS = 200  # those that were used last
PAGE = 200  # messages
# Changes of older messages that were made while nobody listened are not followed.
FOLLOWED = timedelta(days=2)
PAUSE = 5.0  # seconds, while Slack is away


async def catch_up(client: SlackClient, taker: Taker) -> None:
    """Store what is not known of the threads that were used last."""
    for thread in await in_db(find_recent, MOST_THREADS):
        done = False
        while not done:
            try:
                await _catch_up(client, taker, thread)
                done = True
            except SlackBusy as fault:
                await asyncio.sleep(fault.seconds)
            except SlackAway:
                await asyncio.sleep(PAUSE)
            except CallRefused as fault:
                log.warning("thread of slack not read", thread=thread.pk, reason=str(fault))
                done = True


async def _catch_up(client: SlackClient, taker: Taker, thread: SlackThread) -> None:
    since = f"{(timezone.now() - FOLLOWED).timestamp():.6f}"
    since = min(since, thread.seen_ts or since)
    known = set(await in_db(list_known, thread, since))
    found = set()
    async for reply in _read_replies(client, thread, since):
        ts = str(reply.get("ts", ""))
        found.add(ts)
        if ts > thread.from_ts or ts in known:
            await taker.take_reply(thread, reply)
    for ts in sorted(known - found):
        await taker.take_missing(thread, ts)


async def _read_replies(
    client: SlackClient, thread: SlackThread, since: str
) -> AsyncIterator[dict[str, Any]]:
    """All of a thread that is not older than `since`. Raises SlackFault: then nothing that was not
    found counts as deleted."""
    arguments = {"channel": thread.channel, "ts": thread.ts, "oldest": since, "inclusive": True}
    cursor = ""
    while True:
        more = {"cursor": cursor} if cursor else {}
        answer = await client.call("conversations.replies", limit=PAGE, **arguments, **more)
        for reply in answer.get("messages") or ():
            yield reply
        cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
        if not cursor:
            return
