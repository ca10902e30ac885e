"""What may still be spent: held before a call, given back after it.

A call holds the most that it can cost, from the person's counters and then from the site's, and
lets go of it when it is known what it has cost. One conditional update decides, as the last
statements of a short transaction: no lock is kept while a model answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from accounts import policies
from spending import counters
from spending.amounts import NANO, Amount, Bound
from spending.counters import Count
from spending.limits import Limit, find_limits
from spending.models import BudgetCounter, ModelCall, Period, Unit
from spending.periods import find_span, find_start
from spending.signals import budget_told, call_ended

# Output tokens: an answer may get shorter than it could be, but no shorter than this.
LEAST_TOKENS = 400
# Of what is left for output, one answer may hold no more than the fourth part. It mostly writes far
# less than it may, so that the others need not wait for what comes back.
SHARES = 4
NEAR, USED_UP = 80, 100  # per cent: of these a person is told, once in a period

Kind = ModelCall.Kind
# Cut short they would still be of use.
SHRINKING = frozenset({Kind.ANSWER, Kind.TOOL_ROUND})
# What nobody waits for leaves the last of a budget to its person.
BACKGROUND = frozenset({Kind.TITLE, Kind.PREPARATION, Kind.CORRECTION, Kind.PROBE})


@dataclass(frozen=True, slots=True)
class Held:
    """What a call may write, and what it holds until it has ended."""

    max_tokens: int
    dollars: Decimal
    tokens: int


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget of a person, or of the site where `user_id` is None, as it stands: US dollars or
    tokens. `group_id`: the group that gives it to each of its members, if it is one's."""

    user_id: int | None
    group_id: int | None
    period: Period
    unit: Unit
    limit: Decimal
    spent: Decimal
    held: Decimal
    resets_at: datetime

    @property
    def share(self) -> int:
        """Of the limit, in per cent: what is spent, 100 where nothing may be."""
        return int(100 * self.spent / self.limit) if self.limit else USED_UP

    @property
    def left(self) -> Decimal:
        return max(Decimal(0), self.limit - self.spent - self.held)


class BudgetExhausted(Exception):
    """A call is too dear for what is left of a budget: nothing is held. `state`: of that budget."""

    def __init__(self, state: BudgetState) -> None:
        super().__init__(f"{state.unit} a {state.period}: {state.spent} of {state.limit} spent")
        self.state = state


class BudgetUsed(BudgetExhausted):
    """Not before the budget begins anew, or is raised."""


class BudgetKept(BudgetUsed):
    """Only by work that nobody waits for: what is left is for answers."""


class BudgetBusy(BudgetExhausted):
    """Not now: calls that run hold what they may give back."""


# --- Holding --------------------------------------------------------------------------------------


def hold(user_id: int | None, bound: Bound, *, kind: str, at: datetime) -> Held:
    """Hold what a call that is opened at a moment can cost, or what of that can still be had: an
    answer may write less then. The caller's transaction stores the call. Without a budget of the
    person or the site there is no statement. Raises BudgetUsed and BudgetBusy."""
    # What costs nothing is held from nothing: a model of one's own machine, a count of tokens.
    whole = bound.with_output(bound.max_tokens)
    limits = [limit for limit in find_limits(user_id) if whole.count(limit.unit)]
    tokens = bound.max_tokens
    if not _hold_whole(limits, bound, kind, at):
        tokens = _hold_rest(limits, bound, kind, at)
    amount = bound.with_output(tokens)
    return Held(tokens, amount.dollars, amount.tokens)


def find_cost_centre(user_id: int | None) -> int | None:
    """The id of the group that a person's calls are booked for: the one whose budget holds for
    them, else the first of theirs. None: they have none."""
    if user_id is None:
        return None
    of_budgets = (limit.group_id for limit in find_limits(user_id) if limit.group_id)
    return next(of_budgets, None) or policies.find_cost_centre(user_id)


def _hold_whole(limits: Sequence[Limit], bound: Bound, kind: str, at: datetime) -> bool:
    """Hold the whole of a call, where much is left of each limit."""
    whole = bound.with_output(bound.max_tokens)
    much = bound.with_output(bound.max_tokens * SHARES) if kind in SHRINKING else whole
    for done, limit in enumerate(limits):
        amount, room = whole.count(limit.unit), much.count(limit.unit)
        if not counters.hold(limit, at, amount, room=room, most=_find_most(limit, kind)):
            for each in limits[:done]:
                counters.give_back(each, at, whole.count(each.unit), 0)
            return False
    return True


def _hold_rest(limits: Sequence[Limit], bound: Bound, kind: str, at: datetime) -> int:
    """Hold what can be had of limits of which little is left, or which have no counter yet; how
    many tokens may be written for it. Locks the counters until the transaction ends."""
    found = [(limit, _lock(limit, at)) for limit in limits]
    least = min(bound.max_tokens, LEAST_TOKENS) if kind in SHRINKING else bound.max_tokens
    tokens, busy = bound.max_tokens, None
    for limit, count in found:
        needed = bound.with_output(least).count(limit.unit)
        in_the_end = _find_most(limit, kind) - count.spent  # if nothing of what is held is spent
        left = in_the_end - count.held
        if needed > left and kind in BACKGROUND:
            raise BudgetKept(_describe(limit, count, at))
        if needed > in_the_end:
            raise BudgetUsed(_describe(limit, count, at))
        if needed > left:
            busy = busy or BudgetBusy(_describe(limit, count, at))
        tokens = min(tokens, max(least, _count_share(bound, limit.unit, left)))
    if busy:
        raise busy
    amount = bound.with_output(tokens)
    for limit, _ in found:
        units = amount.count(limit.unit)
        counters.hold(limit, at, units, room=units, most=_find_most(limit, kind))
    return tokens


def _lock(limit: Limit, at: datetime) -> Count:
    """A limit's counter, made where there is none yet."""
    count = counters.read(limit, at, lock=True)
    if count is None:
        counters.make(limit, at)
        count = counters.read(limit, at, lock=True)
    assert count is not None
    return count


def _find_most(limit: Limit, kind: str) -> int:
    """Up to what calls of a kind may go."""
    return limit.most * NEAR // 100 if kind in BACKGROUND else limit.most


def _count_share(bound: Bound, unit: str, left: int) -> int:
    """How many tokens of output one call may hold of what is left."""
    for_output = left - bound.with_output(0).count(unit)
    price = bound.dollars_per_token * NANO if unit == Unit.MONEY else Decimal(1)
    return int(for_output / price) // SHARES if price else bound.max_tokens


def may_begin_in_background(user_id: int | None) -> bool:
    """Whether work that nobody waits for may begin: not where a person, or the site, has spent
    what is left to others."""
    now = timezone.now()
    for limit in find_limits(user_id):
        count = counters.read(limit, now)
        spent, held = (count.spent, count.held) if count else _add_up(limit, now)
        if spent + held >= _find_most(limit, Kind.TITLE):
            return False
    return True


# --- Giving back ----------------------------------------------------------------------------------


def give_back(user_id: int | None, opened_at: datetime, *, held: Amount, spent: Amount) -> None:
    """Turn what a call held into what it has cost, in the transaction that ends the call, as its
    last statements. What becomes known later is given as the difference, with nothing held."""
    limits = find_limits(user_id)
    if limits:
        transaction.on_commit(_tell_ended)
    for limit in limits:
        units = held.count(limit.unit), spent.count(limit.unit)
        if count := counters.give_back(limit, opened_at, *units):
            _tell_if_near(limit, count, opened_at)


def _tell_ended() -> None:
    call_ended.send(None)


def _tell_if_near(limit: Limit, count: Count, at: datetime) -> None:
    near = limit.most * NEAR <= count.spent * 100
    reached = USED_UP if limit.most <= count.spent else NEAR if near else 0
    if reached > count.told and counters.tell(limit, at, reached):
        _announce(_describe(limit, count, at))


def _announce(state: BudgetState) -> None:
    if state.resets_at > timezone.now():
        transaction.on_commit(lambda: budget_told.send(None, state=state), robust=True)


def tell_used(state: BudgetState) -> None:
    """A call was refused: that a budget is used up is told once, though a little may be left. Not
    where only that one was too dear."""
    if state.share < NEAR:
        return
    for limit in find_limits(state.user_id):
        if (limit.user_id, limit.period, limit.unit) == (state.user_id, state.period, state.unit):
            now = timezone.now()
            with transaction.atomic():
                _lock(limit, now)
                if counters.tell(limit, now, USED_UP):
                    _announce(state)


# --- For pages ------------------------------------------------------------------------------------


def describe_budgets(user_id: int | None) -> list[BudgetState]:
    """The budgets that hold for a person, as they stand, and then the site's."""
    now = timezone.now()
    return [
        _describe(limit, counters.read(limit, now) or Count(*_add_up(limit, now), 0), now)
        for limit in find_limits(user_id)
    ]


def _describe(limit: Limit, count: Count, at: datetime) -> BudgetState:
    def convert(units: int) -> Decimal:
        return Decimal(units) / NANO if limit.unit == Unit.MONEY else Decimal(units)

    _, resets_at = find_span(limit.period, find_start(limit.period, at))
    return BudgetState(
        limit.user_id,
        limit.group_id,
        limit.period,
        limit.unit,
        convert(limit.most),
        convert(count.spent),
        convert(count.held),
        resets_at,
    )


def _add_up(limit: Limit, at: datetime) -> tuple[int, int]:
    starts = find_start(limit.period, at)
    return counters.add_up(limit.user_id, limit.period, starts, limit.unit)


# --- Repair ---------------------------------------------------------------------------------------


def repair_counters() -> int:
    """Compare the counters of the running periods with the rows of their calls, and set right those
    that differ: after a budget was made while calls ran, or was none for a while. How many.
    The site's are made where they are missing: each page asks for them."""
    now, repaired = timezone.now(), 0
    for limit in find_limits(None):
        if counters.read(limit, now) is None:
            counters.make(limit, now)
    for period in Period:
        starts = find_start(period, now)
        for counter in BudgetCounter.objects.filter(period=period, starts=starts):
            found = counters.add_up(counter.user_id, period, starts, counter.unit)
            if found != (counter.spent, counter.held):
                with transaction.atomic():
                    repaired += counters.repair(counter)
    return repaired
