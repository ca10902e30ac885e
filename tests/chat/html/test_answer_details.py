"""What the row below an answer says of it."""

from datetime import timedelta

import pytest

from agent.messages import Usage
from chat.html.answer_details import AnswerDetails
from chat.models import Message, Turn
from tests.chat.factories import (
    add_messages,
    book_answer,
    make_conversation,
    make_profile,
    make_turn,
)

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]

USAGE = Usage(1_000, 34, 200)
CALL = [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]


def answered(usage: Usage | None = None, dollars: float = 0.0, **values: object) -> Message:
    """An answer of 4.2 seconds."""
    talk = make_conversation(messages=["Hi"])
    turn = make_turn(talk)
    ended = turn.created_at + timedelta(seconds=4.2)
    Turn.objects.filter(pk=turn.pk).update(status="completed", finished_at=ended)
    turn.refresh_from_db()
    (row,) = add_messages(talk, ["Hello"], turn=turn, **values)
    if usage:
        book_answer(row, usage, dollars=dollars)
    return row


def told(message: Message) -> list[str]:
    return AnswerDetails([message]).describe(message)


def test_an_answer_tells_model_tokens_price_and_seconds() -> None:
    row = answered(usage=USAGE, dollars=0.01234)
    assert told(row) == ["Test model", "1.2k tokens in, 34 out", "$0.0123", "4.2 s"]


def test_a_price_that_nobody_knew_is_unknown_and_one_of_nothing_is_not() -> None:
    free = {f"{kind}_price": 0 for kind in ("input", "output", "cache_read", "cache_write")}
    make_profile("local-model", **free)
    assert "price unknown" in told(answered(usage=USAGE, model="local-model"))
    make_profile("local-model", edited=True, **free)
    assert "$0" in told(answered(usage=USAGE, model="local-model"))
    # Its price became known only later.
    assert "price unknown" in told(answered(usage=USAGE))


def test_rounds_of_tools_are_added_up_at_the_end_of_the_answer() -> None:
    row = answered(usage=USAGE, dollars=0.5)
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "seen"}]
    written = [("assistant", CALL), ("user", result)]
    round_, _ = add_messages(row.conversation, written, turn=row.turn, stop_reason="tool_use")
    book_answer(round_, USAGE, dollars=1.0)
    assert told(round_) == []
    assert told(row)[1:3] == ["2.4k tokens in, 68 out", "$1.50"]


def test_an_answer_without_usage_tells_its_model_and_time() -> None:
    assert told(answered(status="failed")) == ["Test model", "4.2 s"]


def test_a_page_asks_twice_for_all_its_answers(django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    rows = [answered(usage=USAGE) for _ in range(5)]
    details = AnswerDetails(rows)
    with django_assert_num_queries(2):
        assert all(details.describe(row) for row in rows)


def test_what_was_imported_tells_its_tokens_and_no_price() -> None:
    talk = make_conversation(messages=["Hi"])
    (row,) = add_messages(talk, ["Hello"], usage=USAGE.as_dict())
    assert told(row) == ["Test model", "1.2k tokens in, 34 out"]
