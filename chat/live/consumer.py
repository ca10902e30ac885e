"""The conversation's websocket: frames to services and turns, events to the browser. No model call
and no ORM call happens in here."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from django.conf import settings
from django.utils.translation import activate, gettext, gettext_noop

from accounts.models import User
from accounts.sessions import find_user_id
from chat.db.outages import DATABASE, LAYER
from chat.db.rows import read_values
from chat.db.threads import MISFIT, UNAVAILABLE, explain_unavailable, in_db
from chat.errors import RefusalCode, Refused
from chat.live import consent, queue_frames, snapshot
from chat.live.admission import Sender
from chat.live.outbox import Outbox
from chat.live.peers import decide_elsewhere
from chat.live.runner import runner
from chat.live.stopping import stop_turns
from chat.models import Conversation, Message, Turn
from chat.protocol import from_rows
from chat.protocol.broadcast import EVERYBODY, SESSION_DOUBT, conversation_group, user_group
from chat.protocol.events import (
    Error,
    Event,
    MessageCreated,
    Pong,
    SendWaiting,
    SiteState,
    encode_frame,
)
from chat.protocol.frames import (
    AddToQueue,
    CancelCompaction,
    Compact,
    DecideCall,
    EditQueued,
    Frame,
    Ping,
    QueueFrame,
    RemoveQueued,
    ResumeQueue,
    SendMessage,
    SendQueuedNow,
    StopTurn,
    Sync,
    parse_frame,
)
from chat.protocol.language import choose_language
from chat.protocol.local_layer import RESYNC
from chat.protocol.zone import read_zone
from chat.queries import schema
from chat.services.library import conversations
from chat.services.summary import compactions, summaries
from chat.services.turns import branches, requests
from chat.services.turns.requests import AnswerStart
from chat.services.turns.turns import NewMessage
from server.writing import WRITE

log = structlog.get_logger(__name__)

SIGNED_OUT, NOT_FOUND, TOO_MANY, TRY_AGAIN = 4401, 4404, 4429, 1013
# Nothing announces an expired session, or a row that was changed by hand.
RECHECK_SECONDS = 30.0
LATE = gettext_noop(
    "Part of the server is away: titles and compactions wait, and other windows show news late."
)
_open: Counter[int] = Counter()  # sockets of each user in this process


class SignedOut(Exception):
    """The session of a socket has ended."""


class ConversationConsumer(AsyncWebsocketConsumer):
    """One tab's view of one conversation."""

    # Channels would read the layer too, and make two tasks per event.
    channel_layer_alias = ""
    user: User
    conversation_id: UUID
    _counted = False
    _channel = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Not in `disconnect`, which does not run where `connect` fails, nor where the server
            # cancels a handler that hangs.
            if self._counted:
                _open[self.user.pk] -= 1
            for task in self._tasks:
                task.cancel()
            if self._channel:
                self._outbox.close()
                await self._layer.leave(self._channel)

    async def dispatch(self, message: dict[str, Any]) -> None:
        # Channels would first close old database connections on the thread that all sockets share,
        # 0.3 ms an event. This consumer has no connection there.
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        # As its page speaks: for all frames of this socket, and for the tasks that `_start` makes.
        activate(choose_language(self.scope))
        self._context = copy_context()
        self._doubt = asyncio.Event()
        self._closed = False
        extensions = self.scope.get("extensions") or {}
        self._outbox = Outbox(extensions.get(WRITE, lambda frame: False), self.send)
        self.user = self.scope["user"]
        self.conversation_id = self.scope["url_route"]["kwargs"]["conversation_id"]
        await self.accept()
        if not self.scope["user"].is_authenticated:
            self._closed = True
            await self.close(SIGNED_OUT)
            return
        if schema.watch.misfit:
            await self.close(TRY_AGAIN)
            return
        if _open[self.user.pk] >= settings.SOCKETS_PER_USER:
            await self.close(TOO_MANY)
            return
        _open[self.user.pk] += 1
        self._counted = True
        try:
            await in_db(conversations.load_conversation, self.user, self.conversation_id)
        except Conversation.DoesNotExist:
            await self.close(NOT_FOUND)
            return
        with self._outbox.hold():  # news come after the snapshot
            await self._join()
            # Not earlier: it would miss what ends the session in between.
            if not await self._has_access():
                return
            await self._send_snapshot()
            if LAYER.is_ongoing:
                await self._send_state()
        self._start(self._watch_access())

    async def _join(self) -> None:
        self._layer = get_channel_layer()
        self._channel = await self._layer.new_channel()
        self._layer.hand_over(self._channel, self._hear)
        own = conversation_group(self.conversation_id), user_group(self.user.pk)
        for group in (*own, EVERYBODY):
            await self._layer.group_add(group, self._channel)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside the frames of this socket, until it is closed."""
        # An event of the layer's comes in the context of whoever sent it.
        task = asyncio.create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hear(self, event: dict[str, Any]) -> None:
        """Pass on an event of the layer's."""
        if event["type"] == SESSION_DOUBT:
            self._doubt.set()
        elif event["name"] == RESYNC["name"]:
            self._start(self._resync())
        else:
            self._outbox.put(event["frame"])

    async def _watch_access(self) -> None:
        """Check the access where something may have ended it, and every 30 s anyway."""
        while not self._closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(RECHECK_SECONDS):
                    await self._doubt.wait()
            self._doubt.clear()
            try:
                await self._has_access()
            except Exception:  # a database that is away must not end the checks
                log.exception("session could not be checked")

    async def _has_access(self) -> bool:
        """Whether the session still holds, and the conversation is still the user's; where it is
        not so, the socket is closed."""
        try:
            await in_db(self._check_access)
        except SignedOut:
            await self._close_for_good(SIGNED_OUT)
            return False
        except Conversation.DoesNotExist:
            await self._close_for_good(NOT_FOUND)
            return False
        return True

    def _check_access(self) -> None:
        """In a database thread. Raises SignedOut, and DoesNotExist where the conversation is gone
        or was handed to somebody else."""
        self._check_session()
        owned = {"pk": self.conversation_id, "owner": self.user.pk}
        if not read_values(Conversation, ("id",), **owned):
            raise Conversation.DoesNotExist

    def _check_session(self) -> None:
        """In a database thread. Raises SignedOut."""
        if self._closed or find_user_id(self.scope["session"].session_key) != self.user.pk:
            raise SignedOut

    async def _close_for_good(self, code: int) -> None:
        if not self._closed:  # another check may have closed it already
            self._closed = True
            self._outbox.close()
            await self.close(code)

    async def _resync(self) -> None:
        """Events may have been lost: send what is stored. Where that fails the page would stay as
        it is, so its socket is closed; it opens another by itself."""
        try:
            if self._closed or not await self._has_access():
                return
            await self._send_state()
            await self._send_snapshot()
        except UNAVAILABLE:
            await self.close(TRY_AGAIN)
        except Conversation.DoesNotExist:
            await self.close(NOT_FOUND)
        except Exception:
            log.exception("resync failed", conversation=str(self.conversation_id))
            await self.close(TRY_AGAIN)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        client_id = None
        try:
            frame = parse_frame(text_data if text_data is not None else bytes_data)
            client_id = getattr(frame, "client_id", None)
            if schema.watch.misfit:
                raise Refused(RefusalCode.UNAVAILABLE, gettext(MISFIT), retryable=True)
            if isinstance(frame, SendMessage):
                await self._send_message(frame)  # checks the session itself
            elif isinstance(frame, Ping):
                await self._tell_alive()
            elif await self._has_access():
                await self._handle(frame)
        except SignedOut:
            await self._close_for_good(SIGNED_OUT)
        except Refused as refusal:
            await self._send_error(refusal, client_id)
        except Conversation.DoesNotExist:
            await self.close(NOT_FOUND)
        except UNAVAILABLE as error:
            DATABASE.note_failure(error)
            words = gettext(explain_unavailable(error))
            await self._send_error(
                Refused(RefusalCode.UNAVAILABLE, words, retryable=True), client_id
            )
        except Exception:
            log.exception("frame failed", conversation=str(self.conversation_id))
            words = gettext("Something went wrong; your text is kept. Try again.")
            await self._send_error(Refused(RefusalCode.INTERNAL, words, retryable=True), client_id)

    async def _handle(self, frame: Frame) -> None:
        match frame:
            case Compact(focus, extent):
                await runner.begin(
                    Sender(self.user.pk, self._tell_waiting, self._check_session),
                    summaries.open_compaction_turn,
                    self.user,
                    self.conversation_id,
                    focus=focus,
                    extent=extent,
                    holder=runner.holder,
                )
            case StopTurn():
                await self._stop()
            case DecideCall():
                await self._decide(frame)
            case CancelCompaction():
                if not await in_db(compactions.cancel, self.conversation_id):
                    raise Refused(RefusalCode.NOTHING_TO_STOP, gettext("No compaction is running."))
            case Sync():
                await self._send_snapshot()
            case AddToQueue() | EditQueued() | RemoveQueued() | SendQueuedNow() | ResumeQueue():
                await self._change_queue(frame)

    async def _change_queue(self, frame: QueueFrame) -> None:
        zone = read_zone(self.scope["cookies"])
        runner.queue.expect(self.conversation_id)
        sent = await in_db(queue_frames.handle, self.user, self.conversation_id, frame, zone)
        if sent:  # a repeat of what is a message by now
            await self._send_snapshot()
            await self._tell(await in_db(self._stored, sent))
        runner.queue.wake(self.conversation_id)

    async def _send_message(self, frame: SendMessage) -> None:
        store = branches.send_as_branch if frame.as_branch else requests.send_message
        new = NewMessage(
            frame.text,
            frame.attachments,
            frame.pasted,
            frame.client_id,
            read_zone(self.scope["cookies"]),
        )

        def check_and_store() -> AnswerStart | None:
            # On the way: to come back to the loop in between takes as long as the check.
            self._check_session()
            return store(
                self.user,
                self.conversation_id,
                new,
                expected_head=frame.expected_head,
                holder=runner.holder,
            )

        sender = Sender(self.user.pk, partial(self._tell_waiting, client_id=frame.client_id))
        opening = await runner.begin(sender, check_and_store)
        if opening is None:
            # A repeat: show the result of the first, and that it is stored.
            await self._send_snapshot()
            await self._tell(await in_db(self._stored, frame.client_id))

    def _stored(self, client_id: str) -> MessageCreated:
        """`message.created` of the message with a client's id, without the HTML: the page loads
        what it lacks by the snapshot, and the message may be on another branch by now."""
        rows = Message.objects.filter(conversation=self.conversation_id)
        return replace(from_rows.message_created(rows.get(client_id=client_id)), html="")

    async def _stop(self) -> None:
        if not await stop_turns([self.conversation_id]):
            raise Refused(RefusalCode.NOTHING_TO_STOP, gettext("No answer is being written."))

    async def _decide(self, frame: DecideCall) -> None:
        live = runner.find_live(self.conversation_id)
        if live and live.turn_id == frame.turn_id:
            done = consent.answer_question(live, frame.id, frame.decision)
        else:
            mine = Turn.objects.filter(conversation=self.conversation_id, status__in=Turn.ACTIVE)
            turn = await in_db(mine.filter(pk=frame.turn_id).first)
            done = turn is not None
            if turn:
                await decide_elsewhere(turn, frame.id, frame.decision)
        if not done:
            raise Refused(
                RefusalCode.NOT_ASKED, gettext("This is no longer waiting for your decision.")
            )

    async def _send_snapshot(self) -> None:
        with self._outbox.hold():
            await self._tell(await snapshot.build_snapshot(self.conversation_id, self.user))

    async def _tell_alive(self) -> None:
        """Without a look at the database: many quiet pages ask, and `_watch_access` looks too."""
        if not self._closed:
            await self._tell(Pong())

    async def _send_state(self) -> None:
        await self._tell(SiteState(gettext(LATE) if LAYER.is_ongoing else ""))

    async def _send_error(self, refusal: Refused, client_id: str | None) -> None:
        await self._tell(
            Error(
                code=refusal.code,
                message=refusal.message,
                retryable=refusal.retryable,
                retry_after=refusal.retry_after,
                client_id=client_id,
            )
        )

    async def _tell_waiting(self, before: int, why: str = "", client_id: str | None = None) -> None:
        await self._tell(SendWaiting(before, client_id, why))

    async def _tell(self, event: Event) -> None:
        """Send an event to this tab alone."""
        await self._outbox.send(encode_frame(event))
