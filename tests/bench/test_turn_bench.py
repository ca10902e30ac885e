"""The benchmarks of a turn and of a conversation's length: their figures come out, from turns that
really end."""

import pytest

from bench import turn
from bench.length import Case, list_cases, make_conversation
from bench.report import Report
from chat.models import Message, Turn
from spending.totals import load_total
from tests.chat.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_measured_turn_is_stored_and_ended_like_any_other() -> None:
    user = make_user()
    conversation = make_conversation(user, 4, recent=4)
    watch = turn.take_turn(user, conversation)
    assert Turn.objects.get().status == Turn.Status.COMPLETED
    answer = Message.objects.get(conversation=conversation, position=5)
    assert answer.text == turn.ANSWER
    assert load_total("turn", answer.turn_id).dollars > 0
    assert watch.whole == sum(watch.parts[part] for part in ("send", "request", "end"))


def test_first_turns_are_told_apart_from_later_ones() -> None:
    report = Report("turns")
    watches = turn.measure_turns([2, 4], conversations=2, turns=3)
    assert {name: len(each) for name, each in watches.items()} == {
        "2.first": 2,
        "4.first": 2,
        "2": 4,
        "4": 4,
    }
    turn.report_turns(report, watches, [2, 4])
    names = [metric.metric for metric in report.metrics]
    assert {"turn.2.send_ms", "turn.4.cpu_ms", "turn.4.first.cpu_ms"} < set(names)


def test_the_recent_messages_are_all_that_no_summary_covers() -> None:
    conversation = make_conversation(make_user(), 60, recent=20)
    conversation.refresh_from_db()
    assert conversation.compressed_through is not None
    assert conversation.compressed_through.number == 40
    assert conversation.next_number == 61


def test_each_case_is_compared_with_one_that_differs_in_one_thing() -> None:
    assert list_cases([2_000, 100]) == [
        Case("100", 100),
        Case("2000", 2_000, base="100"),
        Case("2000_recent_1000", 2_000, 1_000, "2000"),
    ]
    assert list_cases([1_000]) == [Case("1000", 1_000)]
