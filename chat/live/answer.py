"""The model's part of a turn: requests and tools by turns, compactions where they are due.

`chat.live.runner` owns the turn's life; what is written here reaches the page through its
`LiveTurn`.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial

import structlog
from django.conf import settings
from django.utils.translation import gettext_noop

from agent.compaction.policy import Trigger
from agent.context.assemble import Context, measure, rounds_as_text
from agent.context.request import Request
from agent.engine import to_send
from agent.errors import AgentError, ErrorCode
from agent.loop import Answered, Result, continued, converse, run_calls
from agent.messages import RawTokens, RealTokens
from agent.model.api_errors import TOO_LONG_WORDS
from agent.model.client import require_end
from agent.model.reply import Event, Outcome, Reply, outcome
from chat.db import in_db_at_last, unbroken
from chat.live import consent
from chat.live.live_turn import LiveTurn
from chat.live.waiting import compact_within
from chat.models import Turn
from chat.models.notices import Notice
from chat.queries import model_server
from chat.queries.conversation import Loaded
from chat.services import preparations, requests, rounds
from chat.services import turns as services
from chat.services.endings import Ending
from chat.services.requests import Opening
from chat.tools import mcp
from chat.tools.registry import bound

log = structlog.get_logger(__name__)

# Between two reads of a stream, so that waiting deltas are read, decoded and sent together:
# longer the more answers run, up to what still reads as live.
REST_SECONDS = 0.03
REST_PER_ANSWER = 0.001
MAX_REST_SECONDS = 0.1

ASSUMED_SHARE = 0.75  # of a prompt that is too long, where its server does not say by how much
MARGIN = 0.95  # of what it says: what is left out is only estimated


class Answering:
    """One answer: the steps that `agent.loop.converse` drives. `begun` is its first request;
    `answers` tells how many answers run."""

    def __init__(self, live: LiveTurn, begun: Opening, answers: Callable[[], int]) -> None:
        self._live = live
        self._begun: Opening | None = begun
        self._answers = answers
        self._raw_prompt = RawTokens(0)
        self._listed = False
        self._overflows = 0  # compactions after the API had called a prompt too long
        self._most: int | None = None  # tokens that the API takes, where its window is smaller

    async def run(self) -> Ending:
        """Answer until the model is done. Raises AgentError and TurnEnded."""
        answered = await converse(self, settings.MAX_TOOL_ROUNDS)
        if answered.outcome in (Outcome.CUT, Outcome.OVERFLOW):
            await in_db_at_last(services.set_notice, self._live.turn_id, Notice.CUT)
        return self._ending(answered.reply)

    # --- Steps ------------------------------------------------------------------------------------

    async def ask(self, *, final: bool) -> Answered:
        """Compact first if that is due, then ask the model; where the API says that the prompt is
        too long, make room and ask again."""
        opening = await self._open()
        self._conversation = opening.loaded.conversation
        if final:
            await in_db_at_last(services.set_notice, self._live.turn_id, Notice.LAST_ROUND)
        as_text = False
        while True:
            try:
                return await self._reply(opening, final=final, as_text=as_text)
            except AgentError as error:
                if error.code == ErrorCode.THINKING_REFUSED and not as_text:
                    log.warning("thinking was refused", turn=self._live.turn_id, said=error.said)
                    await in_db_at_last(services.void_thinking, self._live.turn_id)
                    as_text = True
                elif not await self._made_room(opening.loaded, error):
                    raise
            opening = await self._begin(may_compact=False)

    async def use(self, reply: Reply) -> None:
        """Run the calls of a reply; all of them have a result in the end, also when stopped."""
        live, message_id, ended = self._live, self._live.message_id, list[Result]()
        assert message_id is not None

        async def finished(result: Result) -> None:
            ended.append(result)
            await in_db_at_last(rounds.call_ended, message_id, result)

        try:
            await unbroken(self._close(reply))
            ask = partial(consent.ask, live)
            tools = await in_db_at_last(bound, self._conversation, len(reply.calls), ask)
            await run_calls(reply.calls, tools, finished)
        finally:
            results = in_db_at_last(
                rounds.store_results, live.turn_id, message_id, reply.calls, ended
            )
            await unbroken(results)

    async def _close(self, reply: Reply) -> None:
        await in_db_at_last(rounds.close, self._live.turn_id, self._ending(reply))
        self._live.rounds += 1
        self._live.end_message()

    # --- One request ------------------------------------------------------------------------------

    async def _open(self) -> Opening:
        """What the next request consists of, after the compaction that it may need."""
        live = self._live
        opening, self._begun = self._begun, None
        if opening is None:
            opening = await self._begin()
        if not self._listed and await mcp.refresh(opening.loaded.conversation, live.turn_id):
            opening = await self._begin()
        self._listed = True
        if opening.compact:
            await compact_within(live.turn_id, opening.loaded, opening.compact, opening.focus)
            opening = await self._begin(may_compact=False)
        return opening

    async def _begin(self, *, may_compact: bool = True) -> Opening:
        return await in_db_at_last(
            requests.begin_answer, self._live.turn_id, may_compact=may_compact
        )

    async def _made_room(self, loaded: Loaded, error: AgentError) -> bool:
        """Whether the next try is shorter, after the API refused a prompt as too long: thanks to a
        compaction, else, once in a turn, without the oldest messages."""
        if error.code != ErrorCode.TOO_LONG:
            return False
        if await self._may_compact(loaded):
            self._overflows += 1
            if await compact_within(self._live.turn_id, loaded, Trigger.OVERFLOW):
                return True
        if self._most is not None:
            return False
        refused = self._to_send(loaded)
        self._most = int(min(loaded.used, loaded.limits.prompt_limit) * _share_taken(error))
        return self._to_send(loaded) != refused

    async def _may_compact(self, loaded: Loaded) -> bool:
        policy = loaded.policy
        if not policy.enabled or self._overflows >= policy.overflow_tries:
            return False
        return not await in_db_at_last(preparations.rests, loaded)

    async def _reply(self, opening: Opening, *, final: bool, as_text: bool) -> Answered:
        """One request and its continuations, streamed to the browsers."""
        live, loaded, message = self._live, opening.loaded, opening.message
        assert message is not None
        live.begin_message(message.pk, message.number)
        context, tokens = await self._fitting(loaded)
        self._raw_prompt = loaded.limits.factor.raw(tokens)
        sent = request = await asyncio.to_thread(
            model_server.request_for, rounds_as_text(context) if as_text else context, final=final
        )
        for _ in range(settings.MAX_TOOL_ROUNDS + 1):
            reply = live.reply
            await self._stream(sent)
            require_end(reply)
            ended = outcome(reply)
            next_prompt = reply.usage.total  # what was read and written
            if ended is Outcome.RESEND and next_prompt + sent.max_tokens > loaded.limits.window:
                ended = Outcome.OVERFLOW
            if ended is Outcome.OVERFLOW and not live.length:
                raise AgentError(ErrorCode.TOO_LONG, TOO_LONG_WORDS)
            if ended is not Outcome.RESEND:
                return Answered(reply, ended)
            sent, live.reply = continued(request, reply), reply.resumed()
            await asyncio.to_thread(model_server.require_valid, sent, resumed=True)
        raise AgentError(
            ErrorCode.TOO_MANY_ROUNDS,
            gettext_noop("The model's server paused too often. Ask to go on."),
        )

    async def _fitting(self, loaded: Loaded) -> tuple[Context, RealTokens]:
        """The context, trimmed on whole turns where it would not fit the window, and its estimated
        tokens."""
        context = self._to_send(loaded)
        if context is loaded.context:
            return context, loaded.size.total
        turn_id = self._live.turn_id
        if context.omitted:
            await in_db_at_last(services.note_trimmed, turn_id)
            log.warning("request trimmed", turn=turn_id, omitted=context.omitted)
        tokens = measure(context, model_server.counter()).total
        if tokens > loaded.limits.prompt_limit:
            raise AgentError(
                ErrorCode.TOO_LONG,
                gettext_noop(
                    "The last message alone does not fit the model. Shorten it, or choose a model "
                    "with a larger window."
                ),
            )
        return context, tokens

    def _to_send(self, loaded: Loaded) -> Context:
        return to_send(loaded.metered, model_server.counter(), self._most)

    async def _stream(self, request: Request) -> None:
        reply = self._live.reply
        async with aclosing(model_server.client().stream(request)) as batches:
            async for events in batches:
                await self._show(events, reply)
                if reply.complete:
                    return
                if any(event["type"] == "content_block_delta" for event in events):
                    # Not after what opens a reply: the first delta goes out at once.
                    rest = REST_SECONDS + REST_PER_ANSWER * self._answers()
                    await asyncio.sleep(min(MAX_REST_SECONDS, rest))

    async def _show(self, events: Sequence[Event], reply: Reply) -> None:
        """Fold a batch of events into the reply, and send on what a reader sees of them."""
        text = thought = ""
        for event in events:
            text += reply.apply(event)
            thought += reply.thought(event)
            if event["type"] == "content_block_start":
                await self._live.begin_block(reply.blocks[-1])
        if thought:
            await self._live.think(thought)
        if text:
            await self._live.write(text)

    def _ending(self, reply: Reply) -> Ending:
        return Ending(
            Turn.Status.COMPLETED,
            blocks=reply.blocks,
            stop_reason=reply.stop_reason,
            usage=reply.raw_usage,
            paused=reply.paused,
            # What the server had written before it paused was part of the prompt too.
            raw_prompt=RawTokens(0) if reply.paused.total else self._raw_prompt,
        )


def _share_taken(error: AgentError) -> float:
    """How much of a prompt that was too long its server would take."""
    return ASSUMED_SHARE if error.share_taken is None else MARGIN * error.share_taken
