"""One conversation, turn by turn, through the engine's own functions and without a database.

All decisions are `agent.engine`'s. `bench.replay.services` plays the same turns through the
product's services, and the requests must come out the same, byte for byte.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from agent.clock import Told, choose_line
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.policy import Policy, Trigger
from agent.compaction.writing.job import Job
from agent.context.assemble import Context, assemble
from agent.context.message_list import begin_within_turn
from agent.context.request import CACHE_SECONDS, choose_cache_ttl, count_bridged
from agent.context.summary import Summary
from agent.engine import (
    BreakerOpen,
    Compact,
    MeteredContext,
    Prune,
    Send,
    Swap,
    Trim,
    UsageReport,
    decide_sent_cuts,
    find_pause_to_use,
    learn_from_reply,
    measure_sent,
    meter,
    next_step,
    plan_next,
    trim_if_needed,
    wants_preparation,
)
from agent.messages import AgentMessage, Block, RawTokens, RealTokens, Role, Usage
from agent.tokens import Limits, Model, TokenCounter
from bench.replay.api import Caller, ScriptedApi
from bench.replay.conversations import ReplayExchange
from bench.replay.lineage import Lineage
from bench.replay.tally import Tally
from bench.replay.writings import EPOCH, Writing, Writings
from demo.api import protocol

ZONE = "UTC"  # the site's
ROUND_SECONDS = 10.0  # of a reply that calls tools, and of them


class Conductor:
    """A conversation in memory. Times are virtual seconds, sizes tokens."""

    def __init__(
        self,
        api: ScriptedApi,
        policy: Policy,
        limits: Limits,
        counter: TokenCounter,
        model: str,
        tools: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.api, self.policy, self.counter, self.model = api, policy, counter, model
        self.limits, self.tools = limits, tools
        self.messages: list[AgentMessage] = []
        self.times: list[float] = []
        self.chapters: list[Chapter] = []
        self.summary = Summary()
        self.through = 0  # number of the last message in the summary
        self.tally = Tally()
        self.lineage = Lineage()
        self._first: AgentMessage | None = None
        self._pruned_through = 0
        self._prefix_from = 0  # number of the first message after what is sent now was sent
        self._compressed_at = -inf
        self._report: UsageReport | None = None
        self._preparation: Writing | None = None
        self._writings = Writings()
        self._pause_at: float | None = None
        self._pauses: list[float] = []  # before each of the user's messages but the first
        self._turns = 0
        self._written = 0  # raw tokens of all messages

    # --- One turn ---------------------------------------------------------------------------------

    def play(self, exchange: ReplayExchange, gap: float) -> None:
        """A pause, a user's message, the tools' rounds and the answer."""
        self._advance(gap)
        if self._turns:
            self._pauses.append(gap)
        self._turns += 1
        self._add("user", [*exchange.files, protocol.text(exchange.user)])
        for number, round_ in enumerate(exchange.rounds):
            self._request(round_.call(str(len(self.messages))), within=number > 0)
            self.api.clock.now += ROUND_SECONDS
            self._settle()
            self._add("user", round_.result(self.messages[-1].blocks))
        answer = [protocol.text(exchange.answer)]
        self._request(answer, within=bool(exchange.rounds), stopped=exchange.stopped)
        self._pause_at = None
        if not exchange.stopped:
            self._follow_up()
        spent, prices = self.api.spent, self.api.prices
        self.tally.dollars.append(spent.dollars(prices))
        self.tally.summary_dollars.append(prices.dollars(spent.summaries))

    def _request(self, reply: list[Block], *, within: bool, stopped: bool = False) -> None:
        """One request, after all that is due before any: steps and, `within` a turn, a summary for
        a later one."""
        new = self.limits.factor.apply(self.messages[-1].tokens)
        self._make_room(large=new > self.limits.budget / 10)
        if within:
            self._prepare_if_near()
        self._ask(reply, stopped=stopped)

    def _make_room(self, *, large: bool) -> None:
        """The engine's steps up to the one to send."""
        while True:
            match next_step(self.metered, self.policy, self, self.counter):
                case Swap():
                    self._swap()
                case Prune(pruning):
                    self._pruned_through = pruning.through
                    self._change_prefix()
                case Compact(trigger):
                    return self._compact_now(trigger, large=large)
                case BreakerOpen():
                    self.tally.resting += 1
                    return None
                case Send() | Trim():
                    return None

    def _ask(self, reply: list[Block], *, stopped: bool) -> None:
        self._mark_cut()
        metered = self.metered
        context = trim_if_needed(metered, self.counter)
        trimmed = context != metered.context
        self.tally.trimmed += trimmed
        raw = self.limits.factor.raw(measure_sent(metered, context, self.counter))
        version = (self.tally.compactions, self._pruned_through, context.omitted)
        reported = self.api.answer(assemble(context), reply, version)
        usage = Usage.from_api(reported)
        thinking = reported.get("output_tokens_details", {}).get("thinking_tokens", 0)
        self._add("assistant", reply, thinking)
        if trimmed:
            self._change_prefix()
        else:
            self._report = UsageReport(len(self.messages), usage, thinking, complete=not stopped)
        if not stopped:
            factor = learn_from_reply(self.limits.factor, raw, usage, self.messages[-1])
            self.limits = replace(self.limits, factor=factor)

    def _mark_cut(self) -> None:
        for number, factor in decide_sent_cuts(self.context).items():
            self.messages[number - 1] = replace(self.messages[number - 1], cut_factor=factor)
        self._first = self._first and self.messages[0]

    def _follow_up(self) -> None:
        """After a reply: a summary for later, now or in a pause."""
        if self._prepare_if_near():
            return
        pauses, cached, used = self._pauses, self._cached_seconds, self.metered.used
        seconds = find_pause_to_use(used, self.limits, self.policy, pauses=pauses, cached=cached)
        if seconds is not None:
            self._pause_at = self.api.clock.now + seconds

    def _prepare_if_near(self) -> bool:
        metered = self.metered
        messages = metered.context.tail_count
        near = wants_preparation(metered.used, self.limits, self.policy, messages)
        return near and self._begin(Trigger.PREPARED)

    def _advance(self, seconds: float) -> None:
        """Virtual time passes, until the user's next message."""
        later = self.api.clock.now + seconds
        if self._pause_at is not None and self._pause_at < later:
            self.api.clock.now = self._pause_at
            self._settle()
            self._begin(Trigger.IDLE)
        self.api.clock.now = later
        self._settle()

    def _settle(self) -> None:
        """A preparation that has failed by now makes room for another."""
        done = self._preparation
        if done and done.written is None and done.ends <= self.api.clock.now:
            self._preparation = None

    # --- The conversation as it is ----------------------------------------------------------------

    @property
    def context(self) -> Context:
        return Context(
            model=self.model,
            limits=self.limits,
            summary=self.summary,
            summary_through=self.through,
            first=self._first,
            prompt=self._prompt,
            messages=self.messages[self.through :],
            pruned_through=self._pruned_through,
            tools=self.tools,
            thinking_from=self._prefix_from,
            cache_ttl=choose_cache_ttl(
                self._pauses,
                self.limits.factor.apply(RawTokens(self._written)),
                count_bridged(self._pauses),
                self.policy.trigger_tokens(self.limits),
            ),
        )

    @property
    def _prompt(self) -> AgentMessage | None:
        """What the kept tail's first turn answers, where the summary covers it."""
        if not self.through or not begin_within_turn(self.messages[self.through :]):
            return None
        return next((m for m in reversed(self.messages[: self.through]) if m.is_prompt), None)

    @property
    def _cached_seconds(self) -> float:
        hour = self._report is not None and self._report.usage.ephemeral_1h_input_tokens
        return CACHE_SECONDS["1h" if hour else "5m"]

    @property
    def metered(self) -> MeteredContext:
        return meter(self.context, self.counter, self._report)

    # --- What `next_step` asks --------------------------------------------------------------------

    asked = False  # these models have no tool for it

    @property
    def rounds(self) -> int:
        tail = zip(self.messages[self.through :], self.times[self.through :], strict=True)
        since = [message for message, time in tail if time > self._compressed_at]
        return sum(any(b["type"] == "tool_use" for b in m.blocks) for m in since)

    @property
    def warm(self) -> bool:
        """By the time of the last reply."""
        if self._report is None:
            return False
        return self.api.clock.now - self.times[self._report.number - 1] < self._cached_seconds

    def find_prepared(self) -> Trigger | None:
        done = self._preparation
        return done.trigger if done and done.written and not self.is_writing() else None

    def is_writing(self) -> bool:
        return self._preparation is not None and self._preparation.ends > self.api.clock.now

    def is_breaker_open(self) -> bool:
        return self._writings.is_breaker_open(self.policy, self.api.clock.now, self._turns)

    # --- Compaction -------------------------------------------------------------------------------

    def _swap(self) -> None:
        began = time.perf_counter()
        assert self._preparation
        self._commit(self._preparation)
        self.tally.locks.append(1000 * (time.perf_counter() - began))

    def _compact_now(self, trigger: Trigger, *, large: bool) -> None:
        """The turn waits: for the summary that is being written, or for a new one."""
        began = self.api.clock.now
        deadline = began + (self.policy.deadline_seconds or inf)
        if self._preparation and self.is_writing():
            writing = self._preparation
            writing.waited_for = True
            if writing.ends > deadline:
                self.tally.failures += writing.ask(Caller(self.api, deadline, deadline))
        elif (job := self._make_job(trigger)) is None:
            return
        else:
            writing = self._write(job, trigger, deadline)
        self.api.clock.now = writing.ends
        self.tally.locks.append(1000 * (writing.ends - began))
        self.tally.blocking += not large
        self.tally.blocking_after_large += large
        if writing.written is None:
            self._preparation = None
        else:
            self._commit(writing)

    def _begin(self, trigger: Trigger) -> bool:
        policy, now = self.policy, self.api.clock.now
        if (
            not policy.enabled
            or policy.held
            or self._preparation
            or self._writings.is_breaker_open(policy, now, self._turns, unseen=True)
            or self._writings.is_over_budget(policy, self.limits, now)
        ):
            return False
        if job := self._make_job(trigger):
            self._preparation = self._write(job, trigger)
        return job is not None

    def _make_job(self, trigger: Trigger) -> Job | None:
        metered = self.metered
        planned = plan_next(metered, self.policy, trigger)
        if planned is None:
            return None
        model = Model(self.model, self.limits, self.api.prices)
        return Job(
            context=metered.context,
            plan=planned,
            chapters=self.chapters,
            used=metered.used,
            policy=self.policy,
            counter=self.counter,
            own=model,
            writer=model,
            warm=self.warm,
        )

    def _write(self, job: Job, trigger: Trigger, deadline: float | None = None) -> Writing:
        """`chat.tasks.compact`: a new state of the summary, there when its calls have been
        answered; with a deadline, a turn waits for it."""
        now, waits = self.api.clock.now, deadline is not None
        writing = Writing(job, trigger, self._turns, now, now, None, 0, waits)
        self._writings.append(writing)
        self.tally.failures += writing.ask(Caller(self.api, now, deadline or inf))
        return writing

    def _commit(self, writing: Writing) -> None:
        assert writing.written
        result, context = writing.written.result, writing.written.context
        self.api.spent.sizes_before.append(self.metered.used)
        self.chapters = result.chapters
        self.summary, self.through = context.summary, context.summary_through
        self._first = self.messages[0] if self.policy.keep_first_message else None
        self._preparation, self._compressed_at = None, writing.ends
        self._change_prefix()
        self.tally.engines[result.engine] = self.tally.engines.get(result.engine, 0) + 1
        self.tally.depth = max(self.tally.depth, *(c.depth for c in self.chapters))
        self.lineage.follow(self.chapters)
        self.api.spent.sizes_after.append(self.metered.used)

    def _change_prefix(self) -> None:
        """What was reported and thought so far was of another context."""
        self._report, self._prefix_from = None, len(self.messages) + 1

    def _add(self, role: Role, blocks: list[Block], thinking: int = 0) -> None:
        prompt = role == "user" and blocks[0]["type"] != "tool_result"
        line = self._tell_time() if prompt else ""
        tokens = RawTokens(self.counter.count_blocks(blocks) + self.counter.count(line))
        number = len(self.messages) + 1
        self._written += tokens
        self.messages.append(
            AgentMessage(
                number,
                role,
                blocks,
                tokens,
                thinking=RealTokens(thinking),
                at=self._now,
                zone=ZONE,
                time_line=line,
            )
        )
        self.times.append(self.api.clock.now)

    @property
    def _now(self) -> float:
        return EPOCH.timestamp() + self.api.clock.now

    def _tell_time(self) -> str:
        """As `chat.services.turns.times.tell_time`."""
        told = [m.at for m in self.messages[self.through :] if m.time_line]
        before = Told(told[-1], ZONE) if told else None
        last = self.messages[-1].at if self.messages else None
        return choose_line(before, Told(self._now, ZONE), last)
