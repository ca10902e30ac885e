"""Rows of model calls, as the site books them."""

import ast
import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from accounts.policies import load_rights
from agent.context.request import Request
from agent.errors import AgentError, ErrorCode
from agent.messages import RealTokens, Usage
from agent.model.reply import Reply
from chat.db.threads import in_db
from chat.models import Compaction, Conversation, Turn
from chat.services import calls
from chat.services.ledgers import JobLedger
from chat.services.turns import requests
from spending.budget_changes import set_budgets
from spending.calls import CallDetails
from spending.models import BudgetCounter, ModelCall, Period, Unit
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
)

pytestmark = pytest.mark.on_both

TEXT = {"type": "text", "text": "lorem ipsum " * 400}
REQUEST = Request("test-model", 300, [], [{"role": "user", "content": [TEXT]}])
ROOM = Path(settings.BASE_DIR) / "chat"
LONG_AGO = timedelta(hours=1)
POSTING = ("complete", "stream", "count_tokens", "probe")


def open_for(user: User, **values: Any) -> ModelCall:
    """An open row of an hour ago."""
    details = CallDetails(user.pk, ModelCall.Kind.ANSWER, "test-model", **values)
    call = calls.book_request(details, REQUEST)
    ModelCall.objects.filter(pk=call.opened.pk).update(opened_at=timezone.now() - LONG_AGO)
    return ModelCall.objects.get(pk=call.opened.pk)


def test_a_request_is_booked_with_the_most_that_it_can_cost(conversation: Conversation) -> None:
    make_profile()
    add_messages(conversation, ["And now?"])
    opening = requests.open_next_request(make_turn(conversation).pk)
    assert opening.call
    assert opening.message
    row = ModelCall.objects.get()
    assert (row.user, row.kind, row.state) == (conversation.owner, "answer", "open")
    assert (row.conversation, row.turn) == (conversation.pk, opening.turn.pk)
    assert row.message == opening.message.pk
    most = opening.state.limits.max_tokens
    assert (row.input_tokens, row.bound_tokens) == (opening.state.used, opening.state.used + most)
    # All of it written to the prompt cache, which is dearer than to read it, and all that it may
    # answer.
    assert float(row.bound) == pytest.approx((2.5 * opening.state.used + 10 * most) / 1e6)
    assert row.cost == 0


def test_nobody_keeps_a_row_open_for_a_holder_that_is_gone(user: User) -> None:
    make_profile()
    talk = make_conversation(user, messages=4)
    over = make_turn(talk)
    Turn.objects.filter(pk=over.pk).update(status=Turn.Status.COMPLETED)
    active = make_turn(make_conversation(user))
    ended = make_compaction(talk, through=2)
    ModelCall.objects.all().delete()
    gone = [
        open_for(user, turn=over.pk),
        open_for(user, turn=10**9),
        open_for(user, compaction=ended.pk),
        open_for(user),
    ]
    going_on = open_for(user, turn=active.pk)
    new = calls.book_request(CallDetails(user.pk, ModelCall.Kind.TITLE, "test-model"), REQUEST)
    calls.lose_abandoned()
    rows = {row.pk: row for row in ModelCall.objects.all()}
    assert {rows[each.pk].state for each in gone} == {"lost"}
    assert {rows[each.pk].cost > 0 for each in gone} == {True}, "its request went out"
    assert rows[going_on.pk].state == rows[new.opened.pk].state == "open"


def test_a_running_compaction_keeps_its_rows(user: User) -> None:
    compaction = make_compaction(make_conversation(user, messages=4), through=2)
    Compaction.objects.filter(pk=compaction.pk).update(status=Compaction.Status.RUNNING)
    row = open_for(user, compaction=compaction.pk)
    calls.lose_abandoned()
    row.refresh_from_db()
    assert row.state == "open"


def refused() -> AgentError:
    return AgentError(ErrorCode.OVERLOADED, "Overloaded.")


def lost() -> AgentError:
    return AgentError(ErrorCode.CONNECTION_LOST, "Lost.")


def cancelled() -> BaseException:
    return asyncio.CancelledError()


@pytest.mark.parametrize(
    ("error", "state"), [(refused, "settled"), (lost, "lost"), (cancelled, "lost")]
)
def test_only_what_was_refused_costs_nothing_before_an_answer(
    user: User, error: Callable[[], BaseException], state: str
) -> None:
    make_profile()
    call = calls.book_request(CallDetails(user.pk, ModelCall.Kind.TITLE, "test-model"), REQUEST)
    calls.end_booked(calls.describe_end(call, Reply(), error()))
    row = ModelCall.objects.get()
    assert (row.state, row.cost > 0, row.input_tokens > 0) == (
        state,
        state == "lost",
        state == "lost",
    )


def test_a_lost_call_is_settled_once_by_the_late_report_and_never_lost_again(user: User) -> None:
    make_profile()
    call = calls.book_request(CallDetails(user.pk, ModelCall.Kind.TITLE, "test-model"), REQUEST)
    estimated = calls.describe_end(call, Reply(), lost())
    for usage, expected in ((Usage(70, 7), (70, "settled")), (Usage(90, 9), (70, "settled"))):
        calls.end_booked(estimated)
        reply = Reply(usage=usage, complete=True, is_reported=True)
        calls.end_booked(calls.describe_end(call, reply, None))
        row = ModelCall.objects.get()
        assert (row.input_tokens, row.state) == expected


async def test_a_job_books_each_of_its_calls_and_what_never_went_out_for_nothing(
    user: User,
) -> None:
    await in_db(make_profile)
    ledger = JobLedger(CallDetails(user.pk, ModelCall.Kind.SUMMARY, "other-model"))
    first, second = Reply(), Reply(is_reported=True)
    assert await ledger.open(REQUEST, first) == 300
    await ledger.of_kind(ModelCall.Kind.COUNT).open(REQUEST, second)
    first.written.add("lorem ipsum " * 50)
    await in_db(ledger.keep_progress)
    rows = await in_db(lambda: list(ModelCall.objects.order_by("pk")))
    assert [(row.kind, row.model, row.state) for row in rows] == [
        ("summary", "test-model", "open"),
        ("count", "test-model", "open"),
    ]
    assert rows[0].output_tokens > 50
    second.complete = True
    await ledger.end(second, None)
    first.usage, first.complete, first.is_reported = Usage(900, 40), True, True
    await ledger.end(first, None)
    await ledger.end(first, None)
    rows = await in_db(lambda: list(ModelCall.objects.order_by("pk")))
    assert [(row.state, row.input_tokens) for row in rows] == [("settled", 900), ("settled", 0)]

    booking = asyncio.create_task(ledger.open(REQUEST, third := Reply()))
    await asyncio.sleep(0)
    booking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await booking
    await ledger.end(third, asyncio.CancelledError())
    assert not await in_db(ModelCall.objects.filter(state="open").exists)
    assert not await in_db(ModelCall.objects.filter(state="lost").exists)


def test_a_paused_answer_holds_its_searches_once(user: User) -> None:
    """What it has by then is a request of many more tokens, and of no more searches."""
    profile = make_profile()
    details = CallDetails(user.pk, ModelCall.Kind.ANSWER, "test-model")
    with transaction.atomic():
        call = calls.book_call(details, profile, 500, 100, "5m", searches=5)
    longer = calls.book_again(calls.resize(call, RealTokens(20_000)))
    assert call.opened.held_dollars == Decimal("0.05") + Decimal("0.00225")
    assert longer.opened.held_dollars == Decimal("0.05") + Decimal("0.051")


def test_an_account_may_be_deleted_while_its_call_runs(user: User) -> None:
    """What it has cost the site counts."""
    make_profile()
    set_budgets(None, {(Period.MONTH, Unit.TOKENS): Decimal(50_000)})
    group = Group.objects.create(name="Research")
    user.groups.add(group)
    set_budgets(None, {(Period.DAY, Unit.TOKENS): Decimal(50_000)}, group=group)
    call = calls.book_request(CallDetails(user.pk, ModelCall.Kind.TITLE, "test-model"), REQUEST)
    assert BudgetCounter.objects.filter(held__gt=0).count() == 2
    user.delete()
    calls.end_booked(calls.describe_end(call, Reply(), lost()))
    late = Reply(usage=Usage(70, 7), complete=True, is_reported=True)
    calls.end_booked(calls.describe_end(call, late, None))
    row, counter = ModelCall.objects.get(), BudgetCounter.objects.get()
    assert (row.user, row.state, row.input_tokens) == (None, "settled", 70)
    assert (counter.spent, counter.held) == (77, 0)


def test_a_call_of_a_group_that_was_just_deleted_has_no_cost_centre(user: User) -> None:
    """Another process may not know of that for two seconds."""
    make_profile()
    group = Group.objects.create(name="Research")
    user.groups.add(group)
    assert load_rights(user.pk).group_ids == (group.pk,)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_user_groups WHERE group_id = %s", [group.pk])
        cursor.execute("DELETE FROM auth_group WHERE id = %s", [group.pk])
    calls.book_request(CallDetails(user.pk, ModelCall.Kind.TITLE, "test-model"), REQUEST)
    connection.check_constraints()
    assert ModelCall.objects.get().group is None


def test_a_row_outlives_what_it_was_for(user: User) -> None:
    make_profile()
    talk = make_conversation(user)
    with transaction.atomic():
        row = open_for(user, conversation=talk.pk, turn=make_turn(talk, holder=HOLDER).pk)
    talk.delete()
    row.refresh_from_db()
    assert row.user == user
    user.delete()
    row.refresh_from_db()
    assert (row.user, row.state) == (None, "open")


def posts(path: Path) -> Iterator[str]:
    """Where a module has a client post something, in its own words."""
    for node in ast.walk(ast.parse(path.read_text())):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in POSTING:
            yield ast.unparse(node)


def test_whoever_posts_names_a_ledger() -> None:
    found = {post for path in ROOM.rglob("*.py") for post in posts(path)}
    found.discard("compaction_jobs.complete(task, written)")
    assert len(found) >= 6
    assert [post for post in found if "ledger" not in post] == []
