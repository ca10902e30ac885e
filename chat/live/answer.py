"""The model's part of a turn: requests alternating with tools, and compactions where they are due.

`chat.live.runner` has the turn's life; what is written here reaches the page through its
`LiveTurn`.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import structlog
from django.conf import settings
from django.utils.translation import gettext_noop

from agent.compaction.policy import Trigger
from agent.context.assemble import Context, convert_rounds_to_text
from agent.context.request import Request
from agent.engine import measure_sent, trim_if_needed
from agent.errors import AgentError, ErrorCode
from agent.loop import (
    CallResult,
    ReplyOutcome,
    continue_request,
    converse,
    refuse_call,
    run_calls,
)
from agent.messages import RawTokens, RealTokens
from agent.model.api_errors import TOO_LONG_WORDS
from agent.model.client import require_end
from agent.model.reply import Outcome, Reply, StreamEvent, read_outcome
from agent.model.unreported import was_refused
from chat.db.threads import finish_despite_cancel, in_db_with_retries
from chat.engine import model_server
from chat.engine.model_profiles import load_profile
from chat.engine.state import RequestState
from chat.live import consent
from chat.live.budget_queue import budget_queue
from chat.live.live_turn import LiveTurn
from chat.live.waiting import compact_before_answer, prepare_between_rounds
from chat.models import Turn
from chat.models.notices import Notice
from chat.services.people.budgets import make_failure
from chat.services.site import model_profiles
from chat.services.summary import preparations
from chat.services.turns import queue_sending, requests, rounds, turns
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.requests import AnswerStart
from chat.tools import mcp
from chat.tools.registry import bind_tools
from spending.budgets import BudgetExhausted

log = structlog.get_logger(__name__)

# The time between two reads of a stream, so that waiting deltas are read, decoded and sent
# together. It grows with the number of running answers, up to what still looks live.
REST_SECONDS = 0.03
REST_PER_ANSWER = 0.001
MAX_REST_SECONDS = 0.1

ASSUMED_SHARE = 0.75  # of a request that is too long, where its server does not say by how much
# Tokens of a request that is built in less than a millisecond.
SHORT = 10_000
MARGIN = 0.95  # of the share that it names: what is left out is only estimated


class AnswerSteps:
    """One answer: the steps that `agent.loop.converse` drives. `begun` is its first request;
    `count_answers` tells how many answers run, `may_be_steered` whether its user may have said
    something that is to go in between two rounds."""

    def __init__(
        self,
        live: LiveTurn,
        begun: AnswerStart,
        count_answers: Callable[[], int],
        may_be_steered: Callable[[], bool],
    ) -> None:
        self._live = live
        self._first_request: AnswerStart | None = begun
        if begun.call:
            live.ledger.take(begun.call)
        self._count_answers = count_answers
        self._may_be_steered = may_be_steered
        self._raw_request = RawTokens(0)
        self._owner_id = begun.turn.conversation.owner_id
        self._container = ""
        self._tools_listed = False
        self._overflows = 0  # compactions after the API had called a request too long
        self._token_limit: int | None = None  # where the API takes less than its window

    async def run(self) -> TurnOutcome:
        """Answer until the model is done. Raises AgentError and TurnEnded."""
        answered = await converse(self, settings.MAX_TOOL_ROUNDS)
        if answered.outcome in (Outcome.CUT, Outcome.OVERFLOW):
            notice = Notice.CUT_BY_BUDGET if self._live.ledger.is_shortened else Notice.CUT
            await in_db_with_retries(turns.set_notice, self._live.turn_id, notice)
        return await self._describe_end(answered.reply)

    # --- Steps ------------------------------------------------------------------------------------

    async def ask(self, *, final: bool) -> ReplyOutcome:
        """Compact first if that is due, then ask the model; where the API says that the request is
        too long, make room and ask again."""
        opening = await self._open_request()
        self._state = opening.state
        self._prepare(opening.state)
        if final:
            await in_db_with_retries(turns.set_notice, self._live.turn_id, Notice.LAST_ROUND)
            if opening.state.context.keeps_thinking:  # bound to a note that is not sent again
                await in_db_with_retries(turns.void_thinking, self._live.turn_id)
        as_text = False
        while True:
            try:
                return await self._reply(opening, final=final, as_text=as_text)
            except AgentError as error:
                if error.code == ErrorCode.THINKING_REFUSED and not as_text:
                    log.warning("thinking was refused", turn=self._live.turn_id, said=error.said)
                    await in_db_with_retries(turns.void_thinking, self._live.turn_id)
                    as_text = True
                elif not await self._make_room(opening.state, error):
                    raise
            opening = await self._open_next_request(may_compact=False)

    async def use(self, reply: Reply) -> None:
        """Run the calls of a reply, as many as may be; all of them have a result in the end, also
        when stopped."""
        live, message_id, most = self._live, self._live.message_id, settings.MAX_TOOL_CALLS
        calls = reply.calls[:most]
        refused = [refuse_call(call, most) for call in reply.calls[most:]]
        ended = list(refused)
        assert message_id is not None
        if refused:
            log.warning("tool calls refused", turn=live.turn_id, calls=len(reply.calls), most=most)

        async def finished(result: CallResult) -> None:
            ended.append(result)
            await in_db_with_retries(rounds.store_call_end, message_id, result)

        try:
            await finish_despite_cancel(self._close_round(reply, refused))
            ask = partial(consent.ask_consent, live)
            tools = await in_db_with_retries(bind_tools, self._state, len(calls), ask)
            await run_calls(calls, tools, finished)
        finally:
            results = in_db_with_retries(
                rounds.store_results, live.turn_id, message_id, reply.calls, ended
            )
            await finish_despite_cancel(results)

    async def _close_round(self, reply: Reply, refused: Sequence[CallResult]) -> None:
        ending = await self._describe_end(reply)
        await in_db_with_retries(rounds.close_round, self._live.turn_id, ending, refused)
        self._live.ledger.note_stored()
        self._live.rounds += 1
        self._live.end_message()

    # --- One request ------------------------------------------------------------------------------

    async def _open_request(self) -> AnswerStart:
        """What the next request consists of, after the compaction that it may need."""
        live = self._live
        opening, self._first_request = self._first_request, None
        if opening is None:
            if self._may_be_steered():
                await in_db_with_retries(queue_sending.put_in_between, live.turn_id)
            opening = await self._open_next_request()
        if not self._tools_listed:
            self._tools_listed = True
            if await mcp.refresh_tools(opening.state.conversation, live.turn_id):
                opening = await self._open_next_request()
        if opening.compact:
            await compact_before_answer(live.turn_id, opening.state, opening.compact, opening.focus)
            opening = await self._open_next_request(may_compact=False)
        return opening

    async def _open_next_request(self, *, may_compact: bool = True) -> AnswerStart:
        """Raises AgentError where a budget does not allow it."""
        ledger = self._live.ledger
        if ledger.open_id:  # its request was refused, or does not go out
            await ledger.end(self._live.reply, ledger.error)

        async def open_and_take() -> AnswerStart:
            opening = await in_db_with_retries(
                requests.open_next_request, self._live.turn_id, may_compact=may_compact
            )
            if opening.call:
                ledger.take(opening.call)
            return opening

        try:
            return await budget_queue.begin(
                self._owner_id, lambda: finish_despite_cancel(open_and_take())
            )
        except BudgetExhausted as error:
            raise await in_db_with_retries(make_failure, error) from error

    def _prepare(self, state: RequestState) -> None:
        """After a round of tools: have the next summary written before the turn needs it."""
        live = self._live
        if live.rounds and (live.preparing is None or live.preparing.done()):
            live.preparing = asyncio.create_task(prepare_between_rounds(live.turn_id, state))

    async def _make_room(self, state: RequestState, error: AgentError) -> bool:
        """Make the next try shorter, after the API refused a request as too long: by a compaction
        or, once in a turn, without the oldest messages. False where it would not be shorter."""
        if error.code != ErrorCode.TOO_LONG:
            return False
        await self._live.ledger.end(self._live.reply, error)
        if await self._learned_window(state):
            return True
        if await self._may_compact(state):
            self._overflows += 1
            if await compact_before_answer(self._live.turn_id, state, Trigger.OVERFLOW):
                return True
        if self._token_limit is not None:
            return False
        refused = self._to_send(state)
        self._token_limit = int(min(state.used, state.limits.request_limit) * _share_taken(error))
        return self._to_send(state) != refused

    @staticmethod
    async def _learned_window(state: RequestState) -> bool:
        """Whether the model's window, which was assumed, turns out to be smaller: in the first
        seconds of a new site nobody has read the server's list of models."""
        if not state.profile._state.adding:  # it is stored: nothing is assumed
            return False
        await model_profiles.refresh_profiles()
        known = await in_db_with_retries(load_profile, state.profile.name)
        return known.context_window < state.profile.context_window

    async def _may_compact(self, state: RequestState) -> bool:
        policy = state.policy
        if not policy.enabled or self._overflows >= policy.overflow_tries:
            return False
        return not await in_db_with_retries(preparations.is_breaker_open, state)

    async def _reply(self, opening: AnswerStart, *, final: bool, as_text: bool) -> ReplyOutcome:
        """One request and its continuations, streamed to the browsers."""
        live, state, message = self._live, opening.state, opening.message
        assert message is not None
        live.begin_message(message.pk, message.number)
        context, tokens = await self._fitting(state)
        self._raw_request = state.limits.factor.raw(tokens)
        if as_text:
            context = convert_rounds_to_text(context)
        build = partial(model_server.build_request, context, final=final)
        live.factor = state.limits.factor
        # To wait for a thread would take longer than a short one takes.
        request = build() if tokens <= SHORT else await asyncio.to_thread(build)
        sent = request = replace(request, container=self._container) if self._container else request
        for _ in range(settings.MAX_TOOL_ROUNDS + 1):
            reply = live.reply
            await self._stream(sent, tokens)
            require_end(reply)
            self._container = reply.container or self._container
            ended = read_outcome(reply)
            next_request = reply.usage.total  # what was read and written
            if ended is Outcome.RESEND and next_request + sent.max_tokens > state.limits.window:
                ended = Outcome.OVERFLOW
            if ended is Outcome.OVERFLOW and not live.length:
                raise AgentError(ErrorCode.TOO_LONG, TOO_LONG_WORDS)
            if ended is not Outcome.RESEND:
                return ReplyOutcome(reply, ended)
            await live.ledger.end(reply, None)
            tokens = RealTokens(next_request)
            live.ledger.expect(tokens)
            sent, live.reply = continue_request(request, reply), reply.resume()
            await asyncio.to_thread(model_server.require_valid, sent, resumed=True)
        raise AgentError(
            ErrorCode.TOO_MANY_ROUNDS,
            gettext_noop("The model's server paused too often. Ask it to go on."),
        )

    async def _fitting(self, state: RequestState) -> tuple[Context, RealTokens]:
        """The context, trimmed on whole turns and then within the running one where it would not
        fit the window, and its estimated tokens."""
        context = self._to_send(state)
        tokens = measure_sent(state.metered, context, model_server.get_counter())
        if context is state.context:
            return context, tokens
        turn_id = self._live.turn_id
        if context != state.context:  # it may have got shorter by the first message alone
            notice = Notice.SHORTENED if context.shortened else Notice.TRIMMED
            await in_db_with_retries(turns.mark_trimmed, turn_id, notice)
            log.warning(
                "request trimmed",
                turn=turn_id,
                omitted=context.omitted,
                shortened=context.shortened,
            )
        if tokens > state.limits.request_limit:
            raise AgentError(
                ErrorCode.TOO_LONG,
                gettext_noop(
                    "The last message alone does not fit the model. Shorten it, or choose a model "
                    "with a larger window."
                ),
            )
        return context, tokens

    def _to_send(self, state: RequestState) -> Context:
        return trim_if_needed(state.metered, model_server.get_counter(), self._token_limit)

    async def _stream(self, request: Request, tokens: RealTokens) -> None:
        """Send a request of so many estimated tokens, and show its reply."""
        reply = self._live.reply
        client = await model_server.find_client(request.model)
        stream = client.stream(request, self._live.ledger, reply, self._rest_after)
        self._live.asked = tokens
        try:
            async with aclosing(stream) as batches:
                async for events in batches:
                    await self._show_events(events, reply)
                    if reply.complete:
                        return
        except AgentError as error:
            self._live.ledger.error = error
            if was_refused(reply, error):  # nothing to pay for
                self._live.asked = RealTokens(0)
            raise

    def _rest_after(self, events: Sequence[StreamEvent]) -> float:
        """Not after the events that open a reply: the first delta goes out at once."""
        if not any(event["type"] == "content_block_delta" for event in events):
            return 0
        return min(MAX_REST_SECONDS, REST_SECONDS + REST_PER_ANSWER * self._count_answers())

    async def _show_events(self, events: Sequence[StreamEvent], reply: Reply) -> None:
        """Fold a batch of events into the reply, and send on what a reader sees of them."""
        text = thought = ""
        for event in events:
            text += reply.apply(event)
            thought += reply.read_thinking(event)
            if event["type"] == "content_block_start":
                await self._live.begin_block(reply.blocks[-1])
        if thought:
            await self._live.think(thought)
        if text:
            await self._live.write(text)

    async def _describe_end(self, reply: Reply) -> TurnOutcome:
        describe = self._live.ledger.describe_end
        call = describe(reply) if reply.settled else await asyncio.to_thread(describe, reply)
        return TurnOutcome(
            Turn.Status.COMPLETED,
            blocks=reply.blocks,
            stop_reason=reply.stop_reason,
            usage=reply.raw_usage,
            call=call,
            # What the server had written before it paused was part of the request too.
            raw_request=RawTokens(0) if reply.resumed else self._raw_request,
        )


def _share_taken(error: AgentError) -> float:
    """How much of a request that was too long its server would take."""
    return ASSUMED_SHARE if error.share_taken is None else MARGIN * error.share_taken
