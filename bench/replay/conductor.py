"""One conversation, turn by turn, through the engine's own functions and without a database.

Decisions are `agent.compaction.plan`'s; what is mirrored here is the order in which
`chat.services.requests` and `chat.services.preparations` ask for them. `bench.replay.services` plays
the same turns through those services, and the requests must come out the same, byte for byte.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any

from agent.compaction.chapters import (
    Chapter,
    Summary,
    render,
)
from agent.compaction.job import (
    Job,
    Result,
    Writer,
)
from agent.compaction.ladder import summarise
from agent.compaction.plan import (
    Attempt,
    Plan,
    Policy,
    State,
    Trigger,
    compacted,
    due,
    plan,
    protected_first,
    resting_until,
    wants_pause,
    wants_preparation,
    wants_swap,
)
from agent.compaction.write import SummaryRejected
from agent.context.assemble import (
    Context,
    Size,
    assemble,
    measure,
    trim,
)
from agent.context.pruning import plan_pruning
from agent.context.request import (
    CACHE_SECONDS,
    cache_ttl,
)
from agent.limits import Limits
from agent.messages import Block, Message, Role, Usage
from agent.tokens import TokenCounter
from bench.replay.api import Caller, ScriptedApi
from bench.replay.conversations import Exchange

IDLE_MARGIN_SECONDS = 30.0
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class RememberingCounter(TokenCounter):
    """Counts a text once: the replays repeat texts, and each request measures the summary."""

    @lru_cache(maxsize=20_000)  # noqa: B019 - it lives as long as the benchmark
    def count(self, text: str) -> int:
        return super().count(text)


@dataclass
class Preparation:
    """A summary that is being written until virtual second `ends`; no chapters: it failed."""

    in_pause: bool
    plan: Plan
    turn: int
    ends: float
    result: Result | None
    summary: Summary


@dataclass
class Tally:
    """What happened. `locks`: milliseconds that a turn was held for each automatic compaction."""

    locks: list[float] = field(default_factory=list)
    blocking: int = 0
    blocking_after_large: int = 0  # where the turn itself added over a tenth of the budget
    trimmed: int = 0
    failures: list[str] = field(default_factory=list)
    engines: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    tokens_after: list[int] = field(default_factory=list)
    resting: int = 0
    dollars: list[float] = field(default_factory=list)  # in all, after each turn

    @property
    def compactions(self) -> int:
        return sum(self.engines.values())


class Conductor:
    """A conversation in memory. Times are virtual seconds, sizes tokens."""

    def __init__(
        self, api: ScriptedApi, policy: Policy, limits: Limits, counter: TokenCounter, model: str
    ) -> None:
        self.api, self.policy, self.counter, self.model = api, policy, counter, model
        self.limits = limits
        self.messages: list[Message] = []
        self.times: list[float] = []
        self.chapters: list[Chapter] = []
        self.summary = Summary()
        self.through = 0  # number of the last message in the summary
        self.tally = Tally()
        self._first: Message | None = None
        self._pruned_through = 0
        self._reported: Usage | None = None
        self._reported_messages = 0  # messages that the report covers
        self._preparation: Preparation | None = None
        self._pause_at: float | None = None
        self._attempts: list[tuple[float, bool, int]] = []  # (ended, failed, turn), newest first
        self._turns = 0

    # --- One turn ---------------------------------------------------------------------------------

    def play(self, exchange: Exchange, gap: float) -> None:
        """A pause, a user's message, the tools' rounds and the answer."""
        self._advance(gap)
        self._turns += 1
        self._add("user", [_text(exchange.user)])
        size = self.messages[-1].tokens
        for number, output in enumerate(exchange.tools):
            call_id = f"toolu_{len(self.messages)}_{number}"
            call = {"type": "tool_use", "id": call_id, "name": "run", "input": {"n": number}}
            self._add("assistant", [call])
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
            self._add("user", [result])
            size += self.messages[-1].tokens
        context = self._opening(large=self.limits.factor.apply(size) > self.limits.budget / 10)
        self._ask(context, exchange.answer)
        self._follow_up()
        self.tally.dollars.append(self.api.dollars)

    def _opening(self, *, large: bool) -> Context:
        """`requests.begin_answer` and what the turn makes of it: the context to send."""
        self._relieve()
        trigger = self._due()
        if trigger and not (self._fits and self._writing):
            if self._rests():
                self.tally.resting += 1
            else:
                self._compact_now(trigger, large=large)
        context = self.context
        if not self._fits:
            context = trim(context, self.counter, self.used)
            self.tally.trimmed += bool(context.omitted)
        return context

    def _ask(self, context: Context, answer: str) -> None:
        size = measure(context, self.counter)
        raw = sum(m.tokens for m in context.messages)
        raw += int(size.fixed / self.limits.factor.value)
        version = (self.tally.compactions, self._pruned_through, context.omitted)
        usage = Usage.from_api(self.api.answer(assemble(context), answer, version))
        self._add("assistant", [_text(answer)])
        self._reported, self._reported_messages = usage, len(self.messages)
        self.limits = replace(self.limits, factor=self.limits.factor.learn(raw, usage.prompt))

    def _follow_up(self) -> None:
        """`preparing.prepare_if_due` and `preparing.pause_wanted`, after a reply."""
        self._pause_at = None
        if wants_preparation(self.used, self.limits, self.policy) and self._begin(in_pause=False):
            return
        returned = any(pause > CACHE_SECONDS["5m"] for pause in self._pauses)
        if wants_pause(self.used, self.limits, self.policy, returned=returned):
            self._pause_at = self.api.clock.now + self._cached_seconds - IDLE_MARGIN_SECONDS

    def _advance(self, seconds: float) -> None:
        """Virtual time passes, until the user's next message."""
        later = self.api.clock.now + seconds
        if self._pause_at is not None and self._pause_at < later:
            self.api.clock.now = self._pause_at
            self._begin(in_pause=True)
        self.api.clock.now = later
        done = self._preparation
        if done and done.result is None and done.ends <= later:
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
            messages=self.messages[self.through :],
            pruned_through=self._pruned_through,
            cache_ttl=cache_ttl(self._pauses),
        )

    @property
    def _pauses(self) -> list[float]:
        """Seconds before each of the user's messages in the tail, but the first."""
        times = self.times[self.through :]
        users = (message.role == "user" for message in self.messages[self.through + 1 :])
        return [b - a for (a, b), user in zip(pairwise(times), users, strict=False) if user]

    @property
    def _cached_seconds(self) -> float:
        hour = self._reported is not None and self._reported.ephemeral_1h_input_tokens
        return CACHE_SECONDS["1h" if hour else "5m"]

    @property
    def size(self) -> Size:
        return measure(self.context, self.counter)

    @property
    def used(self) -> int:
        """The meter: the last report that still holds, and an estimate of what is newer."""
        if self._reported is None:
            return self.size.total
        newer = self.messages[self._reported_messages :]
        return self._reported.total + sum(self.limits.factor.apply(m.tokens) for m in newer)

    @property
    def _warm(self) -> bool:
        """Whether the server still has the last request: by the time of its reply."""
        if self._reported is None:
            return False
        return self.api.clock.now - self.times[self._reported_messages - 1] < self._cached_seconds

    @property
    def _fits(self) -> bool:
        return self.used <= self.limits.prompt_limit

    @property
    def _writing(self) -> bool:
        return self._preparation is not None and self._preparation.ends > self.api.clock.now

    @property
    def _ready(self) -> Preparation | None:
        return None if self._writing else self._preparation

    def _due(self) -> Trigger | None:
        tail = self.messages[self.through :]
        rounds = sum(any(b["type"] == "tool_use" for b in m.blocks) for m in tail)
        return due(State(self.used, self.limits, rounds), self.policy)

    def _rests(self) -> bool:
        attempts = [
            Attempt(EPOCH + timedelta(seconds=ended), failed, self._turns - turn)
            for ended, failed, turn in self._attempts[: self.policy.breaker_failures]
        ]
        now = EPOCH + timedelta(seconds=self.api.clock.now)
        return resting_until(attempts, self.policy, now) is not None

    # --- Compaction -------------------------------------------------------------------------------

    def _relieve(self) -> None:
        """`preparing.relieve`: swap a prepared summary in, or prune."""
        began = time.perf_counter()
        trigger, prepared = self._due(), self._ready
        if prepared and wants_swap(trigger, warm=self._warm, in_pause=prepared.in_pause):
            self._commit(prepared)
            self.tally.locks.append(1000 * (time.perf_counter() - began))
            return
        if not trigger:
            return
        pruning = plan_pruning(
            self.context.messages,
            self._pruned_through,
            self.limits,
            self.counter,
        )
        if pruning:
            self._pruned_through, self._reported = pruning.through, None

    def _compact_now(self, trigger: Trigger, *, large: bool) -> None:
        """The turn waits: for the summary that is being written, or for a new one."""
        began = self.api.clock.now
        prepared = self._preparation if self._writing else self._write(trigger, in_pause=False)
        if prepared is None:
            return
        self.api.clock.now = max(began, prepared.ends)
        self.tally.locks.append(1000 * (self.api.clock.now - began))
        self.tally.blocking += not large
        self.tally.blocking_after_large += large
        if prepared.result is None:
            self._attempts.insert(0, (prepared.ends, True, prepared.turn))
            self._preparation = None
            return
        self._commit(prepared)

    def _begin(self, *, in_pause: bool) -> bool:
        if not self.policy.enabled or self._preparation or self._rests():
            return False
        self._preparation = self._write("auto", in_pause=in_pause)
        return self._preparation is not None

    def _write(self, trigger: Trigger, *, in_pause: bool) -> Preparation | None:
        """`tasks.compact`: a new state of the summary, there when its calls have been answered."""
        context, size = self.context, self.size
        planned = plan(
            context.messages,
            self.policy,
            self.limits,
            fixed=size.fixed,
            first=protected_first(context, self.policy),
            trigger=trigger,
        )
        if planned is None:
            return None
        caller = Caller(self.api, self.api.clock.now)
        prices = self.api.prices
        writer = Writer(caller, self.model, self.limits, prices.input, prices.cache_read)
        job = Job(
            context=context,
            plan=planned,
            chapters=self.chapters,
            used=self.used,
            policy=self.policy,
            counter=self.counter,
            own=writer,
            writer=writer,
            warm=self._warm,
            originals=self._originals,
        )
        result: Result | None = None
        summary = Summary()
        try:
            result = asyncio.run(summarise(job))
            self.tally.failures += result.failures
            summary = self._rendered(result.chapters)
            after = compacted(context, planned, summary, self.policy)
            if measure(after, self.counter).total >= job.used:
                self.tally.failures.append("not smaller")
                result = None
        except SummaryRejected as error:
            self.tally.failures.append(str(error))
        return Preparation(in_pause, planned, self._turns, caller.ends, result, summary)

    async def _originals(self, first: int, through: int) -> Sequence[Message]:
        return self.messages[first - 1 : through]

    def _rendered(self, chapters: Sequence[Chapter]) -> Summary:
        pins, index = self.policy.pins_and_index(self.limits)
        factor = self.limits.factor.value
        return render(
            chapters,
            pin_tokens=int(pins / factor),
            index_tokens=int(index / factor),
            counter=self.counter,
        )

    def _commit(self, prepared: Preparation) -> None:
        assert prepared.result is not None
        context = compacted(self.context, prepared.plan, prepared.summary, self.policy)
        self.chapters = prepared.result.chapters
        self.summary, self.through = context.summary, context.summary_through
        self._first = self.messages[0] if self.policy.keep_first_message else None
        self._reported, self._preparation = None, None
        self._attempts.insert(0, (prepared.ends, False, prepared.turn))
        engine = prepared.result.engine
        self.tally.engines[engine] = self.tally.engines.get(engine, 0) + 1
        self.tally.depth = max(self.tally.depth, *(c.depth for c in self.chapters))
        self.tally.tokens_after.append(self.used)

    def _add(self, role: Role, blocks: list[Block]) -> None:
        tokens = self.counter.count_blocks(blocks)
        self.messages.append(Message(len(self.messages) + 1, role, blocks, tokens))
        self.times.append(self.api.clock.now)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
