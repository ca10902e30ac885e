"""When to compact and what: pure decisions. `agent.compaction.ladder` does the model's part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import dropwhile, takewhile
from typing import Literal

from agent.compaction.chapters import Summary
from agent.context.assemble import Context
from agent.context.previews import sent_tokens
from agent.limits import Limits
from agent.messages import Message

Trigger = Literal["auto", "manual", "overflow", "iterations", "tool", "model_switch"]

# Context budgets to choose from, in tokens; at most the model's window. At 80 % of a 1M window a
# turn costs about nine times as much as at 80 % of 200k.
PRESETS = {"economy": 75_000, "balanced": 200_000, "full": 10_000_000}
# After a compaction the context should be at most this share of the trigger, or the next one
# follows too soon.
TARGET_OF_TRIGGER = 0.5
MAX_CHAPTERS = 8  # of one level, before they are merged
AUTO, EXTRACT = "auto", "extract"
# How to begin: by fit and price, with a rung of `agent.compaction.rungs`, or by rule.
ENGINES = (AUTO, "warm prefix", "serialised", "chunks", "without oversized messages", EXTRACT)


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of compaction. Absolute sizes are tokens, and shrink with small budgets."""

    enabled: bool = True
    threshold_ratio: float = 0.80  # of the budget
    threshold_tokens: int = 0  # 0: off
    every_iterations: int = 0  # tool rounds; 0: off
    iterations_minimum: int = 20_000  # tokens for rounds to compact; at most 10 % of the budget
    keep_recent_iterations: int = 3
    held: bool = False  # after a revert: only the window itself, or the user, compacts

    keep_first_message: bool = True
    keep_recent_messages: int = 6
    keep_recent_tokens: int = 32_000

    summary_max_tokens: int = 2_000  # of one chapter: 500 is the compact form
    summary_total_tokens: int = 16_000  # of all chapters
    index_tokens: int = 2_000
    pin_tokens: int = 1_000
    engine: str = AUTO  # one of ENGINES: what to begin with
    input_characters: int = 0  # of the serialised text, for a cheap model; 0: what fits
    extract_on_failure: bool = True

    prepare_ratio: float = 0.85  # of the trigger: summarise in the background from here on; 0: off
    idle_ratio: float = 0.5  # of the trigger: prepare before the prompt cache expires; 0: off

    overflow_tries: int = 3
    breaker_failures: int = 3
    breaker_turns: int = 3  # so many compactions within so many turns are a loop
    breaker_seconds: int = 300

    def trigger_tokens(self, limits: Limits) -> int:
        """Context tokens at which automatic compaction starts."""
        tokens = int(self.threshold_ratio * limits.budget)
        return min(tokens, self.threshold_tokens) if self.threshold_tokens else tokens

    def target_tokens(self, limits: Limits) -> int:
        """Context tokens that a compaction should leave at most."""
        return int(TARGET_OF_TRIGGER * self.trigger_tokens(limits))

    def iterations_tokens(self, limits: Limits) -> int:
        """Context tokens from which a number of tool rounds compacts."""
        return min(self.iterations_minimum, limits.budget // 10)

    def prepare_tokens(self, limits: Limits) -> int:
        """Context tokens at which the next summary is prepared."""
        return int(self.prepare_ratio * self.trigger_tokens(limits))

    def idle_tokens(self, limits: Limits) -> int:
        """Context tokens from which a pause is used for a summary."""
        return int(self.idle_ratio * self.trigger_tokens(limits))

    def total_tokens(self, limits: Limits) -> int:
        """All chapters together: at most 15 % of the budget."""
        return min(self.summary_total_tokens, limits.budget * 15 // 100)

    def chapter_tokens(self, limits: Limits, written: int = 0, room: int | None = None) -> int:
        """Size of the next chapter where `written` tokens of chapters are there and `room` is left
        under the target: at most 10 % of the budget, and less the less room is left, so that the
        total is approached, not passed; down to the compact form."""
        most = min(self.summary_max_tokens, limits.budget // 10)
        left = self.total_tokens(limits) - written
        return max(min(500, most), min(most, left // 4, most if room is None else room))

    def merged_tokens(self, limits: Limits) -> int:
        """Size of a chapter that replaces several: a twelfth of all, so that there is room for
        eight of a level beside older ones, and merges do not come early and rewrite facts often."""
        most = self.chapter_tokens(limits)
        return max(min(500, most), min(most, self.total_tokens(limits) // 12))

    def pins_and_index(self, limits: Limits) -> tuple[int, int]:
        """Tokens of pins and of index: at most 3 and 6 % of the budget."""
        return (
            min(self.pin_tokens, limits.budget * 3 // 100),
            min(self.index_tokens, limits.budget * 6 // 100),
        )


@dataclass(frozen=True, slots=True)
class State:
    """What decides whether to compact: metered tokens, and tool rounds since the last one."""

    used: int
    limits: Limits
    iterations: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Every message is in exactly one of the two."""

    summarise: Sequence[Message]
    keep: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Attempt:
    """An ended automatic compaction: when, how, and how many turns ago."""

    ended_at: datetime
    failed: bool
    turns_ago: int


def due(state: State, policy: Policy) -> Trigger | None:
    """Whether a request needs a compaction first, and why."""
    if not policy.enabled:
        return None
    if state.used > state.limits.prompt_limit:
        return "auto"
    if policy.held:
        return None
    if state.used >= policy.trigger_tokens(state.limits):
        return "auto"
    many_rounds = policy.every_iterations and state.iterations >= policy.every_iterations
    if many_rounds and state.used >= policy.iterations_tokens(state.limits):
        return "iterations"
    return None


def wants_preparation(used: int, limits: Limits, policy: Policy) -> bool:
    """After a reply: whether the context is so near its trigger that a summary is prepared."""
    return policy.prepare_ratio > 0 and used >= policy.prepare_tokens(limits)


def wants_pause(used: int, limits: Limits, policy: Policy, *, returned: bool) -> bool:
    """After a reply: whether a pause should be used for a summary; only for large contexts of users
    who have `returned` after a pause before."""
    large = policy.idle_ratio > 0 and used >= policy.idle_tokens(limits)
    return policy.enabled and large and returned


def wants_swap(trigger: Trigger | None, *, warm: bool, in_pause: bool) -> bool:
    """Before a request: whether a prepared summary becomes current: where one is due, and where it
    was made in a pause, with the cached prefix gone, so that a new one costs no more."""
    return trigger is not None or (in_pause and not warm)


def resting_until(attempts: Sequence[Attempt], policy: Policy, now: datetime) -> datetime | None:
    """The end of the breaker's rest, None where automatic compaction may run. `attempts` are the
    last ones, newest first: after too many failures in a row, or too many within a few turns."""
    last = attempts[: policy.breaker_failures]
    if len(last) < policy.breaker_failures:
        return None
    looping = last[-1].turns_ago <= policy.breaker_turns
    if not all(attempt.failed for attempt in last) and not looping:
        return None
    until = last[0].ended_at + timedelta(seconds=policy.breaker_seconds)
    return until if until > now else None


def plan(
    messages: Sequence[Message],
    policy: Policy,
    limits: Limits,
    *,
    fixed: int,
    first: Message | None = None,
    trigger: Trigger = "auto",
) -> Plan | None:
    """Cut the messages after the current summary into those to summarise and the kept tail.

    What stays in the prompt anyway is `fixed`, system prompt and summary in tokens, and `first`,
    see `protected_first`. The tail is the last exchange, then up to `keep_recent_messages` or
    `keep_recent_tokens` while the context stays under its target. Asked for by a person, or
    because the window is full, a compaction that would find nothing keeps the last exchange only.
    The cut never separates a tool call from its result. Where a long turn of tool rounds alone is
    too large, only its newest rounds are kept. None: fewer than two messages to summarise.
    """
    room = policy.target_tokens(limits) - fixed - policy.chapter_tokens(limits)
    if first:
        room -= sent_tokens(first, limits)
    keep_tokens = min(policy.keep_recent_tokens, limits.budget // 5)
    if trigger == "iterations":
        cut = _start_of_round(messages, policy.keep_recent_iterations)
    else:
        cut = _start_of_tail(messages, limits, policy.keep_recent_messages, keep_tokens, room)
    if cut < 2 and trigger != "auto":
        cut = _start_of_tail(messages, limits, 0, 0, 0)
    if sum(sent_tokens(message, limits) for message in messages[cut:]) > room:
        cut = max(cut, _start_of_fitting_rounds(messages, policy, limits, room))
    return Plan(messages[:cut], messages[cut:]) if cut >= 2 else None


def protected_first(context: Context, policy: Policy) -> Message | None:
    """The first user message, which stays in the prompt when the summary covers it."""
    if context.summary_through or not policy.keep_first_message:
        return context.first
    return next((m for m in context.messages[:1] if m.is_prompt), None)


def compacted(context: Context, done: Plan, summary: Summary, policy: Policy) -> Context:
    """The context with `summary` in the place of what a plan summarised."""
    return replace(
        context,
        summary=summary,
        summary_through=done.summarise[-1].number,
        first=protected_first(context, policy),
        prompt=running_prompt(context, done),
        messages=done.keep,
        thinking_from=max((m.number for m in done.keep), default=0) + 1,  # bound to the old prefix
    )


def running_prompt(context: Context, done: Plan) -> Message | None:
    """What the running turn answers, where only rounds of that turn are kept."""
    if any(message.is_prompt for message in done.keep):
        return None
    return next((m for m in reversed(done.summarise) if m.is_prompt), context.prompt)


def _start_of_tail(
    messages: Sequence[Message], limits: Limits, keep_messages: int, keep_tokens: int, room: int
) -> int:
    """Index of the first kept message."""
    prompts = [i for i, message in enumerate(messages) if message.is_prompt]
    start = _before_call(messages, prompts[-1] if prompts else max(0, len(messages) - 1))
    cut = start
    tokens = sum(sent_tokens(message, limits) for message in messages[start:])
    while start > 0:
        tokens += sent_tokens(messages[start - 1], limits)
        wanted = len(messages) - start < keep_messages or tokens <= keep_tokens
        if not wanted or tokens > room:
            break
        start -= 1
        if not _separates(messages, start):
            cut = start
    return cut


def _start_of_round(messages: Sequence[Message], rounds: int) -> int:
    """Index of the call that begins the last `rounds` tool rounds."""
    calls = [i for i, m in enumerate(messages) if any(b["type"] == "tool_use" for b in m.blocks)]
    return _before_call(messages, calls[-rounds]) if len(calls) >= rounds > 0 else 0


def _start_of_fitting_rounds(
    messages: Sequence[Message], policy: Policy, limits: Limits, room: int
) -> int:
    """Index of the call that begins the newest rounds of the last turn which fit, one at least; 0
    where it has no more than that."""
    begun = max((i for i, message in enumerate(messages) if message.is_prompt), default=0)
    for rounds in range(policy.keep_recent_iterations, 0, -1):
        start = _start_of_round(messages, rounds)
        kept = sum(sent_tokens(message, limits) for message in messages[start:])
        if start > begun + 1 and (kept <= room or rounds == 1):
            return start
    return 0


def _before_call(messages: Sequence[Message], start: int) -> int:
    """The nearest earlier place that separates no call from its results: over budget beats
    splitting."""
    while _separates(messages, start):
        start -= 1
    return start


def _separates(messages: Sequence[Message], cut: int) -> bool:
    """Whether a call before the cut is answered after it. As the API pairs them, the results are
    in the user's messages right after the assistant's."""
    if cut == 0 or (messages[cut - 1].role, messages[cut].role) == ("user", "assistant"):
        return False
    before = takewhile(_is_assistant, dropwhile(_is_user, reversed(messages[:cut])))
    after = takewhile(_is_user, dropwhile(_is_assistant, messages[cut:]))
    calls = {b["id"] for m in before for b in m.blocks if b["type"] == "tool_use"}
    results = {b["tool_use_id"] for m in after for b in m.blocks if b["type"] == "tool_result"}
    return bool(calls & results)


def _is_user(message: Message) -> bool:
    return message.role == "user"


def _is_assistant(message: Message) -> bool:
    return message.role == "assistant"
