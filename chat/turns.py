"""Running turns: asyncio tasks of the web process, owned by a Turn row and never by a socket.

`docs/architecture.md` traces one turn through this file.
"""

import asyncio
import contextvars
import os
import socket
import uuid
from dataclasses import replace
from typing import Any
from uuid import UUID

import structlog
from django.utils.translation import gettext_noop

from agent.errors import AgentError
from agent.messages import shown_text
from agent.reply import Reply
from chat import tasks
from chat.answering import Answering
from chat.broadcast import bind_loop
from chat.contexts import Loaded
from chat.control import obey
from chat.db import in_db
from chat.live import LiveTurn
from chat.models import Compaction, Turn
from chat.services import compactions, preparing
from chat.services import sweep as sweeping
from chat.services import turns as services
from chat.services.endings import Ending
from chat.services.requests import Opening
from chat.services.turns import TurnEnded
from chat.waiting import wait_for

log = structlog.get_logger(__name__)

CHECKPOINT_SECONDS = 1.0
SWEEP_SECONDS = 30.0
DRAIN_SECONDS = 20.0
INTERNAL = AgentError(
    "internal",
    gettext_noop("Something went wrong in Everlong; the log has the details. Retry."),
    retryable=True,
)


class Runner:
    """The turns of this process."""

    def __init__(self) -> None:
        self.owner = f"{socket.gethostname()[:30]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.draining = False
        self._live: dict[UUID, LiveTurn] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._control: asyncio.Task[None] | None = None

    def start(
        self, turn: Turn, compaction_id: int | None = None, *, opening: Opening | None = None
    ) -> None:
        """Run a stored turn: an answer, from its `opening` where it was begun already, or the
        compaction that was begun with it."""
        bind_loop()
        live = LiveTurn(turn.pk, turn.conversation_id, turn.kind)
        self._live[turn.conversation_id] = live
        if compaction_id is None:
            work = Answering(live, opening, lambda: len(self._live)).run()
        else:
            work = self._compact(compaction_id)
        # In a context of its own: the turn outlives the request that started it.
        live.task = asyncio.create_task(self._run(live, work), context=contextvars.Context())
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
            self._control = asyncio.create_task(obey(self.owner, self.live, self.stop))

    def live(self, conversation_id: UUID) -> LiveTurn | None:
        """The turn of a conversation, if this process runs it."""
        return self._live.get(conversation_id)

    def stop(self, live: LiveTurn) -> None:
        """Stop a turn; what it has written is kept. Repeated each second until the turn ends: up to
        Python 3.11 `asyncio.wait_for`, which redis-py writes with, may lose a cancellation."""
        if live.task and not live.ending:
            live.stopping = True
            live.task.cancel()

    async def drain(self) -> None:
        """Let running turns end by themselves for a while, then interrupt the rest."""
        self.draining = True
        tasks = [live.task for live in self._live.values() if live.task]
        if tasks:
            log.info("waiting for running answers", answers=len(tasks))
            await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        rest = [live.task for live in self._live.values() if live.task]
        for live in self._live.values():
            if live.task and not (live.stopping or live.ending):
                live.task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=5)

    # --- One turn ---------------------------------------------------------------------------------

    async def _run(self, live: LiveTurn, work: Any) -> None:
        """Bring a turn to exactly one end, whatever happens in it."""
        ending: Ending | None
        try:
            ending = await work
        except TurnEnded:
            ending = None
        except asyncio.CancelledError:
            asyncio.current_task().uncancel()  # type: ignore[union-attr]
            ending = (
                self._partial(live, Turn.Status.CANCELLED)
                if live.stopping
                else self._partial(live, Turn.Status.INTERRUPTED, sweeping.INTERRUPTED)
            )
        except AgentError as error:
            log.warning("turn failed", turn=live.turn_id, code=error.code, reason=str(error))
            ending = self._partial(live, Turn.Status.FAILED, error)
        except Exception:
            log.exception("turn failed", turn=live.turn_id)
            ending = self._partial(live, Turn.Status.FAILED, INTERNAL)
        live.ending = True
        if ending:
            ending = replace(ending, first_delta=live.first_delta)
        try:
            if ending and (loaded := await in_db(compactions.end_turn, live.turn_id, ending)):
                await self._follow_up(live, ending, loaded)
        except Exception:
            # The sweep will end it from the last checkpoint.
            log.exception("turn could not be stored", turn=live.turn_id)
        finally:
            if self._live.get(live.conversation_id) is live:
                del self._live[live.conversation_id]

    @staticmethod
    async def _follow_up(live: LiveTurn, ending: Ending, loaded: Loaded) -> None:
        """What a finished answer gives rise to, in the background: a title, a preparation."""
        if ending.status != Turn.Status.COMPLETED or live.kind != Turn.Kind.ANSWER:
            return
        conversation_id = live.conversation_id
        if live.opening:
            await asyncio.to_thread(tasks.suggest_title.delay, str(conversation_id))
        if prepared := await in_db(preparing.prepare_if_due, loaded):
            await asyncio.to_thread(tasks.compact.delay, prepared)
        elif pause := preparing.pause_wanted(loaded):
            head, seconds = pause
            await asyncio.to_thread(
                tasks.use_pause.apply_async, (str(conversation_id), head), countdown=seconds
            )

    @staticmethod
    def _partial(live: LiveTurn, status: Turn.Status, error: AgentError | None = None) -> Ending:
        reply = live.reply
        return Ending(
            status,
            blocks=reply.partial_blocks(),
            stop_reason=reply.stop_reason,
            usage=reply.raw_usage or None,
            paused=reply.paused,
            error=error,
        )

    @staticmethod
    async def _compact(compaction_id: int) -> Ending:
        """A `/compact` turn: nothing but the compaction that was begun with it."""
        compaction = await in_db(Compaction.objects.get, pk=compaction_id)
        # One that was prepared is current already.
        running = compaction.status == Compaction.Status.RUNNING
        ended = await wait_for(compaction, enqueue=running)
        match ended.status:
            case Compaction.Status.COMPLETED:
                return Ending(Turn.Status.COMPLETED)
            case Compaction.Status.CANCELLED:
                return Ending(Turn.Status.CANCELLED)
        return Ending(Turn.Status.FAILED, error=AgentError("compaction_failed", ended.error))

    # --- Keeping ----------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Every second: leases, checkpoints and stop flags of all turns in one transaction."""
        while True:
            await asyncio.sleep(CHECKPOINT_SECONDS)
            running = list(self._live.values())
            if not running:
                continue
            texts = []
            for live in running:
                if live.message_id is not None and live.length != live.saved_length:
                    live.saved_length = live.length
                    texts.append((live.message_id, _visible_text(live.reply)))
            try:
                turn_ids = [live.turn_id for live in running]
                stop = await in_db(services.checkpoint, turn_ids, texts)
            except Exception:
                log.exception("checkpoint failed")
                continue
            for live in running:
                if live.stopping or live.turn_id in stop:
                    self.stop(live)


runner = Runner()


async def sweep_forever() -> None:
    """The sweep of a web process: at once and every 30 s."""
    while True:
        try:
            if ended := await in_db(sweeping.sweep):
                log.info("swept", ended=ended)
        except Exception:
            log.exception("sweep failed")
        await asyncio.sleep(SWEEP_SECONDS)


def _visible_text(reply: Reply) -> str:
    return shown_text(b for b in reply.partial_blocks() if b["type"] == "text")
