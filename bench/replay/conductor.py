"""One conversation, turn by turn, through the engine's own functions and without a database.

All decisions are `agent.engine`'s. `bench.replay.services` plays the same turns through the
product's services, and the requests must come out the same, byte for byte.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from agent.clock import Told, choose_line
from agent.compaction.chapters import Chapter
from agent.compaction.failures import SummaryRejected
from agent.compaction.job import Job
from agent.compaction.policy import Attempt, Engine, Policy, Trigger, find_breaker_end
from agent.context.assemble import Context, assemble, measure
from agent.context.message_list import begin_within_turn
from agent.context.request import CACHE_SECONDS, choose_cache_ttl, count_bridged
from agent.context.summary import Summary
from agent.engine import (
    BreakerOpen,
    Compact,
    CompactedContext,
    MeteredContext,
    Prune,
    Send,
    Swap,
    Trim,
    UsageReport,
    compact,
    find_pause_to_use,
    meter,
    next_step,
    plan_next,
    trim_if_needed,
    wants_preparation,
)
from agent.messages import Block, Message, RawTokens, RealTokens, Role, Usage
from agent.tokens import Limits, Model, TokenCounter
from bench.replay.api import Caller, ScriptedApi
from bench.replay.conversations import ReplayExchange
from bench.replay.lineage import Lineage
from demo.api import protocol

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ZONE = "UTC"  # the site's
ROUND_SECONDS = 10.0  # of a reply that calls tools, and of them


class RememberingCounter(TokenCounter):
    """Counts a text once: the replays repeat texts, and each request measures the summary."""

    @lru_cache(maxsize=20_000)  # noqa: B019 - it lives as long as the benchmark
    def count(self, text: str) -> RawTokens:
        return super().count(text)


@dataclass
class Preparation:
    """A summary that is being written until virtual second `ends`; None: it failed."""

    trigger: Trigger
    turn: int
    ends: float
    written: CompactedContext | None


@dataclass
class Tally:
    """What happened. `locks`: milliseconds that a turn was held for each automatic compaction."""

    locks: list[float] = field(default_factory=list)
    blocking: int = 0
    blocking_after_large: int = 0  # where the turn itself added over a tenth of the budget
    trimmed: int = 0
    failures: list[str] = field(default_factory=list)
    engines: dict[Engine, int] = field(default_factory=dict)
    depth: int = 0
    resting: int = 0
    dollars: list[float] = field(default_factory=list)  # in all, after each turn
    summary_dollars: list[float] = field(default_factory=list)  # of that, the summaries

    @property
    def compactions(self) -> int:
        return sum(self.engines.values())


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
        self.messages: list[Message] = []
        self.times: list[float] = []
        self.chapters: list[Chapter] = []
        self.summary = Summary()
        self.through = 0  # number of the last message in the summary
        self.tally = Tally()
        self.lineage = Lineage()
        self._first: Message | None = None
        self._pruned_through = 0
        self._thinking_from = 0
        self._report: UsageReport | None = None
        self._preparation: Preparation | None = None
        self._pause_at: float | None = None
        self._pauses: list[float] = []  # before each of the user's messages but the first
        self._attempts: list[tuple[float, bool, int]] = []  # (ended, failed, turn), newest first
        self._turns = 0
        self._written = 0  # raw tokens of all messages

    # --- One turn ---------------------------------------------------------------------------------

    def play(self, exchange: ReplayExchange, gap: float) -> None:
        """A pause, a user's message, the tools' rounds and the answer."""
        self._advance(gap)
        if self._turns:
            self._pauses.append(gap)
        self._turns += 1
        self._add("user", [protocol.text(exchange.user)])
        for number, round_ in enumerate(exchange.rounds):
            self._request(round_.call(str(len(self.messages))), within=number > 0)
            self.api.clock.now += ROUND_SECONDS
            self._settle()
            self._add("user", round_.result(self.messages[-1].blocks))
        self._request([protocol.text(exchange.answer)], within=bool(exchange.rounds))
        self._follow_up()
        spent, prices = self.api.spent, self.api.prices
        self.tally.dollars.append(spent.dollars(prices))
        self.tally.summary_dollars.append(prices.dollars(spent.summaries))

    def _request(self, reply: list[Block], *, within: bool) -> None:
        """One request, after all that is due before any: steps and, `within` a turn, a summary for
        a later one."""
        new = self.limits.factor.apply(self.messages[-1].tokens)
        context = self._opening(large=new > self.limits.budget / 10)
        if within and wants_preparation(self.metered.used, self.limits, self.policy):
            self._begin(Trigger.PREPARED)
        self._ask(context, reply)

    def _opening(self, *, large: bool) -> Context:
        """The engine's steps up to the context to send."""
        while True:
            match next_step(self.metered, self.policy, self, self.counter):
                case Swap():
                    self._swap()
                case Prune(pruning):
                    self._pruned_through, self._report = pruning.through, None
                case Compact(trigger):
                    self._compact_now(trigger, large=large)
                    break
                case BreakerOpen():
                    self.tally.resting += 1
                    break
                case Send() | Trim():
                    break
        context = trim_if_needed(self.metered, self.counter)
        self.tally.trimmed += bool(context.omitted)
        return context

    def _ask(self, context: Context, reply: list[Block]) -> None:
        size = measure(context, self.counter)
        raw = sum(m.tokens for m in context.messages) + self.limits.factor.raw(size.fixed)
        version = (self.tally.compactions, self._pruned_through, context.omitted)
        reported = self.api.answer(assemble(context), reply, version)
        usage = Usage.from_api(reported)
        thinking = reported.get("output_tokens_details", {}).get("thinking_tokens", 0)
        self._add("assistant", reply, thinking)
        self._report = UsageReport(len(self.messages), usage, thinking)
        self.limits = replace(
            self.limits, factor=self.limits.factor.learn(RawTokens(raw), usage.prompt)
        )

    def _follow_up(self) -> None:
        """`preparing.prepare_if_due` and `preparing.pause_wanted`, after a reply."""
        self._pause_at = None
        used = self.metered.used
        if wants_preparation(used, self.limits, self.policy) and self._begin(Trigger.PREPARED):
            return
        pauses, cached = self._pauses, self._cached_seconds
        seconds = find_pause_to_use(used, self.limits, self.policy, pauses=pauses, cached=cached)
        if seconds is not None:
            self._pause_at = self.api.clock.now + seconds

    def _advance(self, seconds: float) -> None:
        """Virtual time passes, until the user's next message."""
        later = self.api.clock.now + seconds
        if self._pause_at is not None and self._pause_at < later:
            self.api.clock.now = self._pause_at
            self._begin(Trigger.IDLE)
        self.api.clock.now = later
        self._settle()

    def _settle(self) -> None:
        """A preparation that has failed by now is counted."""
        done = self._preparation
        if done and done.written is None and done.ends <= self.api.clock.now:
            self._attempts.insert(0, (done.ends, True, done.turn))
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
            thinking_from=self._thinking_from,
            cache_ttl=choose_cache_ttl(
                self._pauses,
                self.limits.factor.apply(RawTokens(self._written)),
                count_bridged(self._pauses),
                self.policy.trigger_tokens(self.limits),
            ),
        )

    @property
    def _prompt(self) -> Message | None:
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
        tail = self.messages[self.through :]
        return sum(any(b["type"] == "tool_use" for b in m.blocks) for m in tail)

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
        attempts = [
            Attempt(EPOCH + timedelta(seconds=ended), failed, self._turns - turn)
            for ended, failed, turn in self._attempts[: self.policy.breaker_failures]
        ]
        return find_breaker_end(attempts, self.policy, self._now) is not None

    # --- Compaction -------------------------------------------------------------------------------

    def _swap(self) -> None:
        began = time.perf_counter()
        assert self._preparation
        self._commit(self._preparation)
        self.tally.locks.append(1000 * (time.perf_counter() - began))

    def _compact_now(self, trigger: Trigger, *, large: bool) -> None:
        """The turn waits: for the summary that is being written, or for a new one."""
        began = self.api.clock.now
        prepared = self._preparation if self.is_writing() else self._write(trigger)
        if prepared is None:
            return
        self.api.clock.now = max(began, prepared.ends)
        self.tally.locks.append(1000 * (self.api.clock.now - began))
        self.tally.blocking += not large
        self.tally.blocking_after_large += large
        if prepared.written is None:
            self._attempts.insert(0, (prepared.ends, True, prepared.turn))
            self._preparation = None
            return
        self._commit(prepared)

    def _begin(self, trigger: Trigger) -> bool:
        if not self.policy.enabled or self._preparation or self.is_breaker_open():
            return False
        self._preparation = self._write(trigger)
        return self._preparation is not None

    def _write(self, trigger: Trigger) -> Preparation | None:
        """`tasks.compact`: a new state of the summary, there when its calls have been answered."""
        metered = self.metered
        planned = plan_next(metered, self.policy, trigger)
        if planned is None:
            return None
        caller = Caller(self.api, self.api.clock.now)
        model = Model(self.model, self.limits, self.api.prices)
        job = Job(
            context=metered.context,
            plan=planned,
            chapters=self.chapters,
            used=metered.used,
            policy=self.policy,
            counter=self.counter,
            own=model,
            writer=model,
            warm=self.warm,
            ask=caller.complete,
            ask_own=caller.complete,
        )
        written: CompactedContext | None = None
        try:
            written = asyncio.run(compact(job))
            self.tally.failures += map(str, written.result.failures)
        except SummaryRejected as error:
            self.tally.failures.append(str(error))
        return Preparation(trigger, self._turns, caller.ends, written)

    def _commit(self, prepared: Preparation) -> None:
        assert prepared.written
        result, context = prepared.written.result, prepared.written.context
        self.api.spent.sizes_before.append(self.metered.used)
        self.chapters = result.chapters
        self.summary, self.through = context.summary, context.summary_through
        self._first = self.messages[0] if self.policy.keep_first_message else None
        self._report, self._preparation = None, None
        self._thinking_from = len(self.messages) + 1  # the older was written after another prompt
        self._attempts.insert(0, (prepared.ends, False, prepared.turn))
        self.tally.engines[result.engine] = self.tally.engines.get(result.engine, 0) + 1
        self.tally.depth = max(self.tally.depth, *(c.depth for c in self.chapters))
        self.lineage.follow(self.chapters)
        self.api.spent.sizes_after.append(self.metered.used)

    def _add(self, role: Role, blocks: list[Block], thinking: int = 0) -> None:
        line = self._tell_time() if blocks[0]["type"] == "text" and role == "user" else ""
        tokens = RawTokens(self.counter.count_blocks(blocks) + self.counter.count(line))
        number = len(self.messages) + 1
        self._written += tokens
        message = Message(
            number,
            role,
            blocks,
            tokens,
            thinking=RealTokens(thinking),
            at=self._now.timestamp(),
            zone=ZONE,
            time_line=line,
        )
        self.messages.append(message)
        self.times.append(self.api.clock.now)

    @property
    def _now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.api.clock.now)

    def _tell_time(self) -> str:
        """As `chat.services.times.tell_time`."""
        told = [m.at for m in self.messages[self.through :] if m.time_line]
        before = Told(told[-1], ZONE) if told else None
        last = self.messages[-1].at if self.messages else None
        return choose_line(before, Told(self._now.timestamp(), ZONE), last)
