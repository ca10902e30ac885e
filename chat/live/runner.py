"""Running turns: asyncio tasks of the web process, bound to a Turn row and never to a socket.

`docs/architecture.md` traces one turn through this file.
"""

import asyncio
import contextvars
import os
import socket
import uuid
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec
from uuid import UUID

import structlog
from django.utils.translation import activate, get_language, gettext, gettext_noop

from agent.errors import AgentError, ErrorCode
from chat.db.outages import DATABASE
from chat.db.threads import (
    RETRY_SECONDS,
    UNAVAILABLE,
    explain_unavailable,
    finish_despite_cancel,
    in_db,
    in_db_with_retries,
)
from chat.engine import model_server
from chat.engine.state import RequestState
from chat.live.admission import Admission, Sender
from chat.live.answer import AnswerSteps
from chat.live.budget_queue import WAITS, budget_queue
from chat.live.draining import settle
from chat.live.follow_up import follow_up
from chat.live.live_turn import LiveTurn
from chat.live.peers import listen_to_peers
from chat.live.queue import PromptQueue
from chat.live.waiting import wait_for_compaction
from chat.models import Compaction, Turn
from chat.models.notices import Notice, notice_text
from chat.protocol.broadcast import conversation_group, send
from chat.protocol.events import TurnNotice
from chat.services.people.budgets import make_refusal
from chat.services.people.rate_limit import forget_turn
from chat.services.summary import summaries
from chat.services.turns import endings, leases, sweep, turns
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.requests import AnswerStart
from chat.services.turns.turns import TurnEnded
from spending.budgets import BudgetExhausted
from spending.calls import CallEnd

log = structlog.get_logger(__name__)

P = ParamSpec("P")
Begun = AnswerStart | summaries.CompactionTurn

CHECKPOINT_SECONDS = 1.0
DRAIN_SECONDS = 20.0
LAST_SECONDS = 0.5  # for the database's last answer
# For so long it holds that somebody was signed in: later they are asked again before a turn begins.
FRESH_SECONDS = 0.25
INTERNAL = AgentError(
    ErrorCode.INTERNAL,
    gettext_noop("Something went wrong in Everlong; the log has the details. Retry."),
    retryable=True,
)


class Runner:
    """The turns of this process."""

    def __init__(self) -> None:
        self.holder = f"{socket.gethostname()[:30]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.draining = False
        self.admission = Admission()
        self.queue = PromptQueue(self.begin, self.holder)
        self._live: dict[UUID, LiveTurn] = {}
        self._unended = 0
        self._watching: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    async def begin(
        self, sender: Sender, store: Callable[P, Begun | None], *args: P.args, **kwargs: P.kwargs
    ) -> Begun | None:
        """Store the beginning of a turn and run it, or neither: also if the user leaves meanwhile.
        Returns what `store` returns; with None nothing runs. It may have to wait for its turn, and
        for what running calls hold of a budget; Refused as by `Admission.admit`, and where a budget
        is used up or does not come back soon. Raises what the sender's `check` does."""
        came = asyncio.get_running_loop().time()
        work = partial(self._admit, sender, partial(store, *args, **kwargs), came)
        tell = sender.tell and partial(sender.tell, why=gettext(WAITS))
        try:
            return await budget_queue.begin(sender.user_id, work, tell)
        except BudgetExhausted as error:
            raise await in_db(make_refusal, error) from error

    async def _admit(
        self, sender: Sender, store: Callable[[], Begun | None], came: float
    ) -> Begun | None:
        async with self.admission.admit(sender) as has_waited:
            waited = asyncio.get_running_loop().time() - came
            if sender.check and (has_waited or waited > FRESH_SECONDS):
                store = partial(_check_and_store, sender.check, store)
            try:
                return await finish_despite_cancel(self._store_and_run(store))
            except BudgetExhausted:
                await in_db(forget_turn, sender.user_id)
                raise

    async def _store_and_run(self, store: Callable[[], Begun | None]) -> Begun | None:
        model_server.connect_ahead()  # while the database stores
        begun = await in_db(store)
        if begun:
            self.start(begun)
        return begun

    def start(self, begun: Begun) -> None:
        """Run a turn whose beginning is stored."""
        turn = begun.turn
        live = LiveTurn(turn.pk, turn.conversation_id, turn.kind)
        self._live[turn.conversation_id] = live
        if isinstance(begun, AnswerStart):
            may_be_steered = partial(self.queue.may_hold, turn.conversation_id)
            work = AnswerSteps(live, begun, lambda: len(self._live), may_be_steered).run()
        else:
            work = self._compact(begun.compaction_id)
        leases.keeper.hold(Turn, turn.pk)
        live.task = _outlive_request(self._run(live, work), get_language())
        if self._watching is None:
            self._watching = _outlive_request(self._watch_turns())
            self._listening = _outlive_request(
                listen_to_peers(self.holder, self.find_live, self.stop)
            )

    def find_live(self, conversation_id: UUID) -> LiveTurn | None:
        """The turn of a conversation, if this process runs it."""
        return self._live.get(conversation_id)

    @property
    def turn_ids(self) -> list[int]:
        """The turns that this process runs."""
        return [live.turn_id for live in self._live.values()]

    def stop(self, live: LiveTurn) -> None:
        """Stop a turn; what it has written is kept. Repeated each second until the turn ends: up to
        Python 3.11 `asyncio.wait_for`, which redis-py writes with, may lose a cancellation."""
        if live.task and not live.ending:
            live.stopping = True
            live.task.cancel()

    async def drain(self) -> int:
        """Let running turns end by themselves for a while, then interrupt the rest. Returns how
        many ends could not be stored: of those turns the last checkpoint is left."""
        self.draining = True
        self.admission.close()
        await settle(self._live, self.admission, DRAIN_SECONDS)
        try:  # those whose request was cancelled between the commit and the start
            async with asyncio.timeout(LAST_SECONDS):
                await in_db(sweep.interrupt_all_of, self.holder, self.turn_ids)
        except (*UNAVAILABLE, TimeoutError) as error:
            DATABASE.note_failure(error)
        return len(self._live) + self._unended

    # --- One turn ---------------------------------------------------------------------------------

    async def _run(self, live: LiveTurn, work: Coroutine[Any, Any, TurnOutcome]) -> None:
        """Bring a turn to exactly one end, whatever happens in it."""
        try:
            ending = await self._ending_of(live, work)
            ending = replace(
                ending,
                first_delta=live.first_delta,
                rounds=live.rounds,
                calls=live.ledger.count,
            )
            if ending.call is None and not live.reply.settled:
                ending = await asyncio.to_thread(self._with_estimate, live, ending)
            state = await self._store_end(live, ending)
        except Exception:
            # The lease runs out, and the sweep ends it from the last checkpoint.
            log.exception("turn could not be ended", turn=live.turn_id)
            self._unended += 1
        else:
            if state:
                await follow_up(live, ending, state)
        finally:
            leases.keeper.release(Turn, live.turn_id)
            if self._live.get(live.conversation_id) is live:
                del self._live[live.conversation_id]
            self.queue.note_end(live.conversation_id)

    @staticmethod
    def _with_estimate(live: LiveTurn, ending: TurnOutcome) -> TurnOutcome:
        """The end of a turn whose last call its server has not reported. Counts tokens."""
        return replace(
            ending,
            usage=live.estimate_usage(live.reply) or ending.usage,
            call=live.ledger.describe_end(live.reply),
        )

    async def _ending_of(
        self, live: LiveTurn, work: Coroutine[Any, Any, TurnOutcome]
    ) -> TurnOutcome:
        """Do a turn's work; how it ended."""
        try:
            return await work
        except TurnEnded:
            # A sweep that took this process for dead has ended it, or its conversation was deleted.
            return self._end_early(live, Turn.Status.INTERRUPTED, sweep.INTERRUPTED)
        except asyncio.CancelledError:
            asyncio.current_task().uncancel()  # type: ignore[union-attr]
            if live.stopping:
                return self._end_early(live, Turn.Status.CANCELLED)
            return self._end_early(live, Turn.Status.INTERRUPTED, sweep.INTERRUPTED)
        except AgentError as error:
            log.warning("turn failed", turn=live.turn_id, code=error.code, reason=str(error))
            return self._end_early(live, Turn.Status.FAILED, error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a library in Rust panics with one that is not an Exception
            log.exception("turn failed", turn=live.turn_id)
            return self._end_early(live, Turn.Status.FAILED, INTERNAL)
        finally:
            live.ending = True

    async def _store_end(self, live: LiveTurn, ending: TurnOutcome) -> RequestState | None:
        """Store a turn's end, keeping its text here until the database takes it; None where it had
        ended already, or where only the plain end could be stored."""
        told = False
        while True:
            try:
                state = await in_db(endings.end_turn, live.turn_id, ending)
            except UNAVAILABLE as error:
                DATABASE.note_failure(error)
                if not told:
                    told = await self._tell_unstored(live, error)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                log.exception("turn could not be ended whole", turn=live.turn_id)
                await self._finish_plainly(live, ending.call)
                return None
            else:
                DATABASE.note_success()
                return state

    @staticmethod
    async def _finish_plainly(live: LiveTurn, call: CallEnd | None) -> None:
        """End a turn whose end cannot be stored whole; without its text if it is that."""
        finish = partial(endings.finish_plainly, live.turn_id, INTERNAL, call=call)
        try:
            await in_db_with_retries(finish, live.kept_text)
        except Exception:
            log.exception("text not stored", turn=live.turn_id)
            await in_db_with_retries(finish)

    @staticmethod
    async def _tell_unstored(live: LiveTurn, error: Exception) -> bool:
        text = notice_text(Notice.UNSTORED, gettext(explain_unavailable(error)))
        await send(
            conversation_group(live.conversation_id),
            TurnNotice(live.turn_id, Notice.UNSTORED, text),
        )
        return True

    @staticmethod
    def _end_early(
        live: LiveTurn, status: Turn.Status, error: AgentError | None = None
    ) -> TurnOutcome:
        reply = live.reply
        return TurnOutcome(
            status,
            blocks=reply.partial_blocks(),
            stop_reason=reply.stop_reason,
            usage=reply.raw_usage or None,
            call=live.ledger.describe_end(reply) if reply.settled else None,
            error=error,
        )

    @staticmethod
    async def _compact(compaction_id: int) -> TurnOutcome:
        """A `/compact` turn: nothing but the compaction that was begun with it."""
        compaction = await in_db_with_retries(Compaction.objects.get, pk=compaction_id)
        # One that was prepared is current already.
        running = compaction.status == Compaction.Status.RUNNING
        ended = await wait_for_compaction(compaction, new=running)
        match ended.status:
            case Compaction.Status.COMPLETED:
                return TurnOutcome(Turn.Status.COMPLETED)
            case Compaction.Status.CANCELLED:
                return TurnOutcome(Turn.Status.CANCELLED)
        return TurnOutcome(
            Turn.Status.FAILED, error=AgentError(ErrorCode.COMPACTION_FAILED, ended.error)
        )

    # --- Keeping ----------------------------------------------------------------------------------

    async def _watch_turns(self) -> None:
        """Every second: checkpoints and stop flags of all turns, in one transaction."""
        while True:
            await asyncio.sleep(CHECKPOINT_SECONDS)
            running = list(self._live.values())
            for live in running:
                leases.keeper.beat(Turn, live.turn_id)
            if not running:
                continue
            try:
                stop = await self._checkpoint(running)
            except Exception:
                log.exception("checkpoint failed")
                continue
            for live in running:
                if live.stopping or live.turn_id in stop:
                    self.stop(live)

    @staticmethod
    async def _checkpoint(running: Sequence[LiveTurn]) -> set[int]:
        """The ids of turns that were asked to stop. What cannot be stored now is tried again a
        second later; a text that cannot be stored at all keeps no turn from being stopped."""
        turn_ids = [live.turn_id for live in running]
        unsaved = [(live, live.progress) for live in running if live.progress != live.saved]
        try:
            texts = [live.draft() for live, _ in unsaved if live.message_id is not None]
            stop = await in_db(turns.checkpoint, turn_ids, texts)
        except UNAVAILABLE as error:
            DATABASE.note_failure(error)
            return set()
        except Exception:
            log.exception("texts not checkpointed")
            return await in_db(turns.checkpoint, turn_ids, [])
        DATABASE.note_success()
        for live, progress in unsaved:
            live.saved = progress
        return stop


runner = Runner()


def _check_and_store(check: Callable[[], None], store: Callable[[], Begun | None]) -> Begun | None:
    check()
    return store()


def _outlive_request(
    work: Coroutine[Any, Any, None], language: str | None = None
) -> asyncio.Task[None]:
    """A task in a context of its own, apart from that of the request that starts it; it speaks the
    site's language or another one."""
    context = contextvars.Context()
    if language:
        context.run(activate, language)
    return asyncio.create_task(work, context=context)
