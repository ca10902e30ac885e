"""Running turns: asyncio tasks of the web process, owned by a Turn row and never by a socket.

`docs/architecture.md` traces one turn through this file.
"""

import asyncio
import contextvars
import os
import socket
import uuid
from itertools import count
from typing import Any
from uuid import UUID

import structlog
from channels.layers import get_channel_layer
from django.conf import settings

from agent.compaction import Trigger
from agent.context import Context, Request, assemble, measure, trim
from agent.errors import AgentError
from agent.llm import require_end
from agent.reply import Outcome, Reply, outcome
from chat import llm, tasks
from chat.broadcast import bind_loop, conversation_group
from chat.contexts import Loaded
from chat.control import obey
from chat.db import in_db
from chat.live import LiveTurn
from chat.models import Compaction, Message, Turn
from chat.services import compactions
from chat.services import sweep as sweeping
from chat.services import turns as services
from chat.services.turns import Ending, TurnEnded

log = structlog.get_logger(__name__)

CHECKPOINT_SECONDS = 1.0
SWEEP_SECONDS = 30.0
DRAIN_SECONDS = 20.0
COMPACTION_POLL_SECONDS = 1.0
# How often one turn compacts because the API said that the prompt is too long.
MAX_OVERFLOWS = 3
# Between two reads of a stream, so that waiting deltas are read, decoded and sent together:
# longer the more answers run, up to what still reads as live.
REST_SECONDS = 0.03
REST_PER_ANSWER = 0.001
MAX_REST_SECONDS = 0.1

CUT_NOTICE = "The answer reached its length limit. Ask to continue."
TRIMMED_NOTICE = (
    "The oldest messages were left out of this request because it would not fit. "
    "They are still here."
)
INTERNAL = AgentError(
    "internal", "Something went wrong in Everlong; the log has the details. Retry.", retryable=True
)


class Runner:
    """The turns of this process."""

    def __init__(self) -> None:
        self.owner = f"{socket.gethostname()[:30]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.draining = False
        self._live: dict[UUID, LiveTurn] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._control: asyncio.Task[None] | None = None

    def start(self, turn: Turn, compaction_id: int | None = None) -> None:
        """Run a stored turn: an answer, or the compaction that was begun with it."""
        bind_loop()
        live = LiveTurn(turn.pk, turn.conversation_id, turn.kind)
        self._live[turn.conversation_id] = live
        work = self._answer(live) if compaction_id is None else self._compact(live, compaction_id)
        # In a context of its own: the turn outlives the request that started it.
        live.task = asyncio.create_task(self._run(live, work), context=contextvars.Context())
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
            self._control = asyncio.create_task(obey(self.owner, self.live, self.stop))

    def live(self, conversation_id: UUID) -> LiveTurn | None:
        """The turn of a conversation, if this process runs it."""
        return self._live.get(conversation_id)

    def stop(self, live: LiveTurn) -> None:
        """Stop a turn; what it has written is kept."""
        if live.task and not live.stopping:
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
            if live.task and not live.stopping:
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
            log.warning("turn failed", turn=live.turn_id, code=error.code, reason=error.message)
            ending = self._partial(live, Turn.Status.FAILED, error)
        except Exception:
            log.exception("turn failed", turn=live.turn_id)
            ending = self._partial(live, Turn.Status.FAILED, INTERNAL)
        live.stopping = True  # a cancelled ending would be lost
        try:
            if ending is not None and await in_db(services.finish, live.turn_id, ending):
                if ending.status == Turn.Status.COMPLETED:
                    await self._suggest_title(live)
                else:
                    # It may have been stopped just when a compaction began.
                    await in_db(compactions.abandon, live.turn_id)
        except Exception:
            # The sweep will end it from the last checkpoint.
            log.exception("turn could not be stored", turn=live.turn_id)
        finally:
            if self._live.get(live.conversation_id) is live:
                del self._live[live.conversation_id]

    @staticmethod
    async def _suggest_title(live: LiveTurn) -> None:
        """Have the conversation named after its first exchange."""
        if live.number == 2:
            await asyncio.to_thread(tasks.suggest_title.delay, str(live.conversation_id))

    @staticmethod
    def _partial(live: LiveTurn, status: Turn.Status, error: AgentError | None = None) -> Ending:
        reply = live.reply
        return Ending(
            status,
            blocks=reply.partial_blocks(),
            stop_reason=reply.stop_reason,
            usage=reply.raw_usage or None,
            error=error,
        )

    async def _answer(self, live: LiveTurn) -> Ending:
        """Compact first if that is due, then ask the model; where the API says that the prompt is
        too long, compact and ask again."""
        loaded, message = await in_db(services.begin_answer, live.turn_id)
        if message is None:
            await self._compact_within(live, loaded, loaded.due() or "auto")
            loaded, message = await in_db(services.begin_answer, live.turn_id, compact_first=False)
        for overflows in count():
            try:
                return await self._ask(live, loaded, message)
            except AgentError as error:
                if (
                    error.code != "too_long"
                    or overflows == MAX_OVERFLOWS
                    or not loaded.policy.enabled
                    or not await self._compact_within(live, loaded, "overflow")
                ):
                    raise
            loaded, message = await in_db(services.begin_answer, live.turn_id, compact_first=False)
        raise AssertionError  # count() does not end

    async def _ask(self, live: LiveTurn, loaded: Loaded, message: Message | None) -> Ending:
        """One request and its continuations, streamed to the browsers."""
        assert message is not None
        live.begin_message(message.pk, message.number)
        context = await self._fitting(live, loaded)
        request = assemble(context)
        raw_prompt = int(measure(context, llm.counter()).total / loaded.limits.factor.value)
        client = llm.client()
        while True:
            reply = live.reply
            await self._stream(live, client, request)
            require_end(reply)
            match outcome(reply):
                case Outcome.RESEND:
                    request = _continued(request, reply)
                    live.reply = Reply(blocks=list(reply.blocks))
                    continue
                case Outcome.OVERFLOW if not live.length:
                    raise AgentError("too_long", "The conversation does not fit the model.")
                case Outcome.TOOLS:
                    raise AgentError(
                        "unknown_tool", "The model asked for a tool, and none is set up."
                    )
                case Outcome.CUT | Outcome.OVERFLOW:
                    await in_db(services.set_notice, live.turn_id, CUT_NOTICE)
            return Ending(
                Turn.Status.COMPLETED,
                blocks=reply.blocks,
                stop_reason=reply.stop_reason,
                usage=reply.raw_usage,
                raw_prompt=raw_prompt,
            )

    async def _fitting(self, live: LiveTurn, loaded: Loaded) -> Context:
        """The context, trimmed on whole turns where it would not fit the window."""
        if loaded.used <= loaded.limits.prompt_limit:
            return loaded.context
        context = trim(loaded.context, llm.counter(), loaded.used)
        if context.omitted:
            await in_db(services.note_trimmed, live.turn_id, TRIMMED_NOTICE)
            log.warning("request trimmed", turn=live.turn_id, omitted=context.omitted)
        if measure(context, llm.counter()).total > loaded.limits.prompt_limit:
            raise AgentError(
                "too_long",
                "The last message alone does not fit the model. Shorten it, or choose a model with "
                "a larger window.",
            )
        return context

    async def _stream(self, live: LiveTurn, client: Any, request: Request) -> None:
        reply = live.reply
        async for events in client.stream(request):
            text = "".join([reply.apply(event) for event in events])
            if text:
                await live.write(text)
            if reply.complete:
                return
            if any(event["type"] == "content_block_delta" for event in events):
                # Not after what opens a reply: the first delta goes out at once.
                rest = REST_SECONDS + REST_PER_ANSWER * len(self._live)
                await asyncio.sleep(min(MAX_REST_SECONDS, rest))

    # --- Compaction -------------------------------------------------------------------------------

    async def _compact_within(self, live: LiveTurn, loaded: Loaded, trigger: Trigger) -> bool:
        """Compact before an answer. False: it was not possible, and the turn goes on without."""
        planned = compactions.plan_for(loaded, manual=trigger == "overflow")
        if planned is None:
            log.warning("nothing to compact", turn=live.turn_id, used=loaded.used)
            return False
        compaction = await in_db(
            lambda: compactions.begin(
                live.turn_id,
                loaded,
                planned,
                Compaction.Trigger(trigger),
                previous=loaded.conversation.compaction,  # a query
            )
        )
        ended = await self._wait(compaction)
        return ended.status == Compaction.Status.COMPLETED

    async def _compact(self, live: LiveTurn, compaction_id: int) -> Ending:
        """A `/compact` turn: nothing but the compaction that was begun with it."""
        compaction = await in_db(Compaction.objects.get, pk=compaction_id)
        ended = await self._wait(compaction)
        match ended.status:
            case Compaction.Status.COMPLETED:
                return Ending(Turn.Status.COMPLETED)
            case Compaction.Status.CANCELLED:
                return Ending(Turn.Status.CANCELLED)
        return Ending(Turn.Status.FAILED, error=AgentError("compaction_failed", ended.error))

    async def _wait(self, compaction: Compaction) -> Compaction:
        """Hand a compaction to a worker and wait for its end: an event, with a look at the row each
        second, so that neither a lost event nor a dead worker holds the conversation."""
        layer = get_channel_layer()
        channel = await layer.new_channel()
        group = conversation_group(compaction.conversation_id)
        await layer.group_add(group, channel)
        try:
            # Sending to the broker may block on the network.
            await asyncio.to_thread(tasks.compact.delay, compaction.pk)
            taken_up_by = asyncio.get_running_loop().time() + settings.COMPACTION_PICKUP_SECONDS
            while True:
                late = asyncio.get_running_loop().time() > taken_up_by
                row = await in_db(compactions.look_after, compaction.pk, pickup_over=late)
                if row.status != Compaction.Status.RUNNING:
                    return row
                await _wait_for_end(layer, channel)
        except asyncio.CancelledError:
            await in_db(compactions.fail, compaction.pk, compactions.CANCELLED, cancelled=True)
            raise
        finally:
            await layer.group_discard(group, channel)

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
                if live.turn_id in stop:
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
    return "\n\n".join(b["text"] for b in reply.partial_blocks() if b["type"] == "text")


def _continued(request: Request, reply: Reply) -> Request:
    """The request again with what the server has written so far, after `pause_turn`."""
    messages = [*request.messages, {"role": "assistant", "content": reply.blocks}]
    return Request(request.model, request.max_tokens, request.system, messages, request.tools)


async def _wait_for_end(layer: Any, channel: str) -> None:
    """Until a compaction's end is announced on the channel, or for a second."""
    try:
        async with asyncio.timeout(COMPACTION_POLL_SECONDS):
            while (await layer.receive(channel)).get("name") != "CompressionCompleted":
                pass
    except TimeoutError:
        pass
