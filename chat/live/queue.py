"""Sends queued prompts: the next one of a conversation as soon as it is free.

A web process hears of a prompt from whoever queues it (`chat.protocol.broadcast.QUEUE_NEWS`), and
of a turn's end where it ran the turn. It also looks every LOOK_SECONDS, so that neither a lost
event nor a dead process holds a prompt up. Several processes may try at once: the row of the prompt
decides (`chat.services.turns.queue_sending`).
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from channels.layers import get_channel_layer
from django.conf import settings
from django.utils.translation import activate

from accounts.preferences import find_language
from chat.db.outages import DATABASE
from chat.db.threads import UNAVAILABLE, in_db
from chat.errors import RefusalCode, Refused
from chat.live.admission import Sender
from chat.models import Conversation
from chat.protocol.broadcast import QUEUE_NEWS
from chat.queries import queue as queries
from chat.queries import schema
from chat.services.turns import queue as services
from chat.services.turns.queue_sending import begin_queued

log = structlog.get_logger(__name__)

LOOK_SECONDS = 2.0
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0  # seconds between two tries of what has to wait

# `chat.live.runner.Runner.begin`.
Begin = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _Pause:
    """Until when a conversation's queue waits, in the loop's time, after so many seconds."""

    until: float
    seconds: float


class PromptQueue:
    """What a web process does about the queues of all conversations. `begin` stores and runs a turn
    for this process, whose name is `holder`. Belongs to one event loop."""

    def __init__(self, begin: Begin, holder: str) -> None:
        self._begin = begin
        self._holder = holder
        # Conversations that something waits in, as far as this process knows.
        self._known: set[UUID] = set()
        self._heard: set[UUID] = set()  # of since a look began, which may have come too late for it
        self._trying: dict[UUID, asyncio.Task[None]] = {}
        self._again: set[UUID] = set()  # to be tried once more after that
        self._pauses: dict[UUID, _Pause] = {}

    async def watch(self) -> None:
        """Send what is queued, for as long as the process serves."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._look_forever())

    def expect(self, conversation_id: UUID) -> None:
        """Something is about to be queued: a turn that runs here looks before its next round."""
        self._known.add(conversation_id)
        self._heard.add(conversation_id)

    def wake(self, conversation_id: UUID) -> None:
        """Something has changed in a queue: try to send from it."""
        self.expect(conversation_id)
        if conversation_id in self._trying:
            self._again.add(conversation_id)
            return
        self._again.discard(conversation_id)
        # Apart from the context of the request, or of the turn, that calls this.
        work, own = self._send_next(conversation_id), contextvars.Context()
        self._trying[conversation_id] = asyncio.create_task(work, context=own)

    def note_end(self, conversation_id: UUID) -> None:
        """A turn of this process has ended."""
        if conversation_id in self._known:
            self.wake(conversation_id)

    def may_hold(self, conversation_id: UUID) -> bool:
        """Whether something may wait in a conversation: without asking the database."""
        return conversation_id in self._known

    async def close(self) -> None:
        """Let what is being tried end, and try nothing more."""
        self._known.clear()
        while self._trying:
            self._again.clear()
            await asyncio.wait(self._trying.values())

    # --- News and looks ---------------------------------------------------------------------------

    async def _listen(self) -> None:
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(QUEUE_NEWS, channel)
        while True:
            message = await layer.receive(channel)
            if message["type"] == QUEUE_NEWS:  # else events were lost, and the next look finds them
                self.wake(UUID(message["conversation_id"]))

    async def _look_forever(self) -> None:
        while True:
            try:
                await self._look()
            except UNAVAILABLE as error:
                DATABASE.note_failure(error)
            except Exception:
                log.exception("queues could not be read")
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        if schema.watch.misfit:
            return
        self._heard.clear()
        waiting = await in_db(queries.list_waiting)
        self._known = {*waiting, *self._heard}
        self._pauses = {pk: pause for pk, pause in self._pauses.items() if pk in waiting}
        now = asyncio.get_running_loop().time()
        for conversation_id, is_free in waiting.items():
            pause = self._pauses.get(conversation_id)
            if is_free and not (pause and now < pause.until):
                self.wake(conversation_id)

    # --- Sending ----------------------------------------------------------------------------------

    async def _send_next(self, conversation_id: UUID) -> None:
        """Never raises: what could not be sent stays in the queue."""
        try:
            while not await self._try_next(conversation_id):
                pass
        except UNAVAILABLE as error:
            DATABASE.note_failure(error)
        except Exception:
            log.exception("queued prompt not sent", conversation=str(conversation_id))
            self._wait(conversation_id)
        finally:
            del self._trying[conversation_id]
            if conversation_id in self._again:
                self.wake(conversation_id)

    async def _try_next(self, conversation_id: UUID) -> bool:
        """Whether there is nothing to be tried at once any more."""
        queued = await in_db(queries.find_next, conversation_id)
        if queued is None:
            return True
        owner = queued.conversation.owner
        activate(find_language(owner) or settings.LANGUAGE_CODE)  # for refusals, and the turn
        begin = partial(begin_queued, queued, holder=self._holder)
        try:
            begun = await self._begin(Sender(owner.pk), begin)
        except Conversation.DoesNotExist:  # deleted meanwhile
            return True
        except Refused as refusal:
            if refusal.code == RefusalCode.CONVERSATION_BUSY:
                return True  # its end is heard of, or seen by a look
            if refusal.retryable:
                self._wait(conversation_id, refusal.retry_after or 0)
                return True
            log.info("queued prompt waits for its author", code=refusal.code, user=owner.pk)
            await in_db(services.note_problem, queued, refusal)
            return False
        if begun is None:  # it was changed, or somebody else has sent it
            return False
        self._pauses.pop(conversation_id, None)
        return True

    def _wait(self, conversation_id: UUID, least: float = 0) -> None:
        """Try again later, and later each time."""
        before = self._pauses.get(conversation_id)
        seconds = min(LONGEST_PAUSE, max(least, 2 * before.seconds if before else FIRST_PAUSE))
        now = asyncio.get_running_loop().time()
        self._pauses[conversation_id] = _Pause(now + seconds, seconds)
