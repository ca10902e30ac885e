"""Starvation is not death: who works keeps its lease, and who was held up ends nobody's work."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from chat.models import Compaction, Turn
from chat.services.summary import compactions
from chat.services.turns import leases, sweep
from chat.services.turns.leases import BEAT_SECONDS, STUCK_AFTER, Keeper
from tests.chat.factories import make_conversation, make_turn
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now

    def pass_leases(self, count: float) -> None:
        self.now += count * settings.LEASE_SECONDS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Keeper:
    """This process's, without its thread: each look is the test's."""
    made = Keeper(clock)
    monkeypatch.setattr(made, "_start", lambda: None)
    monkeypatch.setattr(leases, "keeper", made)
    return made


@pytest.fixture
def turn(user: Any) -> Turn:
    """One whose lease is over."""
    made = make_turn(make_conversation(owner=user, messages=2))
    expire()
    return made


def expire() -> None:
    past = timezone.now() - timedelta(seconds=1)
    Turn.objects.update(lease_expires=past)
    Compaction.objects.update(lease_expires=past)


def is_extended(turn: Turn) -> bool:
    turn.refresh_from_db()
    return turn.lease_expires > timezone.now()


# --- Who works ------------------------------------------------------------------------------------


def test_a_lease_is_extended_while_all_else_in_the_process_stands_still(turn: Turn) -> None:
    """In a thread: this one does nothing but look."""
    own = Keeper()
    with own.holding(Turn, turn.pk):
        for _ in range(2):
            deadline = time.monotonic() + PATIENCE
            while not is_extended(turn):
                assert time.monotonic() < deadline
            expire()
        thread = own._thread
    assert thread
    thread.join(PATIENCE)
    assert not thread.is_alive(), "there is nothing to keep"
    expire()
    assert not is_extended(turn)


def test_what_has_ended_is_not_brought_back(turn: Turn, keeper: Keeper) -> None:
    keeper.hold(Turn, turn.pk)
    Turn.objects.update(status=Turn.Status.INTERRUPTED)
    keeper.look()
    assert not is_extended(turn)


def test_work_that_is_stuck_loses_its_lease(
    turn: Turn, keeper: Keeper, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    keeper.hold(Turn, turn.pk)
    clock.pass_leases(STUCK_AFTER - 1)
    keeper.look()
    assert is_extended(turn)
    keeper.beat(Turn, turn.pk)
    clock.pass_leases(STUCK_AFTER - 1)
    keeper.look()
    assert is_extended(turn), "it has shown meanwhile that it lives"
    expire()
    clock.pass_leases(2)
    keeper.look()
    keeper.look()
    assert not is_extended(turn)
    assert caplog.text.count("work is stuck") == 1


def test_a_sign_of_life_after_the_end_of_the_work_is_none(turn: Turn, keeper: Keeper) -> None:
    with keeper.holding(Turn, turn.pk):
        assert keeper.list_held(Turn) == [turn.pk]
    keeper.beat(Turn, turn.pk)
    assert keeper.list_held(Turn) == []


def test_a_failure_is_logged_once_and_tried_again(
    turn: Turn, keeper: Keeper, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("the database is somewhere else")

    keeper.hold(Turn, turn.pk)
    with connection.execute_wrapper(refuse):
        keeper.look()
        keeper.look()
    assert caplog.text.count("leases not extended") == 1
    assert "somewhere else" in caplog.text
    keeper.look()
    assert is_extended(turn)
    assert "extended again" in caplog.text


# --- Who ends others ------------------------------------------------------------------------------


def test_a_process_that_was_held_up_ends_nothing_for_a_lease(
    turn: Turn, keeper: Keeper, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    keeper.look()
    clock.pass_leases(1)  # as where the whole machine was asleep
    assert sweep.sweep() == 0, "nor before its thread has noticed"
    keeper.look()
    assert sweep.sweep() == 0
    assert "held up" in caplog.text
    for _ in range(round(settings.LEASE_SECONDS / BEAT_SECONDS) + 1):
        clock.now += BEAT_SECONDS
        keeper.look()
    assert sweep.sweep() == 1
    turn.refresh_from_db()
    assert turn.error
    assert "not been heard of" in turn.error["message"]
    assert "stopped" not in turn.error["message"]


@pytest.mark.parametrize(
    ("worker_pid", "error"), [(1, compactions.UNHEARD), (None, compactions.NOT_TAKEN_UP)]
)
def test_who_waits_for_a_compaction_does_not_give_it_up_after_it_was_held_up(
    turn: Turn, keeper: Keeper, clock: Clock, worker_pid: int | None, error: str
) -> None:
    compaction = make_compaction(turn)
    Compaction.objects.update(worker_pid=worker_pid)
    keeper.look()
    clock.pass_leases(1)
    running = Compaction.Status.RUNNING
    assert compactions.fail_if_abandoned(compaction.pk, pickup_over=True).status == running
    clock.pass_leases(-1)
    failed = compactions.fail_if_abandoned(compaction.pk, pickup_over=True)
    assert (failed.status, failed.error) == (Compaction.Status.FAILED, error)


def test_after_an_outage_nothing_is_ended_for_a_lease(
    turn: Turn, keeper: Keeper, clock: Clock
) -> None:
    keeper.note_disturbance()
    clock.pass_leases(0.9)
    assert sweep.sweep() == 0
    clock.pass_leases(0.2)
    assert sweep.sweep() == 1


def test_nobody_ends_what_is_worked_at_in_the_same_process(turn: Turn, keeper: Keeper) -> None:
    compaction = make_compaction(turn)
    keeper.hold(Turn, turn.pk)
    keeper.hold(Compaction, compaction.pk)
    assert sweep.sweep() == 0
    running = Compaction.Status.RUNNING
    assert compactions.fail_if_abandoned(compaction.pk, pickup_over=True).status == running


def test_a_lease_that_was_extended_at_the_last_moment_counts(turn: Turn, keeper: Keeper) -> None:
    compaction = make_compaction(turn)
    leases.extend(Compaction, [compaction.pk])
    assert not compactions.fail_abandoned(compaction.pk)


def test_a_compaction_that_no_worker_has_seen_is_not_said_to_be_a_workers(
    turn: Turn, keeper: Keeper
) -> None:
    compaction = make_compaction(turn)
    Compaction.objects.update(worker_pid=None)
    assert sweep.sweep() == 2
    compaction.refresh_from_db()
    assert compaction.error == compactions.NOT_TAKEN_UP


def make_compaction(turn: Turn) -> Compaction:
    """One that a worker has claimed, for the turn; its lease is over."""
    first, last = turn.conversation.messages.order_by("number")[:2]
    return Compaction.objects.create(
        conversation=turn.conversation,
        turn=turn,
        first=first,
        through=last,
        messages=2,
        trigger=Compaction.Trigger.AUTO,
        tokens_before=1,
        messages_before=2,
        worker_pid=1,
        lease_expires=timezone.now() - timedelta(seconds=1),
    )
