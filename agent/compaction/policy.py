"""When to compact, and how: the settings, the triggers and the circuit breaker. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import inf

from agent.errors import gettext_noop
from agent.messages import RealTokens
from agent.tokens import Limits


class Trigger(StrEnum):
    """When a compaction comes. The values are stored."""

    AUTO = "auto"
    MANUAL = "manual"
    PREPARED = "prepared"  # in the background, near the trigger
    IDLE = "idle"  # in the background, in a pause
    OVERFLOW = "overflow"  # the API called the request too long
    ITERATIONS = "iterations"  # many tool rounds
    MESSAGES = "messages"  # many of them, however short
    TOOL = "tool"  # the model asked for it
    MODEL_SWITCH = "model_switch"


class Origin(StrEnum):
    """What made a version of a summary. The values are stored."""

    # It covers more messages than the version before: only such a one makes room.
    COMPACTION = "compaction"
    EDIT = "edit"  # the user's own hand
    REBUILT = "rebuilt"  # in the background: a chapter that lost its text was written again
    REWRITE = "rewrite"  # an administrator had it written again, compares and decides


# Begun where nobody waits.
BACKGROUND = (Trigger.PREPARED, Trigger.IDLE)


class Extent(StrEnum):
    """How much a person's own compaction summarises."""

    THOROUGH = "thorough"
    GENTLE = "gentle"


class Method(StrEnum):
    """How a summary is written: from the best way to the last resort. The values are stored."""

    AUTO = "auto"  # as a setting: by fit and price
    WARM_PREFIX = "warm prefix"
    SERIALISED = "serialised"
    CHUNKS = "chunks"
    WITHOUT_OVERSIZED = "without oversized messages"
    EXTRACT = "extract"  # by rule, without a model
    EDITED = "edited"  # by the user


class ChapterForm(StrEnum):
    """What a chapter looks like. The values are stored."""

    FULL = "full"
    SHORT = "short"  # five parts within a hard limit


class Reason(StrEnum):
    """Why a method was used. The values are stored; `REASON_WORDS` are for people."""

    BY_SETTING = "by setting"
    BY_USER = "by the user"
    NOT_CACHED = "not cached"
    NOT_IN_PREFIX = "not in prefix"
    TOO_LARGE = "too large"
    TOO_MANY_PARTS = "too many parts"
    PRICE = "price"
    FAILURE = "failure"
    TIME_UP = "time up"
    NOT_AGREED = "not agreed"


REASON_WORDS: dict[str, str] = {
    Reason.BY_SETTING: gettext_noop("The settings say so."),
    Reason.BY_USER: gettext_noop("The user edited it."),
    Reason.NOT_CACHED: gettext_noop("The server does not cache the conversation now."),
    Reason.NOT_IN_PREFIX: gettext_noop("Its messages are no longer in the conversation's request."),
    Reason.TOO_LARGE: gettext_noop("The request would not fit the model's window."),
    Reason.TOO_MANY_PARTS: gettext_noop("The records of so many parts would not fit."),
    Reason.PRICE: gettext_noop("It costs less."),
    Reason.FAILURE: gettext_noop("The way before it failed."),
    Reason.TIME_UP: gettext_noop("The time that anybody waits for a summary was up."),
    Reason.NOT_AGREED: gettext_noop(
        "It came from elsewhere, and its owner has not agreed to the price of having it read."
    ),
}
# What a site can set.
METHODS = tuple(method for method in Method if method != Method.EDITED)
# Context budgets to choose from, in tokens; at most the model's window. At 80 % of a 1M window a
# turn costs nine times as much as at 80 % of 200k.
PRESETS = {"economy": 75_000, "balanced": 200_000, "full": 10_000_000}
# After a compaction the context should be at most this share of the trigger, or the next one
# follows too soon.
TARGET_OF_TRIGGER = 0.5
SHORT_TOKENS = 500  # of a chapter in the short form: nothing longer is stored
# Of the trigger: beyond that a turn waits for a summary. Up to there its request is sent and a
# summary prepared, so that nobody waits although preparations begin at the trigger itself.
WAITING_RATIO = 1.1
# Of the trigger: with less room above it, as where the budget is the window, a summary is prepared
# that much before it, though not before the second, so that it is there in time.
PREPARE_ROOM, PREPARE_FROM = 0.25, 0.85
# Of the recent messages' tokens: a summary is prepared so many before the trigger, and keeps as
# many fewer. It is used at the trigger, and as many are there then as should be.
PREPARE_LEAD = 0.25
# Of the recent messages: what a preparation counts on at most to come before it is used.
MOST_COMING = 0.5
# Of the trigger: from here on any pause is used for the summary that is soon due.
NEAR = 0.875


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of compaction. Absolute sizes are tokens, and shrink with small budgets."""

    enabled: bool = True
    threshold_ratio: float = 0.80  # of the budget
    threshold_tokens: int = 0  # 0: off
    every_iterations: int = 0  # tool rounds; 0: off
    iterations_minimum: int = 20_000  # tokens for rounds to compact; at most 10 % of the budget
    keep_recent_iterations: int = 3
    # Sent word for word, however short. 0: no limit, because the meter counts every context, also
    # where a server reports nothing; peers that began with 400 compacted healthy sessions.
    max_messages: int = 0
    held: bool = False  # after a revert: only the window itself, or the user, compacts

    keep_first_message: bool = True
    keep_recent_messages: int = 6
    keep_recent_tokens: int = 20_000

    summary_form: ChapterForm = ChapterForm.FULL
    summary_max_tokens: int = 2_000  # of one chapter: up to 700, a bullet a heading
    summary_total_tokens: int = 16_000  # of all chapters
    index_tokens: int = 2_000
    pin_tokens: int = 1_000
    # The method to begin with. Conversations store it, and the setting is called, by this name.
    engine: Method = Method.AUTO
    input_characters: int = 0  # of one request's text, for a cheap model; 0: what fits
    extract_on_failure: bool = True
    # Somebody waits for at most so long; then the extract. 0: as long as it takes.
    deadline_seconds: float = 60.0

    # Of the trigger: summarise in the background from here on, at the latest from `PREPARE_LEAD`
    # before it; 0: off. Much earlier, more messages have come by the time the summary is used; they
    # are written to the cache and read with each turn (from 0.85 on, a turn cost 7 % more).
    prepare_ratio: float = 1.0
    idle_ratio: float = 0.5  # of the trigger: prepare before the prompt cache expires; 0: off
    # Tokens that a day's preparations may take, in budgets of the context; 0: no limit.
    prepare_budgets: float = 20.0

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

    def recent_tokens(self, limits: Limits) -> int:
        """Tokens of the newest messages that a compaction keeps."""
        return min(self.keep_recent_tokens, limits.budget // 5)

    def coming_tokens(self, limits: Limits, used: int) -> int:
        """Tokens that come before a summary that is prepared at `used` is swapped in."""
        most = int(MOST_COMING * self.recent_tokens(limits))
        return min(most, max(0, self.trigger_tokens(limits) - used))

    def recent_messages_limit(self) -> float:
        """How many messages a compaction keeps at most, where their number is limited."""
        return TARGET_OF_TRIGGER * self.max_messages or inf

    def prepare_tokens(self, limits: Limits) -> int:
        """Context tokens at which the next summary is prepared."""
        trigger = self.trigger_tokens(limits)
        in_time = max(PREPARE_FROM * trigger, limits.request_limit - PREPARE_ROOM * trigger)
        before = trigger - PREPARE_LEAD * self.recent_tokens(limits)
        return int(min(self.prepare_ratio * trigger, before, in_time))

    def waiting_tokens(self, limits: Limits) -> int:
        """Context tokens from which a turn waits for a summary that nobody prepares yet."""
        trigger = self.trigger_tokens(limits)
        if not self.prepare_ratio:
            return trigger
        return min(int(WAITING_RATIO * trigger), limits.request_limit)

    def prepare_messages(self) -> float:
        """How many messages sent word for word have the next summary prepared."""
        return min(self.prepare_ratio, PREPARE_FROM) * self.max_messages or inf

    def near_tokens(self, limits: Limits) -> int:
        """Context tokens from which any pause is used for the summary that is soon due."""
        return int(NEAR * self.trigger_tokens(limits))

    def idle_tokens(self, limits: Limits) -> int:
        """Context tokens from which a pause is used for a summary."""
        return int(self.idle_ratio * self.trigger_tokens(limits))

    def prepare_tokens_a_day(self, limits: Limits) -> int | None:
        """Tokens that the preparations of a day may take; None: as many as there are."""
        return int(self.prepare_budgets * limits.budget) or None

    def total_tokens(self, limits: Limits) -> int:
        """All chapters together: at most 15 % of the budget."""
        return min(self.summary_total_tokens, limits.budget * 15 // 100)

    @property
    def is_short(self) -> bool:
        """Whether chapters have the short form, and none is longer than asked for."""
        return self.summary_form == ChapterForm.SHORT

    def chapter_tokens(self, limits: Limits, written: int = 0, room: int | None = None) -> int:
        """Size of the next chapter where `written` tokens of chapters are there and `room` is left
        under the target: at most 10 % of the budget, and less the less room is left, so that the
        total is approached, not passed; down to 500 tokens. The short form has one size."""
        most = min(self.summary_max_tokens, limits.budget // 10)
        if self.is_short:
            return min(most, SHORT_TOKENS)
        left = self.total_tokens(limits) - written
        return max(min(500, most), min(most, left // 4, most if room is None else room))

    def pins_and_index(self, limits: Limits) -> tuple[int, int]:
        """Tokens of pins and of index: at most 3 and 6 % of the budget."""
        return (
            min(self.pin_tokens, limits.budget * 3 // 100),
            min(self.index_tokens, limits.budget * 6 // 100),
        )


@dataclass(frozen=True, slots=True)
class ContextLoad:
    """What decides whether to compact: metered tokens, tool rounds since the last compaction, and
    messages after the summary."""

    used: RealTokens
    limits: Limits
    iterations: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """An ended automatic compaction: when, how, and how many turns ago."""

    ended_at: datetime
    failed: bool
    turns_ago: int


def find_trigger(state: ContextLoad, policy: Policy) -> Trigger | None:
    """Why a request needs a compaction first; None where it needs none."""
    if not policy.enabled:
        return None
    if state.used > state.limits.request_limit:
        return Trigger.AUTO
    if policy.held:
        return None
    if state.used >= policy.trigger_tokens(state.limits):
        return Trigger.AUTO
    many_rounds = policy.every_iterations and state.iterations >= policy.every_iterations
    if many_rounds and state.used >= policy.iterations_tokens(state.limits):
        return Trigger.ITERATIONS
    if policy.max_messages and state.messages > policy.max_messages:
        return Trigger.MESSAGES
    return None


def find_breaker_end(attempts: Sequence[Attempt], policy: Policy, now: datetime) -> datetime | None:
    """Until when the circuit breaker stays open; None where automatic compaction may run.
    `attempts` are the last ones, newest first: after too many failures in a row, or too many within
    a few turns."""
    last = attempts[: policy.breaker_failures]
    if len(last) < policy.breaker_failures:
        return None
    looping = last[-1].turns_ago <= policy.breaker_turns
    if not all(attempt.failed for attempt in last) and not looping:
        return None
    until = last[0].ended_at + timedelta(seconds=policy.breaker_seconds)
    return until if until > now else None
