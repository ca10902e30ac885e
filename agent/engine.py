"""The one way into the engine: from a conversation as it is to the next step.

Meter the context, ask for the next step, do it, and ask again until the step is to send. Nothing
here reads a clock, a database or a network; only `run_compaction` asks a model.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.compaction.failures import SummaryRejected
from agent.compaction.ladder import rewrite, summarise
from agent.compaction.plan import (
    Plan,
    apply_compaction,
    find_protected_first,
    plan_compaction,
    render_chapters,
)
from agent.compaction.policy import BACKGROUND, ContextLoad, Extent, Policy, Trigger, find_trigger
from agent.compaction.writing.deadline import OutOfTime, finish_in_time
from agent.compaction.writing.job import Job, WrittenSummary
from agent.context.assemble import Context, Size, measure
from agent.context.request import CACHE_SECONDS, find_long_pause
from agent.context.shortening.previews import decide_cuts, sum_sent_tokens
from agent.context.shortening.pruning import Pruning, plan_pruning
from agent.context.shortening.trimming import shorten_turn, trim
from agent.context.summary import Summary
from agent.errors import gettext_noop
from agent.messages import AgentMessage, RawTokens, RealTokens, Usage
from agent.tokens import Factor, Limits, TokenCounter, is_believable, is_output_believable

# Before the cache expires, so that a summary and its correction are there when it does. One that
# comes later is used with all that was written meanwhile, and the cold turn writes the old prefix.
PAUSE_MARGIN_SECONDS = 180.0


# --- The meter ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the server reported with message `number`, of the context as it still is. `thinking`:
    tokens of its output that many models read only while its turn runs. `complete`: the report
    came at the reply's end, and counts its text."""

    number: int
    usage: Usage
    thinking: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class MeteredContext:
    """A context with its size. `size` is the estimate of its parts, `used` what the meter says of
    the whole, `unreported` how much of that is an estimate, `estimated` whether any is, and
    `doubted` whether the server reported too little to be believed."""

    context: Context
    size: Size
    used: RealTokens
    unreported: RealTokens
    estimated: bool
    doubted: bool = False

    @property
    def limits(self) -> Limits:
        return self.context.limits

    @property
    def fits(self) -> bool:
        return self.used <= self.limits.request_limit


def meter(
    context: Context, counter: TokenCounter, report: UsageReport | None = None
) -> MeteredContext:
    """The last report and an estimate of what is newer; an estimate of everything where no report
    describes the context any more, or the report cannot be true."""
    size = measure(context, counter)
    if report is None:
        return MeteredContext(context, size, size.total, size.total, estimated=True)
    start = len(context.messages)
    while start and context.messages[start - 1].number >= report.number:
        start -= 1
    after = context.messages[start:]
    certain = _certain_before(context, size, after)
    if not is_believable(report.usage.request_tokens, certain, context.limits.factor):
        return MeteredContext(context, size, size.total, size.total, estimated=True, doubted=True)
    doubted = report.complete and not _believes_output(context, report, after)
    if report.complete and not doubted:
        newer = sum_sent_tokens([m for m in after if m.number > report.number], context.limits)
        in_turn = context.messages[-1].holds_tool_results
        kept = context.keeps_thinking and report.number >= context.thinking_from
        used = report.usage.total - (0 if in_turn or kept else report.thinking) + newer
        return MeteredContext(context, size, RealTokens(used), newer, estimated=newer > 0)
    # The report came with the first event, before most of the text, or counts too little of it.
    newer = sum_sent_tokens(after, context.limits)
    used = report.usage.request_tokens + newer
    return MeteredContext(context, size, RealTokens(used), newer, estimated=True, doubted=doubted)


def _believes_output(context: Context, report: UsageReport, after: Sequence[AgentMessage]) -> bool:
    """Whether the reply that `after` begins with can have had as few tokens as were reported."""
    written = [message for message in after[:1] if message.number == report.number]
    output, factor = report.usage.output_tokens, context.limits.factor
    return all(is_output_believable(output, message, factor) for message in written)


def _certain_before(context: Context, size: Size, after: Sequence[AgentMessage]) -> RealTokens:
    """What the request that `after` followed held for certain."""
    countable = [message for message in after if message.is_countable]
    return RealTokens(size.certain - sum_sent_tokens(countable, context.limits))


# --- Before a request -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """The context fits: send it."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Make the prepared summary the current one, which takes no wait. Ask again then."""


@dataclass(frozen=True, slots=True)
class Prune:
    """Send old tool results as previews from now on. Ask again then."""

    pruning: Pruning


@dataclass(frozen=True, slots=True)
class Compact:
    """Wait for the summary that is being written, or for a new one. Then `send_or_trim`, however it
    ended: a turn compacts once before a request."""

    trigger: Trigger


@dataclass(frozen=True, slots=True)
class BreakerOpen:
    """A compaction is due, but the circuit breaker is open: say so. `send_or_trim` then."""


@dataclass(frozen=True, slots=True)
class Trim:
    """Leave the oldest turns out of this one request, down to `most` tokens."""

    most: RealTokens


Step = Send | Swap | Prune | Compact | BreakerOpen | Trim


class Situation(Protocol):
    """What decides besides the context. The methods are called only where it matters: each may cost
    a query."""

    @property
    def asked(self) -> bool:
        """Whether the model asked for a compaction in this turn."""

    @property
    def rounds(self) -> int:
        """Tool rounds since the last compaction."""

    @property
    def warm(self) -> bool:
        """Whether the server still caches the last request."""

    def find_prepared(self) -> Trigger | None:
        """The trigger of a prepared summary that can become current now; None: there is none."""

    def is_writing(self) -> bool:
        """Whether a summary is being prepared at this moment."""

    def is_breaker_open(self) -> bool:
        """Whether automatic compactions recently failed, or came, too often."""


def next_step(
    metered: MeteredContext, policy: Policy, situation: Situation, counter: TokenCounter
) -> Step:
    """What to do before the next request, the cheapest step first: swap, prune, compact, and where
    none of these is due or possible, send what fits."""
    if situation.asked and not situation.is_breaker_open():
        return Compact(Trigger.TOOL)
    load = ContextLoad(metered.used, metered.limits, situation.rounds, metered.context.recent_count)
    trigger = find_trigger(load, policy)
    if policy.enabled and _swaps(metered, policy, situation, trigger):
        return Swap()
    pruning = _pruning(metered, policy, situation, counter, trigger)
    if pruning and not (situation.warm and pruning.is_dear):
        return Prune(pruning)
    if situation.asked:
        return BreakerOpen()
    # While a summary is being prepared, a context that fits need not wait for it.
    if trigger and not (metered.fits and situation.is_writing()):
        resting = situation.is_breaker_open()
        # Just over the trigger it need not either: after the reply, the preparation begins.
        full = trigger != Trigger.AUTO or metered.used >= policy.waiting_tokens(metered.limits)
        if pruning and (resting or full):
            return Prune(pruning)  # dear, but nobody waits
        if resting:
            return BreakerOpen()
        if full:
            return Compact(trigger)
    return send_or_trim(metered)


def _swaps(
    metered: MeteredContext, policy: Policy, situation: Situation, trigger: Trigger | None
) -> bool:
    """Whether a prepared summary becomes current: where one is due; and where it was made in a
    pause and one would soon be due, or the pause outlived the cache, so that the new prefix costs
    no more than the old one would."""
    if trigger:
        return situation.find_prepared() is not None
    near = metered.used >= policy.near_tokens(metered.limits)
    cold = metered.used >= policy.idle_tokens(metered.limits) and not situation.warm
    return (near or cold) and situation.find_prepared() == Trigger.IDLE


def _pruning(
    metered: MeteredContext,
    policy: Policy,
    situation: Situation,
    counter: TokenCounter,
    trigger: Trigger | None,
) -> Pruning | None:
    """The next batch: at a trigger; and below it where the prefix is written anyway, right after a
    summary or when the cache is cold. Then the results in what should stay word for word stay."""
    context = metered.context
    if trigger is None and not _rewrites_anyway(metered, policy, situation):
        return None
    return plan_pruning(
        context.messages,
        context.pruned_through,
        context.limits,
        counter,
        uncached=not situation.warm,
        keep_tokens=0 if trigger else policy.recent_tokens(context.limits),
    )


def _rewrites_anyway(metered: MeteredContext, policy: Policy, situation: Situation) -> bool:
    """Whether nothing of a long conversation is cached."""
    large = metered.used >= policy.idle_tokens(metered.limits) or metered.context.summary_through
    return bool(policy.enabled and large) and not situation.warm


def send_or_trim(metered: MeteredContext, most: int | None = None) -> Send | Trim:
    """What to do where nothing can be compacted any more. `most`: tokens that the server takes,
    where it has said that they are fewer."""
    limit = metered.limits.request_limit
    limit = limit if most is None else min(limit, most)
    return Send() if metered.used <= limit else Trim(RealTokens(limit))


def trim_if_needed(
    metered: MeteredContext, counter: TokenCounter, most: int | None = None
) -> Context:
    """The context as `send_or_trim` has it sent: itself, or without its oldest turns, and where its
    last one alone is too large, with the results of that turn's tools shortened."""
    step = send_or_trim(metered, most)
    if isinstance(step, Send):
        return metered.context
    trimmed = trim(metered.context, counter, metered.used, step.most)
    missed = max(0, metered.used - metered.size.total)  # by the estimate
    return shorten_turn(trimmed, counter, step.most - missed)


def decide_sent_cuts(context: Context) -> dict[int, float]:
    """What is to be remembered of how the long messages of a request are cut, by their numbers; see
    `decide_cuts`."""
    limits = context.limits
    return decide_cuts(context.opening, limits) | decide_cuts(context.messages, limits)


def measure_sent(metered: MeteredContext, sent: Context, counter: TokenCounter) -> RealTokens:
    """The estimate of what `trim_if_needed` made of a context. A reply's reported request teaches
    the factor by it."""
    return metered.size.total if sent is metered.context else measure(sent, counter).total


# --- After a reply --------------------------------------------------------------------------------


def learn_from_reply(factor: Factor, raw: RawTokens, usage: Usage, reply: AgentMessage) -> Factor:
    """The factor after a reply to a request of `raw` tokens: the same where its server reported
    fewer tokens of output than the reply holds."""
    if not is_output_believable(usage.output_tokens, reply, factor):
        return factor
    return factor.learn(raw, usage.request_tokens)


def wants_preparation(used: int, limits: Limits, policy: Policy, messages: int = 0) -> bool:
    """After a reply: whether the context, with so many messages after the summary, is so near a
    trigger that a summary is prepared."""
    near = used >= policy.prepare_tokens(limits) or messages >= policy.prepare_messages()
    return policy.prepare_ratio > 0 and near


def find_pause_to_use(
    used: int, limits: Limits, policy: Policy, *, pauses: Sequence[float], cached: float
) -> float | None:
    """After a reply: in how many seconds a summary is prepared if the user has not come back; None:
    not at all. Only for large contexts of users who came back after `pauses` (seconds) of which one
    outlived the short cache. `cached`: for how many seconds the server caches the request."""
    large = policy.idle_ratio > 0 and used >= policy.idle_tokens(limits)
    returned = find_long_pause(pauses) is not None
    if used >= policy.near_tokens(limits):
        cached = CACHE_SECONDS["5m"]
    return cached - PAUSE_MARGIN_SECONDS if policy.enabled and large and returned else None


# --- A compaction ---------------------------------------------------------------------------------


def plan_next(
    metered: MeteredContext,
    policy: Policy,
    trigger: Trigger = Trigger.AUTO,
    extent: Extent = Extent.THOROUGH,
) -> Plan | None:
    """What a compaction would summarise and keep now, of that `extent` where a person asks for it;
    None: too little to summarise. One that is prepared is used at the trigger: until then
    more messages come."""
    context = metered.context
    coming = 0
    if trigger == Trigger.PREPARED:
        coming = policy.coming_tokens(context.limits, metered.used)
    return plan_compaction(
        context.messages,
        policy,
        context.limits,
        fixed=metered.size.fixed,
        first=find_protected_first(context, policy),
        trigger=Trigger.AUTO if trigger in BACKGROUND else trigger,
        extent=extent,
        coming=coming,
    )


@dataclass(frozen=True, slots=True)
class CompactedContext:
    """A written summary, and the context with it, of `tokens`."""

    result: WrittenSummary
    summary: Summary
    context: Context
    tokens: RealTokens


Count = Callable[[Context], Awaitable[int | None]]


async def run_compaction(
    job: Job, *, before: int = 0, count: Count | None = None
) -> CompactedContext:
    """Write the next state of the summary. Stores nothing. `count` asks the server for the size of
    the new context, where it can tell. Raises AgentError, and SummaryRejected where no summary
    came of it or the context would not be smaller than it is, or than `before`."""
    result = await summarise(job)
    summary = render_chapters(result.chapters, job.policy, job.context.limits, job.counter)
    context = apply_compaction(job.context, job.plan, summary, job.policy)
    counted = await _count_in_time(job, count(context)) if count else None
    tokens = RealTokens(counted) if counted else measure(context, job.counter).total
    if tokens >= max(job.used, before):
        raise SummaryRejected(gettext_noop("it would not have made the context smaller"))
    return CompactedContext(result, summary, context, tokens)


async def _count_in_time(job: Job, counted: Awaitable[int | None]) -> int | None:
    try:
        return await finish_in_time(counted, job.time_up)
    except OutOfTime:
        return None


async def rewrite_chapter(job: Job) -> WrittenSummary:
    """Write a chapter again in its place, from those of its messages that are left: the last one of
    the result. Stores nothing. Raises AgentError, and SummaryRejected where no text came of it."""
    return await rewrite(job)
