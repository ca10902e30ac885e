"""What is written here by other doors, and all answers, are posted to their threads.

Nothing waits in memory: what a thread is to have is found by comparing the conversation with the
posts that are noted (`chat.queries.slack`). So whatever was missed while Slack was away, or while
no process was connected, is posted later, once and in order.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog

from accounts.preferences import speaking_with
from chat.db.threads import in_db
from chat.models import SlackPost, SlackThread
from chat.queries.slack import Entry, find_unposted, list_gone, list_posts, load_unposted
from chat.services.slack import posts
from chat.services.slack.threads import unlink
from chat.sources.slack import words
from chat.sources.slack.client import CallRefused, SlackBusy, SlackClient, SlackFault, TokenRefused
from chat.sources.slack.pace import Pace

log = structlog.get_logger(__name__)

OPENING = "opening"
POST_EVENT = "everlong_post"  # of the metadata by which a post is found again
LOOKED_THROUGH = 100  # messages, in which a post is looked for that may be there
# The channel is no place of the bot's any more: the thread and the conversation part.
NO_PLACE = {"channel_not_found", "is_archived", "not_in_channel", "thread_not_found"}
# The post is gone, or too old to be changed: it stays as it is.
UNCHANGEABLE = {"cant_update_message", "edit_window_closed", "message_not_found"}


class Mirror:
    """Posts for one workspace, each thread by a task of its own."""

    def __init__(self, client: SlackClient, pace: Pace) -> None:
        self._client = client
        self._pace = pace
        self._busy: dict[int, asyncio.Task[None]] = {}
        self.refused = ""  # Slack's code, once the bot's token counts no more

    async def look(self) -> None:
        """Begin with the threads that may miss something, where none is at work yet."""
        for thread in await in_db(find_unposted):
            if thread.pk not in self._busy:
                task = asyncio.create_task(self._post_safely(thread))
                self._busy[thread.pk] = task
                task.add_done_callback(partial(self._forget, thread.pk))

    def _forget(self, thread_id: int, _: object) -> None:
        self._busy.pop(thread_id, None)

    async def close(self) -> None:
        for task in list(self._busy.values()):
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _post_safely(self, thread: SlackThread) -> None:
        """What fails is tried again at the next look."""
        try:
            with speaking_with(thread.conversation.owner):
                await self._post_missing(thread)
        except TokenRefused as refusal:
            self.refused = str(refusal)
        except SlackBusy as fault:
            log.info("slack is busy", reason=str(fault))
        except CallRefused as fault:
            if fault.code not in NO_PLACE:
                log.warning("slack refused a post", thread=thread.pk, reason=str(fault))
                await asyncio.sleep(self._pace.after_refusal)
                return
            log.warning("thread unlinked: the bot cannot post there", reason=str(fault))
            await in_db(unlink, thread.conversation)
        except SlackFault:  # the client has noted that Slack is away
            await asyncio.sleep(self._pace.after_fault)
        except Exception:
            log.exception("thread not posted to", thread=thread.pk)
            await asyncio.sleep(self._pace.after_fault)

    async def _post_missing(self, thread: SlackThread) -> None:
        if not thread.ts:
            await self._post_opening(thread)
            return
        for gone in await in_db(list_gone, thread):
            await self._take_back(thread, gone)
        unposted = await in_db(load_unposted, thread)
        known = {post.key: post for post in await in_db(list_posts, thread, unposted.entries)}
        complete = True
        for entry in unposted.entries:
            texts = words.draw_entry(entry, thread)
            complete &= await self._post_entry(thread, entry, texts, known)
        if complete:
            await in_db(
                posts.note_complete,
                thread,
                through=unposted.through,
                history_version=unposted.history_version,
                compactions=unposted.compactions,
            )

    async def _post_opening(self, thread: SlackThread) -> None:
        """The message that the thread is to begin with."""
        post = await in_db(posts.open_post, thread, OPENING, message_id=None, compaction_id=None)
        if not post.ts and post.tries:
            await self._find(thread, post)
        if not post.ts and not await self._post(thread, post, words.describe_opening(thread)):
            return
        await in_db(posts.note_begun, thread, post.ts)

    async def _post_entry(
        self,
        thread: SlackThread,
        entry: Entry,
        texts: Sequence[str],
        known: dict[str, SlackPost],
    ) -> bool:
        """Bring the posts of an entry to its texts; whether it is done with."""
        for number, text in enumerate(texts):
            key = f"{entry.key}:{number}"
            post = known.get(key)
            digest = _digest(text)
            if post is None:
                post = await in_db(
                    posts.open_post,
                    thread,
                    key,
                    message_id=entry.messages[0].pk if entry.messages else None,
                    compaction_id=entry.compaction.pk if entry.compaction else None,
                )
            if not post.ts and post.tries:
                await self._find(thread, post)
            if not post.ts:
                if not await self._post(thread, post, text, final=entry.is_final):
                    return False
            elif not post.final and post.digest != digest:
                await self._change(thread, post, text, digest, final=entry.is_final)
            elif entry.is_final and not post.final:
                await in_db(posts.note_posted, post, post.ts, digest, final=True)
        number = len(texts)
        while surplus := known.get(f"{entry.key}:{number}"):
            await self._take_back(thread, surplus)
            number += 1
        return entry.is_final

    async def _post(
        self, thread: SlackThread, post: SlackPost, text: str, *, final: bool = True
    ) -> bool:
        """Post a text; False where another process does."""
        await self._pace.wait_for(thread.channel)
        if not await in_db(posts.claim_post, post):
            return False
        where = {"thread_ts": thread.ts} if thread.ts else {}
        answer = await self._client.call(
            "chat.postMessage",
            channel=thread.channel,
            text=text,
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": POST_EVENT, "event_payload": {"key": _name(post)}},
            **where,
        )
        post.ts = str(answer["ts"])
        await in_db(posts.note_posted, post, post.ts, _digest(text), final=final)
        return True

    async def _change(
        self, thread: SlackThread, post: SlackPost, text: str, digest: str, *, final: bool
    ) -> None:
        """Let a post say something else: an answer that is being written, now and then."""
        if not final and not self._pace.may_update(thread.channel):
            return
        await self._pace.wait_for(thread.channel)
        try:
            await self._client.call("chat.update", channel=thread.channel, ts=post.ts, text=text)
        except CallRefused as fault:
            if fault.code not in UNCHANGEABLE:
                raise
            log.info("post not changed", reason=str(fault))
            final = True
        await in_db(posts.note_posted, post, post.ts, digest, final=final)

    async def _take_back(self, thread: SlackThread, post: SlackPost) -> None:
        """Delete a post whose message was deleted here."""
        if post.ts:
            await self._pace.wait_for(thread.channel)
            try:
                await self._client.call("chat.delete", channel=thread.channel, ts=post.ts)
            except CallRefused as fault:
                log.info("post not taken back", reason=str(fault))
        await in_db(posts.forget_post, post)

    async def _find(self, thread: SlackThread, post: SlackPost) -> None:
        """Look for a post that may have been made, by its metadata. It may say less than it should
        by now."""
        method, where = "conversations.history", {}
        if thread.ts:
            method, where = "conversations.replies", {"ts": thread.ts}
        about: dict[str, Any] = {"channel": thread.channel, "include_all_metadata": True, **where}
        cursor = ""
        while not post.ts:
            more = {"cursor": cursor} if cursor else {}
            answer = await self._client.call(method, limit=LOOKED_THROUGH, **about, **more)
            for message in answer.get("messages") or ():
                metadata = message.get("metadata") or {}
                if (metadata.get("event_payload") or {}).get("key") == _name(post):
                    post.ts = str(message["ts"])
                    await in_db(posts.note_posted, post, post.ts, "", final=False)
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor or not thread.ts:
                return


def _name(post: SlackPost) -> str:
    """What a post is called in its metadata, as no other is."""
    return f"{post.thread_id}:{post.key}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
