"""What the administration's start page says of the site."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from chat.models import Compaction, Conversation, Turn
from chat.queries.site import FAULT_DAYS, SLOW_SECONDS, load_days, load_use
from tests.chat.factories import make_compaction, make_conversation, make_turn, make_user
from tests.spending.factories import make_call

pytestmark = [pytest.mark.django_db, pytest.mark.on_both]


@pytest.fixture
def noon() -> datetime:
    """Of today, by the site's clock."""
    return timezone.localtime().replace(hour=12)


def talked(owner: User, moment: datetime) -> None:
    row = make_conversation(owner, messages=2)
    Conversation.objects.filter(pk=row.pk).update(updated_at=moment)


def test_use_adds_up_calls_and_people(user: User, noon: datetime) -> None:
    for days, owner in (0, user), (6, user), (7, make_user()), (30, make_user()):
        talked(owner, noon - timedelta(days=days))
    for days, dollars in (0, "1"), (6, "2.5"), (7, "4"), (30, "8"):
        make_call(dollars, opened_at=noon - timedelta(days=days))
    found = [(use.days, use.spent.dollars, use.people) for use in load_use()]
    assert found == [(1, 1, 1), (7, Decimal("3.5"), 1), (30, Decimal("7.5"), 2)]


def test_what_was_spent_stays_when_conversation_and_account_go(user: User) -> None:
    row = make_conversation(user)
    make_call("2", user=user, conversation=row.pk)
    row.delete()
    user.delete()
    assert [use.spent.dollars for use in load_use()] == [2, 2, 2]


def test_a_new_site_has_spent_nothing_and_nothing_failed() -> None:
    assert [(use.spent.dollars, use.people) for use in load_use()] == [(0, 0)] * 3
    assert [day.faults for day in load_days()] == [0] * FAULT_DAYS


def test_days_count_what_failed_and_what_was_slow(user: User, noon: datetime) -> None:
    row = make_conversation(user, messages=9)
    for days, status in (0, "failed"), (0, "completed"), (2, "failed"), (FAULT_DAYS, "failed"):
        turn = make_turn(row, status=status)
        Turn.objects.filter(pk=turn.pk).update(created_at=noon - timedelta(days=days))
    for number, (seconds, status) in enumerate(
        [(SLOW_SECONDS + 1, "completed"), (SLOW_SECONDS - 1, "completed"), (99, "failed")], 1
    ):
        moment = noon - timedelta(days=2)
        values = {"created_at": moment, "finished_at": moment + timedelta(seconds=seconds)}
        make_compaction(row, through=number, **values, status=Compaction.Status(status))
    # `make_compaction` begins a turn for each, and that of the failed one has failed today.
    found = [
        (day.failed_turns, day.failed_compactions, day.slow_compactions) for day in load_days()
    ]
    assert found == [(2, 0, 0), (0, 0, 0), (1, 1, 1), *[(0, 0, 0)] * (FAULT_DAYS - 3)]


def test_the_report_takes_four_statements_and_reads_ranges_of_indexes(user: User) -> None:
    talked(user, timezone.now())
    make_call(user=user)
    with CaptureQueriesContext(connection) as captured:
        load_use(), load_days()
    assert len(captured) == 4
    if connection.vendor == "sqlite":
        for query in captured:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                plan = " ".join(str(line) for line in cursor.fetchall())
            assert "INDEX" in plan, (query["sql"], plan)
