"""How the calls of a round are kept while it runs: each end by itself, all of them in the end."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent.loop import CallResult
from agent.messages import Block
from chat.html.message import render_message
from chat.models import CallEnd, Conversation, Message, Turn
from chat.services.turns import rounds
from demo.api.protocol import tool_use
from tests.chat.factories import add_messages, change_messages, make_turn

pytestmark = pytest.mark.on_both


def search(number: int) -> Block:
    return tool_use("search_history", {"query": f"word {number}"}, f"toolu_{number}")


def start_round(conversation: Conversation, calls: list[Block]) -> Message:
    """A message that calls tools, of a turn that runs."""
    turn = make_turn(conversation, status=Turn.Status.RUNNING)
    add_messages(conversation, ["Search", calls])
    message = conversation.messages.order_by("-number")[0]
    change_messages(conversation.messages.filter(pk=message.pk), turn=turn, stop_reason="tool_use")
    return Message.objects.select_related("turn").get(pk=message.pk)


def end(message: Message, number: int) -> CaptureQueriesContext:
    """Store the end of one call; the statements that it took."""
    with CaptureQueriesContext(connection) as captured:
        rounds.store_call_end(message.pk, CallResult(search(number), f"Found {number}", False, 0.1))
    return captured


def test_storing_an_end_does_not_grow_with_the_calls_of_the_reply(
    conversation: Conversation,
) -> None:
    message = start_round(conversation, [search(number) for number in range(10, 99)])
    sizes = []
    for number in range(10, 90):
        captured = end(message, number)
        assert not any("blocks" in each["sql"] for each in captured)
        sizes.append(sum(len(each["sql"]) for each in captured))
    assert sizes[0] == pytest.approx(sizes[-1], abs=10), "ids have more digits"


def test_ends_are_shown_while_others_run_and_after_the_process_has_died(
    conversation: Conversation,
) -> None:
    message = start_round(conversation, [search(1), search(2)])
    end(message, 1)
    html = render_message(message)
    assert (html.count("Found 1"), html.count(">running<")) == (1, 1)
    Turn.objects.update(status=Turn.Status.INTERRUPTED)
    html = render_message(Message.objects.select_related("turn").get(pk=message.pk))
    assert (html.count("Found 1"), html.count(">running<")) == (1, 0)


def test_the_end_of_the_round_puts_all_ends_together(conversation: Conversation) -> None:
    calls = [search(1), search(2)]
    message = start_round(conversation, calls)
    end(message, 1)
    assert message.turn_id
    first = CallResult(calls[0], "Found 1", False, 0.1)
    rounds.store_results(message.turn_id, message.pk, calls, [first])
    message.refresh_from_db()
    assert [each["text"] for each in message.calls.values()] == ["Found 1", rounds.STOPPED]
    assert not CallEnd.objects.exists()
