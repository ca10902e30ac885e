"""What the socket brings becomes a stored event, if it concerns us; other people's talk is dropped
unread."""

from collections.abc import Mapping
from typing import Any

from chat.db.threads import in_db
from chat.models import SlackThread
from chat.queries.slack import find_thread, is_expected
from chat.services.slack.inbox import store_event
from chat.sources.slack.socket import Identity

Happening = Mapping[str, Any]
KEPT_OF_FILE = ("id", "name", "size", "url_private_download", "url_private", "mode")
WRITTEN = (None, "file_share", "thread_broadcast")  # subtypes of what people write
MESSAGE, CHANGED, DELETED, COMMAND = "message", "changed", "deleted", "command"


class Taker:
    """Stores events of the workspace that the bot is in."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def take_event(self, body: Happening) -> None:
        """An event of the Events API, in its envelope."""
        event = body.get("event") or {}
        if event.get("type") in ("message", "app_mention"):
            await in_db(self._store_message, event)

    async def take_command(self, command: Happening) -> None:
        """A slash command. Its `trigger_id` is its own alone."""
        payload = {
            "kind": COMMAND,
            "user": command.get("user_id", ""),
            "channel": command.get("channel_id", ""),
            "channel_name": command.get("channel_name", ""),
            "text": command.get("text", ""),
            "answer_at": command.get("response_url", ""),
        }
        trigger = str(command.get("trigger_id", ""))
        await in_db(
            store_event,
            f"command:{trigger}",
            payload,
            place=f"command:{trigger}",
            order=trigger.partition(".")[0],
            thread=None,
        )

    async def take_reply(self, thread: SlackThread, reply: Happening) -> None:
        """A message that `conversations.replies` has, which may be known."""
        await in_db(self._store_reply, thread, reply)

    async def take_missing(self, thread: SlackThread, ts: str) -> None:
        """A message that the thread had, and has no longer."""
        await in_db(self._store_deleted, thread, thread.channel, thread.ts, ts)

    # --- In a database thread ---

    def _store_message(self, event: Happening) -> None:
        channel, subtype = str(event.get("channel", "")), event.get("subtype")
        if subtype == "message_changed":
            self._store_changed(channel, event.get("message") or {})
        elif subtype == "message_deleted":
            gone = event.get("previous_message") or {}
            root = str(gone.get("thread_ts") or gone.get("ts") or "")
            if thread := find_thread(self._identity.team, channel, root):
                self._store_deleted(thread, channel, root, str(event.get("deleted_ts", "")))
        elif subtype in WRITTEN and self._is_of_person(event):
            ts = str(event.get("ts", ""))
            root = str(event.get("thread_ts") or ts)
            thread = find_thread(self._identity.team, channel, root)
            is_direct = event.get("channel_type") == "im"
            called = event.get("type") == "app_mention" or is_direct
            if thread or called or is_expected(f"{channel}:{root}"):
                self._store_written(thread, channel, root, event, called=called, direct=is_direct)

    def _store_reply(self, thread: SlackThread, reply: Happening) -> None:
        root = thread.ts
        if reply.get("subtype") == "tombstone":
            self._store_deleted(thread, thread.channel, root, str(reply.get("ts", "")))
        if reply.get("subtype") not in WRITTEN or not self._is_of_person(reply):
            return
        direct = not thread.channel_name
        self._store_written(thread, thread.channel, root, reply, called=False, direct=direct)
        if reply.get("edited"):
            self._store_changed(thread.channel, {"thread_ts": root, **reply})

    def _store_written(
        self,
        thread: SlackThread | None,
        channel: str,
        root: str,
        event: Happening,
        *,
        called: bool,
        direct: bool,
    ) -> None:
        """Slack sends a mention twice, as a message and as such: the key is that of the message."""
        ts = str(event.get("ts", ""))
        payload = {
            "kind": MESSAGE,
            "ts": ts,
            "root": root,
            "channel": channel,
            "user": event.get("user", ""),
            "text": event.get("text", ""),
            "files": [
                {name: file.get(name) for name in KEPT_OF_FILE} for file in event.get("files") or []
            ],
            "called": called,
            "direct": direct,
        }
        place = f"{channel}:{root}"
        store_event(f"message:{channel}:{ts}", payload, place=place, order=ts, thread=thread)

    def _store_changed(self, channel: str, message: Happening) -> None:
        """Only what its author has changed: Slack changes messages too, to show what is linked, and
        leaves a tombstone of a deleted one that has replies."""
        edited, ts = message.get("edited") or {}, str(message.get("ts", ""))
        root, at = str(message.get("thread_ts") or ts), str(edited.get("ts", ""))
        thread = find_thread(self._identity.team, channel, root)
        if thread and message.get("subtype") == "tombstone":
            self._store_deleted(thread, channel, root, ts)
        if not edited or edited.get("user") not in (None, message.get("user")):
            return
        if thread is None and not is_expected(f"{channel}:{root}"):
            return
        payload = {
            "kind": CHANGED,
            "ts": ts,
            "root": root,
            "channel": channel,
            "user": message.get("user", ""),
            "text": message.get("text", ""),
        }
        key, place = f"changed:{channel}:{ts}:{at}", f"{channel}:{root}"
        store_event(key, payload, place=place, order=max(at, ts), thread=thread)

    def _store_deleted(self, thread: SlackThread, channel: str, root: str, ts: str) -> None:
        payload = {"kind": DELETED, "ts": ts, "root": root, "channel": channel}
        place = f"{channel}:{root}"
        store_event(f"deleted:{channel}:{ts}", payload, place=place, order=f"{ts}~", thread=thread)

    def _is_of_person(self, event: Happening) -> bool:
        user = event.get("user")
        return bool(user) and user != self._identity.user and not event.get("bot_id")
