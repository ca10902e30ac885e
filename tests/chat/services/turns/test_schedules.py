"""Scheduled prompts by an injected clock: sent once, missed, failed, and resting."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection

from accounts.models import User
from agent.errors import AgentError, ErrorCode
from chat import tasks
from chat.errors import RefusalCode, Refused
from chat.models import Conversation, Message, QueuedPrompt, ScheduledPrompt, Turn
from chat.services.library.conversations import delete_conversation
from chat.services.turns import endings, schedules
from chat.services.turns.endings import TurnOutcome
from tests.chat.factories import add_messages, make_conversation, make_turn

pytestmark = pytest.mark.on_both

Pause = ScheduledPrompt.Pause
NOW = datetime(2026, 11, 25, 7, 0, tzinfo=UTC)  # 8:00 in Berlin
DUE = datetime(2026, 11, 25, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)
DAILY = {
    "text": "What is new?",
    "repeat": "daily",
    "first_date": date(2026, 11, 25),
    "time": time(9, 0),
    "time_zone": "Europe/Berlin",
}


@pytest.fixture
def talk(user: User) -> Conversation:
    return make_conversation(owner=user, messages=2)


@pytest.fixture
def daily(talk: Conversation) -> ScheduledPrompt:
    return schedules.schedule_prompt(talk.owner, talk.pk, DAILY, NOW)


def send(row: ScheduledPrompt, now: datetime) -> bool:
    sent = schedules.send_due(row.pk, now)
    if ScheduledPrompt.objects.filter(pk=row.pk).exists():
        row.refresh_from_db()
    return sent


def answer(row: ScheduledPrompt, status: Turn.Status = Turn.Status.COMPLETED) -> None:
    """As a web process does with what is in the queue: it becomes a message, whose turn ends so."""
    queued = QueuedPrompt.objects.get(conversation=row.conversation)
    turn = make_turn(row.conversation)
    values = {"client_id": queued.client_id, "source": queued.source, "turn": turn}
    add_messages(row.conversation, [("user", queued.text)], **values)
    queued.delete()
    error = AgentError(ErrorCode.SERVER_ERROR, "The server failed.", retryable=True)
    failed = status == Turn.Status.FAILED
    endings.end_turn(turn.pk, TurnOutcome(status, error=error if failed else None))
    schedules.settle(row.pk)
    if ScheduledPrompt.objects.filter(pk=row.pk).exists():
        row.refresh_from_db()


def test_a_prompt_goes_into_the_queue_when_it_is_due(daily: ScheduledPrompt) -> None:
    assert daily.next_at == DUE
    assert schedules.find_due(DUE - timedelta(seconds=1)) == []
    assert schedules.find_due(DUE) == [daily.pk]
    assert send(daily, DUE)
    queued = QueuedPrompt.objects.get()
    assert (queued.text, queued.source) == ("What is new?", Message.Source.SCHEDULE)
    assert queued.time_zone == "Europe/Berlin"
    assert (daily.next_at, daily.last_at) == (DUE + DAY, DUE)
    answer(daily)
    assert (daily.running, daily.failures) == ("", 0)


def test_however_many_processes_send_it_is_sent_once(daily: ScheduledPrompt) -> None:
    def send_elsewhere(_: int) -> bool:
        try:
            return schedules.send_due(daily.pk, DUE)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as processes:
        sent = list(processes.map(send_elsewhere, range(4)))
    assert sorted(sent) == [False, False, False, True]
    assert QueuedPrompt.objects.count() == 1


def test_after_a_while_away_the_last_one_is_sent_once(daily: ScheduledPrompt) -> None:
    back = DUE + 3 * DAY + timedelta(hours=2)
    ScheduledPrompt.objects.filter(pk=daily.pk).update(next_at=DUE + 3 * DAY)
    assert send(daily, back)
    assert QueuedPrompt.objects.count() == 1
    assert daily.next_at == DUE + 4 * DAY


def test_what_is_too_late_is_missed_and_says_so(daily: ScheduledPrompt) -> None:
    assert send(daily, DUE + schedules.LATEST + timedelta(minutes=1))
    assert not QueuedPrompt.objects.exists()
    assert (daily.missed_at, daily.next_at) == (DUE, DUE + DAY)


def test_one_that_comes_once_is_gone_when_it_is_answered(talk: Conversation) -> None:
    once = schedules.schedule_prompt(talk.owner, talk.pk, DAILY | {"repeat": "once"}, NOW)
    assert send(once, DUE)
    assert once.next_at is None
    answer(once)
    assert not ScheduledPrompt.objects.exists()
    assert Message.objects.filter(source="schedule").exists()


def test_three_failures_in_a_row_let_it_rest_and_tell_its_owner(
    daily: ScheduledPrompt, settings: Any
) -> None:
    settings.MAIL = True
    User.objects.filter(pk=daily.conversation.owner_id).update(email="ada@example.org")
    for day in range(2):
        assert send(daily, DUE + day * DAY)
        answer(daily, Turn.Status.FAILED)
    assert (daily.failures, daily.pause) == (2, "")
    assert send(daily, DUE + 2 * DAY)
    answer(daily)
    assert daily.failures == 0, "in a row"
    for day in range(3, 6):
        assert send(daily, DUE + day * DAY)
        answer(daily, Turn.Status.FAILED)
    assert (daily.failures, daily.pause, daily.problem) == (3, Pause.FAILURES, "The server failed.")
    assert not send(daily, DUE + 6 * DAY)
    tasks.mail_schedule(daily.pk)
    (sent,) = mail.outbox
    assert "The server failed." in sent.body
    schedules.resume_schedule(daily, DUE + 6 * DAY)
    daily.refresh_from_db()
    assert (daily.pause, daily.failures, daily.next_at) == ("", 0, DUE + 7 * DAY)


def test_a_start_that_is_refused_is_a_failure_and_nothing_piles_up(daily: ScheduledPrompt) -> None:
    send(daily, DUE)
    QueuedPrompt.objects.update(problem={"code": "budget_used", "message": "The budget is used."})
    assert not schedules.settle(daily.pk)
    assert not schedules.settle(daily.pk), "counted once"
    daily.refresh_from_db()
    assert (daily.failures, daily.problem) == (1, "The budget is used.")
    for day in (1, 2):
        send(daily, DUE + day * DAY)
    assert QueuedPrompt.objects.count() == 1
    assert (daily.failures, daily.pause) == (3, Pause.FAILURES)


def test_a_start_that_is_refused_after_an_answer_that_failed_counts_too(
    daily: ScheduledPrompt,
) -> None:
    send(daily, DUE)
    answer(daily, Turn.Status.FAILED)
    send(daily, DUE + DAY)
    QueuedPrompt.objects.update(problem={"code": "budget_used", "message": "The budget is used."})
    schedules.settle(daily.pk)
    daily.refresh_from_db()
    assert (daily.failures, daily.problem) == (2, "The budget is used.")


def test_a_stopped_answer_and_a_removed_prompt_are_no_failures(daily: ScheduledPrompt) -> None:
    send(daily, DUE)
    answer(daily, Turn.Status.CANCELLED)
    send(daily, DUE + DAY)
    QueuedPrompt.objects.all().delete()
    schedules.settle(daily.pk)
    daily.refresh_from_db()
    assert (daily.running, daily.failures) == ("", 0)


def test_it_waits_while_its_owner_is_disabled_or_its_conversation_deleted(
    daily: ScheduledPrompt, user: User
) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert schedules.find_due(DUE) == []
    User.objects.filter(pk=user.pk).update(is_active=True)
    Conversation.objects.update(deleted_at=NOW)
    assert schedules.find_due(DUE) == []
    delete_conversation(daily.conversation)
    assert not ScheduledPrompt.objects.exists()


def test_a_paused_one_is_not_sent(daily: ScheduledPrompt) -> None:
    schedules.pause_schedule(daily)
    assert schedules.find_due(DUE) == []
    assert not send(daily, DUE)


def test_a_person_has_a_limit(talk: Conversation) -> None:
    for _ in range(schedules.MOST_OF_A_PERSON):
        schedules.schedule_prompt(talk.owner, talk.pk, DAILY, NOW)
    with pytest.raises(Refused) as refused:
        schedules.schedule_prompt(talk.owner, talk.pk, DAILY, NOW)
    assert refused.value.code == RefusalCode.TOO_MANY_SCHEDULES


def test_a_time_that_is_over_is_refused(talk: Conversation) -> None:
    with pytest.raises(Refused) as refused:
        schedules.schedule_prompt(talk.owner, talk.pk, DAILY | {"repeat": "once"}, DUE + DAY)
    assert refused.value.code == RefusalCode.SCHEDULE_OVER
