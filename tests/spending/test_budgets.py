"""Budgets: what holds for whom, what a call may hold of it, and what comes back."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import kept
from accounts.models import User
from chat.db.threads import call_with_connection
from chat.services.people.budgets import make_failure
from spending import budgets
from spending.amounts import Amount, Bound
from spending.budget_changes import set_budgets
from spending.budgets import BudgetBusy, BudgetKept, BudgetUsed, Held
from spending.limits import find_limits
from spending.models import Budget, BudgetCounter, ModelCall, Period, Unit
from spending.periods import find_span, find_start
from spending.signals import budget_told
from tests.chat.factories import make_user

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]

CENT = Decimal("0.01")
ANSWER, TITLE, SUMMARY = ModelCall.Kind.ANSWER, ModelCall.Kind.TITLE, ModelCall.Kind.SUMMARY


def set_budget(
    limit: Decimal | int | None,
    *,
    user: User | None = None,
    group: Group | None = None,
    period: Period = Period.MONTH,
    unit: Unit = Unit.MONEY,
) -> Budget:
    return Budget.objects.create(user=user, group=group, period=period, unit=unit, limit=limit)


def make_bound(request: Decimal = CENT, output: Decimal = CENT, tokens: int = 1_000) -> Bound:
    """A call of 100 tokens, for `request` dollars, whose answer of so many costs `output`."""
    return Bound(100, request, tokens, output / tokens)


class Call:
    """A call that a person opens; `spend` ends it."""

    def __init__(
        self,
        user: User,
        bound: Bound | None = None,
        *,
        kind: ModelCall.Kind = ANSWER,
        at: datetime | None = None,
    ) -> None:
        at = at or timezone.now()
        with transaction.atomic():
            self.held = budgets.hold(user.pk, bound or make_bound(), kind=kind, at=at)
            self.row = ModelCall.objects.create(
                opened_at=at,
                user=user,
                model="test-model",
                kind=kind,
                bound=self.held.dollars,
                bound_tokens=self.held.tokens,
            )

    def spend(self, dollars: Decimal, tokens: int = 0) -> None:
        held = Amount(self.held.dollars, self.held.tokens)
        with transaction.atomic():
            ModelCall.objects.filter(pk=self.row.pk).update(
                state=ModelCall.State.SETTLED, cost=dollars, output_tokens=tokens
            )
            spent = Amount(dollars, tokens)
            budgets.give_back(self.row.user_id, self.row.opened_at, held=held, spent=spent)


def read_counter(user: User | None, unit: Unit = Unit.MONEY) -> tuple[int, int]:
    counter = BudgetCounter.objects.get(user=user, unit=unit)
    return counter.spent, counter.held


# --- What holds for whom --------------------------------------------------------------------------


def list_limits(user: User) -> list[int]:
    return [limit.most for limit in find_limits(user.pk)]


def test_without_a_budget_a_call_costs_no_statement() -> None:
    user = make_user()
    find_limits(user.pk)
    with CaptureQueriesContext(connection) as statements:
        held = budgets.hold(user.pk, make_bound(), kind=ANSWER, at=timezone.now())
        budgets.give_back(user.pk, timezone.now(), held=Amount(CENT, 1), spent=Amount(CENT, 1))
        assert budgets.may_begin_in_background(user.pk)
    assert held == Held(1_000, 2 * CENT, 1_100)
    assert not statements.captured_queries


def test_somebody_elses_budget_costs_no_statement() -> None:
    user = make_user()
    set_budget(1, user=make_user())
    find_limits(user.pk)
    with CaptureQueriesContext(connection) as statements:
        budgets.hold(user.pk, make_bound(), kind=ANSWER, at=timezone.now())
    assert not statements.captured_queries


def test_a_persons_own_budget_counts_instead_of_the_groups() -> None:
    user = make_user()
    group = Group.objects.create(name="research")
    user.groups.add(group)
    set_budget(50, group=group, unit=Unit.TOKENS)
    set_budget(5, user=user, unit=Unit.TOKENS)
    assert list_limits(user) == [5]


def test_of_several_groups_the_most_generous_counts() -> None:
    user = make_user()
    for number, limit in enumerate((20, 50, 30)):
        group = Group.objects.create(name=f"group {number}")
        user.groups.add(group)
        set_budget(limit, group=group, unit=Unit.TOKENS)
    user.groups.add(Group.objects.create(name="without a budget"))
    assert list_limits(user) == [50]


def test_unlimited_is_the_most_generous() -> None:
    user = make_user()
    for number, limit in enumerate((20, None)):
        group = Group.objects.create(name=f"group {number}")
        user.groups.add(group)
        set_budget(limit, group=group)
    assert list_limits(user) == []


def test_unlimited_for_a_person_lifts_the_groups_budget_and_not_the_sites() -> None:
    user = make_user()
    group = Group.objects.create(name="research")
    user.groups.add(group)
    set_budget(20, group=group, unit=Unit.TOKENS)
    set_budget(None, user=user, unit=Unit.TOKENS)
    set_budget(100, unit=Unit.TOKENS)
    assert list_limits(user) == [100]


def test_day_and_month_money_and_tokens_hold_at_once() -> None:
    user = make_user()
    for period in Period:
        for unit in Unit:
            set_budget(7_000, user=user, period=period, unit=unit)
            set_budget(9_000, period=period, unit=unit)
    limits = find_limits(user.pk)
    keys = [(limit.user_id, limit.period, limit.unit) for limit in limits]
    assert keys == [
        (owner, period, unit) for owner in (user.pk, None) for period in Period for unit in Unit
    ]
    Call(user).spend(CENT, 6)
    assert BudgetCounter.objects.filter(held=0).exclude(spent=0).count() == len(limits)


# --- What a call may hold -------------------------------------------------------------------------


def test_a_call_holds_its_bound_of_the_person_and_the_site() -> None:
    user = make_user()
    set_budget(1, user=user)
    set_budget(10)
    call = Call(user)
    assert call.held == Held(1_000, 2 * CENT, 1_100)
    assert read_counter(user) == read_counter(None) == (0, 20_000_000)
    call.spend(CENT)
    assert read_counter(user) == read_counter(None) == (10_000_000, 0)


def test_zero_allows_nothing_that_costs() -> None:
    user = make_user()
    set_budget(0, user=user)
    with pytest.raises(BudgetUsed) as refusal:
        Call(user)
    assert refusal.value.state.share == 100
    assert Call(user, make_bound(Decimal(0), Decimal(0))).held.max_tokens == 1_000


def test_what_costs_nothing_is_allowed_where_more_was_spent_than_there_was() -> None:
    user = make_user()
    set_budget(CENT, user=user)
    Call(user, make_bound(CENT / 2, CENT / 2, 400)).spend(5 * CENT)
    Call(user, make_bound(Decimal(0), Decimal(0))).spend(Decimal(0))
    assert read_counter(user) == (50_000_000, 0)


def test_the_boundary_is_exact() -> None:
    user = make_user()
    set_budget(Decimal("0.020000001"), user=user)
    whole = make_bound(tokens=400)
    Call(user, whole).spend(2 * CENT)
    with pytest.raises(BudgetUsed):
        Call(user, make_bound(Decimal("0.000000002"), Decimal(0)))
    Call(user, make_bound(Decimal("0.000000001"), Decimal(0)))
    with pytest.raises(BudgetBusy):
        Call(user, make_bound(Decimal("0.000000001"), Decimal(0)))


def test_while_much_is_left_nothing_shrinks() -> None:
    user = make_user()
    set_budget(5 * CENT, user=user)  # for the request, and four such answers
    assert Call(user).held.max_tokens == 1_000


def test_an_answer_shrinks_to_a_share_of_what_is_left() -> None:
    user = make_user()
    set_budget(4 * CENT, user=user)
    call = Call(user)
    assert call.held == Held(750, CENT + Decimal("0.0075"), 850)
    assert read_counter(user) == (0, 17_500_000)


def test_an_answer_does_not_shrink_below_the_least() -> None:
    user = make_user()
    set_budget(2 * CENT, user=user)
    assert Call(user).held.max_tokens == budgets.LEAST_TOKENS
    with pytest.raises(BudgetBusy):
        Call(user)


def test_tokens_shrink_as_money_does() -> None:
    user = make_user()
    set_budget(2_500, user=user, unit=Unit.TOKENS)
    call = Call(user)
    assert call.held.max_tokens == 600
    call.spend(CENT, 2_000)
    assert read_counter(user, Unit.TOKENS) == (2_000, 0)
    assert Call(user).held.max_tokens == budgets.LEAST_TOKENS


def test_a_summary_is_had_whole_or_not_at_all() -> None:
    user = make_user()
    set_budget(2 * CENT, user=user)
    Call(user, kind=SUMMARY).spend(CENT)
    with pytest.raises(BudgetUsed):
        Call(user, kind=SUMMARY)
    assert Call(user, make_bound(CENT / 2)).held.max_tokens == budgets.LEAST_TOKENS


def test_what_a_later_budget_refuses_is_not_held_of_an_earlier_one() -> None:
    user = make_user()
    set_budget(100, user=user)
    set_budget(CENT)
    with pytest.raises(BudgetUsed) as refusal:
        Call(user)
    assert refusal.value.state.user_id is None
    assert not BudgetCounter.objects.exclude(held=0).exists()


def test_what_running_calls_hold_may_come_back() -> None:
    user = make_user()
    set_budget(3 * CENT, user=user)
    first = Call(user, kind=SUMMARY)
    with pytest.raises(BudgetBusy):
        Call(user, kind=SUMMARY)
    first.spend(CENT)
    Call(user, kind=SUMMARY)


def test_background_work_stops_at_four_fifths() -> None:
    user = make_user()
    set_budget(10 * CENT, user=user)
    Call(user, kind=TITLE).spend(5 * CENT)
    assert budgets.may_begin_in_background(user.pk)
    Call(user, kind=TITLE).spend(2 * CENT)
    with pytest.raises(BudgetUsed):
        Call(user, kind=TITLE)
    Call(user).spend(CENT)
    assert not budgets.may_begin_in_background(user.pk)
    Call(user).spend(CENT)


def test_a_raised_limit_counts_at_once_in_the_process_that_raised_it() -> None:
    user = make_user()
    budget = set_budget(CENT, user=user)
    with pytest.raises(BudgetUsed):
        Call(user)
    budget.limit = Decimal(1)
    budget.save()
    Call(user)


def test_a_limit_that_another_process_raised_counts_within_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = make_user()
    budget = set_budget(CENT, user=user)
    with pytest.raises(BudgetUsed):
        Call(user)
    Budget.objects.filter(pk=budget.pk).update(limit=1)  # no signal is heard of this
    clock = budgets_clock(monkeypatch)
    clock(1.9)
    with pytest.raises(BudgetUsed):
        Call(user)
    clock(2.1)
    Call(user)


def budgets_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """`clock(seconds)`: so much later than this."""
    begun = kept.monotonic()

    def set_clock(seconds: float) -> None:
        monkeypatch.setattr(kept, "monotonic", lambda: begun + seconds)

    set_clock(0)
    return set_clock


# --- Many at once ---------------------------------------------------------------------------------


def test_of_two_hundred_at_once_as_many_are_let_in_as_the_cap_is_for() -> None:
    """Eight threads with connections of their own: no two of them hold the same money."""
    people = [make_user() for _ in range(8)]
    set_budget(37 * CENT)
    bound = Bound(100, CENT / 2, 400, CENT / 800)
    at_once = Barrier(len(people))

    def send(user: User) -> int:
        at_once.wait()
        return sum(_is_let_in(user, bound) for _ in range(25))

    with ThreadPoolExecutor(len(people)) as threads:
        let_in = sum(threads.map(lambda user: call_with_connection(lambda: send(user)), people))
    assert let_in == 37
    assert read_counter(None) == (0, 370_000_000)
    assert ModelCall.objects.count() == 37


def _is_let_in(user: User, bound: Bound) -> bool:
    try:
        Call(user, bound)
    except (BudgetUsed, BudgetBusy):
        return False
    return True


def test_the_cap_holds_while_calls_end_and_give_back() -> None:
    """Each holds twenty times what it costs."""
    people = [make_user() for _ in range(8)]
    cost = CENT / 10
    set_budget(36 * cost + 2 * CENT)
    bound = Bound(100, CENT, 400, CENT / 400)
    at_once = Barrier(len(people))

    def send(user: User) -> int:
        at_once.wait()
        answered = tries = 0
        while answered < 25 and tries < 5_000:
            tries += 1
            try:
                call = Call(user, bound)
            except BudgetBusy:
                continue
            except BudgetUsed:
                break
            call.spend(cost)
            answered += 1
        return answered

    with ThreadPoolExecutor(len(people)) as threads:
        answered = sum(threads.map(lambda user: call_with_connection(lambda: send(user)), people))
    assert answered == 37
    assert read_counter(None) == (37_000_000, 0)


# --- Periods --------------------------------------------------------------------------------------


@pytest.fixture
def in_berlin(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"


def test_days_begin_at_midnight_by_the_sites_clock(in_berlin: None) -> None:
    before, after = datetime(2026, 7, 14, 21, 59, tzinfo=UTC), datetime(2026, 7, 14, 22, tzinfo=UTC)
    assert [find_start(Period.DAY, each).day for each in (before, after)] == [14, 15]
    last = datetime(2026, 7, 31, 22, tzinfo=UTC)
    assert find_start(Period.MONTH, last).isoformat() == "2026-08-01"


def test_a_day_on_which_clocks_change_is_as_long_as_it_is(in_berlin: None) -> None:
    begin, end = find_span(Period.DAY, date(2026, 10, 25))
    assert end.astimezone(UTC) - begin.astimezone(UTC) == timedelta(hours=25)


def test_a_call_counts_in_the_day_in_which_it_was_opened(in_berlin: None) -> None:
    user = make_user()
    set_budget(4 * CENT, user=user, period=Period.DAY)
    late = datetime(2026, 7, 14, 21, 59, tzinfo=UTC)
    call = Call(user, kind=SUMMARY, at=late)
    today = Call(user, kind=SUMMARY, at=late + timedelta(minutes=2))
    call.spend(2 * CENT)
    rows = BudgetCounter.objects.order_by("starts").values_list("starts__day", "spent", "held")
    assert list(rows) == [(14, 20_000_000, 0), (15, 0, 20_000_000)]
    today.spend(CENT)


# --- Counters and rows ----------------------------------------------------------------------------


def test_a_budget_that_is_made_in_mid_month_counts_what_was_spent_before() -> None:
    user = make_user()
    running, ended = Call(user), Call(user)
    ended.spend(3 * CENT)
    set_budget(10 * CENT, user=user)
    Call(user, kind=SUMMARY)
    assert read_counter(user) == (30_000_000, 40_000_000)
    running.spend(CENT)
    assert read_counter(user) == (40_000_000, 20_000_000)


def test_what_is_known_later_is_added_as_the_difference() -> None:
    user = make_user()
    set_budget(1, user=user)
    call = Call(user)
    call.spend(2 * CENT)
    budgets.give_back(user.pk, call.row.opened_at, held=Amount(), spent=Amount(-CENT))
    assert read_counter(user) == (10_000_000, 0)


def test_a_repair_sets_counters_to_what_the_rows_say() -> None:
    user = make_user()
    set_budget(1, user=user)
    set_budget(1_000_000, unit=Unit.TOKENS)
    Call(user).spend(3 * CENT, 70)
    Call(user)
    assert budgets.repair_counters() == 0
    BudgetCounter.objects.update(held=5, spent=9)  # as a process leaves them that was not told
    assert budgets.repair_counters() == 2
    assert read_counter(user) == (30_000_000, 20_000_000)
    assert read_counter(None, Unit.TOKENS) == (70, 1_100)


def test_a_site_that_may_spend_nothing_is_added_up_once() -> None:
    """A call that is refused leaves no counter."""
    user = make_user()
    set_budgets(None, {(Period.MONTH, Unit.MONEY): Decimal(0)})
    with pytest.raises(BudgetUsed):
        Call(user)
    with CaptureQueriesContext(connection) as statements:
        budgets.describe_budgets(user.pk)
    assert not [each for each in statements.captured_queries if "modelcall" in each["sql"]]


def test_the_budgets_of_a_person_are_described() -> None:
    user = make_user()
    group = Group.objects.create(name="research")
    user.groups.add(group)
    set_budget(10 * CENT, group=group)
    set_budget(5_000, unit=Unit.TOKENS)
    Call(user).spend(CENT, 250)
    own, of_site = budgets.describe_budgets(user.pk)
    assert (own.group_id, own.limit, own.spent, own.share) == (group.pk, 10 * CENT, CENT, 10)
    assert (of_site.user_id, of_site.unit, of_site.spent, of_site.share) == (None, "tokens", 250, 5)
    assert own.resets_at > timezone.now()


# --- The word -------------------------------------------------------------------------------------


@pytest.fixture
def told() -> Any:
    heard: list[int] = []

    def hear(state: budgets.BudgetState, **_: Any) -> None:
        heard.append(state.share)

    budget_told.connect(hear)
    yield heard
    budget_told.disconnect(hear)


def test_a_person_is_told_once_at_four_fifths_and_once_at_the_end(told: list[int]) -> None:
    user = make_user()
    set_budget(10 * CENT, user=user)
    shares = []
    for _ in range(12):
        try:
            Call(user, make_bound(CENT / 2, CENT / 2, 400)).spend(CENT)
        except BudgetUsed as refusal:
            budgets.tell_used(refusal.state)
        shares.append([*told])
    assert shares[6] == []
    assert shares[7] == shares[8] == [80]
    assert shares[9] == shares[11] == [80, 100]


def test_a_refusal_tells_where_a_little_is_left(told: list[int]) -> None:
    user = make_user()
    set_budget(10 * CENT, user=user)
    Call(user, kind=SUMMARY).spend(9 * CENT)
    with pytest.raises(BudgetUsed) as refusal:
        Call(user, kind=SUMMARY)
    for _ in range(2):
        budgets.tell_used(refusal.value.state)
    assert told == [90, 90]


def test_what_is_too_dear_by_itself_does_not_use_up_a_budget(told: list[int]) -> None:
    """Its person is told later, when that is so."""
    user = make_user()
    set_budget(10 * CENT, user=user)
    with pytest.raises(BudgetUsed) as refusal:
        Call(user, make_bound(20 * CENT))
    budgets.tell_used(refusal.value.state)
    assert told == []
    Call(user).spend(8 * CENT)
    assert told == [80]


def test_background_work_that_leaves_the_rest_to_answers_uses_nothing_up(told: list[int]) -> None:
    user = make_user()
    set_budget(10 * CENT, user=user)
    Call(user).spend(9 * CENT)
    with pytest.raises(BudgetKept) as refusal:
        Call(user, make_bound(CENT / 10, CENT / 10), kind=TITLE)
    make_failure(refusal.value)
    Call(user, make_bound(CENT / 10, CENT / 10)).spend(CENT)
    assert told == [90, 100]


# --- Changed while calls run ----------------------------------------------------------------------


def test_who_leaves_a_group_and_returns_has_spent_all_of_it() -> None:
    user, group = make_user(), Group.objects.create(name="Research")
    user.groups.add(group)
    set_budget(10 * CENT, group=group)
    running = Call(user)
    user.groups.remove(group)
    running.spend(CENT)
    Call(user, make_bound(50 * CENT)).spend(5 * CENT)
    user.groups.add(group)
    budgets.repair_counters()
    assert read_counter(user) == (60_000_000, 0)


def test_who_moves_to_a_meaner_group_has_spent_what_they_spent() -> None:
    generous, mean = (Group.objects.create(name=name) for name in ("Research", "Sales"))
    user = make_user()
    user.groups.add(generous)
    set_budget(10 * CENT, group=generous)
    set_budget(3 * CENT, group=mean)
    Call(user).spend(4 * CENT)
    user.groups.set([mean])
    with pytest.raises(BudgetUsed):
        Call(user)
    user.groups.add(generous)
    Call(user)


def test_a_limit_that_is_lowered_holds_for_the_next_call() -> None:
    user = make_user()
    budget = set_budget(10 * CENT, user=user)
    running = Call(user)
    budget.limit = CENT
    budget.save()
    with pytest.raises(BudgetUsed):
        Call(user)
    running.spend(2 * CENT)
    (state,) = budgets.describe_budgets(user.pk)
    assert (state.share, state.left) == (200, 0)
