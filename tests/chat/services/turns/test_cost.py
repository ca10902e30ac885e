"""What a turn and a page cost the database. Statements are counted, because they are what takes the
time: with the ORM each is 0.3 to 1 ms of Python, whatever it fetches; without it, as in
`chat.db.rows`, a tenth of that. A count that must rise is a decision."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agent.errors import AgentError, ErrorCode
from agent.messages import RawTokens, Usage
from agent.model.reply import Reply
from chat.models import Conversation, Turn
from chat.services.calls import describe_end
from chat.services.summary import preparations
from chat.services.turns import endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.requests import AnswerStart
from chat.services.turns.turns import NewMessage
from spending.totals import load_total
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
)

pytestmark = pytest.mark.on_both

USAGE = {"input_tokens": 300, "output_tokens": 20}


def statements(action: Callable[[], Any]) -> list[str]:
    """The statements that read or write rows."""
    with CaptureQueriesContext(connection) as captured:
        action()
    words = ("SELECT", "INSERT", "UPDATE", "DELETE")
    return [query["sql"] for query in captured if query["sql"].startswith(words)]


def send(conversation: Conversation) -> AnswerStart:
    opening = requests.send_message(
        conversation.owner,
        conversation.pk,
        NewMessage("And now?", client_id="new"),
        expected_head=None,
        holder=HOLDER,
    )
    assert opening is not None
    return opening


def compacted(user: User, length: int) -> Conversation:
    """A conversation with a summary of all but its last six messages."""
    conversation = make_conversation(user, messages=length - 6)
    make_compaction(conversation, through=length - 6)
    add_messages(conversation, ["More", "Yes"] * 3)
    return conversation


def test_the_way_to_a_request_takes_fourteen_statements(conversation: Conversation) -> None:
    make_profile()
    found = statements(lambda: send(conversation))
    assert len(found) <= 14, found  # one counts the turns that the user has running


def test_the_end_of_a_turn_takes_twelve_statements(conversation: Conversation) -> None:
    make_profile()
    begun = send(conversation)
    assert begun.call
    reply = Reply(usage=Usage.from_api(USAGE), complete=True, is_reported=True)
    ending = TurnOutcome(
        Turn.Status.COMPLETED,
        blocks=[{"type": "text", "text": "Yes."}],
        usage=USAGE,
        call=describe_end(begun.call, reply, None),
        rounds=0,
        calls=1,
        raw_request=RawTokens(200),
    )
    found = statements(lambda: endings.end_turn(begun.turn.pk, ending))
    assert len(found) <= 12, found  # two, after the commit, for what its hover row says
    assert load_total("conversation", conversation.pk).request_tokens == 300


def test_what_follows_an_ordinary_answer_asks_nothing(conversation: Conversation) -> None:
    turn = send(conversation).turn
    state = endings.end_turn(
        turn.pk, TurnOutcome(Turn.Status.FAILED, error=AgentError(ErrorCode.INTERNAL, "x"))
    )
    assert state is not None
    assert not statements(
        lambda: (preparations.prepare_if_due(state), preparations.find_pause(state))
    )


def test_a_turn_costs_the_same_after_many_messages(user: User) -> None:
    make_profile()
    short, long = compacted(user, 60), compacted(user, 400)
    assert len(statements(lambda: send(long))) == len(statements(lambda: send(short)))


def test_a_page_takes_fifteen_statements_at_every_length(user: User) -> None:
    client = Client()
    client.force_login(user)
    for length in (60, 400):
        url = compacted(user, length).get_absolute_url()
        client.get(url)  # renders and remembers
        found = statements(lambda url=url: client.get(url))  # type: ignore[misc]
        assert len(found) <= 15, found


def test_the_start_page_takes_eight_statements_whatever_there_is(user: User) -> None:
    client = Client()
    client.force_login(user)
    make_profile()
    client.get("/")  # reads what a process then keeps for two seconds
    assert len(statements(lambda: client.get("/"))) <= 8
    for length in (60, 400):
        compacted(user, length)
    make_conversation(user, messages=["Hello", "Hi!"])
    client.get("/")
    found = statements(lambda: client.get("/"))
    assert len(found) <= 8, found
