"""The stored text of an answer names the pages that it cites, however the answer ends."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from agent.messages import Block, plain_text
from agent.model.reply import Reply, split_into_events
from agent.model.unreported import mark
from chat.live.live_turn import LiveTurn
from chat.live.runner import INTERNAL
from chat.models import Conversation, Message, Turn
from chat.services.turns import endings, requests, sweep, turns
from chat.services.turns.endings import TurnOutcome
from tests.chat.factories import HOLDER, make_turn

pytestmark = pytest.mark.on_both

PAGE = {"title": "Ferries", "url": "https://ferries.example/today"}
FOUND = {"type": "web_search_result", "encrypted_content": "Ec", **PAGE}
PLACE = {"type": "web_search_result_location", "encrypted_index": "Ei", "cited_text": "9", **PAGE}
BLOCKS: list[Block] = [
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "ferry"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [FOUND]},
    {"type": "text", "text": "It leaves "},
    {"type": "text", "text": "at nine.", "citations": [PLACE]},
]
SOURCE = "Ferries https://ferries.example/today"


def write() -> Reply:
    """The reply as it is before its last event."""
    reply = Reply()
    for event in split_into_events({"content": BLOCKS, "usage": {}})[:-2]:
        reply.apply(event)
    return reply


def live(turn: Turn) -> LiveTurn:
    answer = turn.messages.get(role="assistant")
    written = LiveTurn(turn.pk, turn.conversation_id, "answer", reply=write())
    written.message_id = answer.pk
    return written


def complete(turn: Turn) -> None:
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=write().blocks))


def stop(turn: Turn) -> None:
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.CANCELLED, blocks=write().partial_blocks()))


def end_plainly(turn: Turn) -> None:
    endings.finish_plainly(turn.pk, INTERNAL, live(turn).kept_text)


def die(turn: Turn) -> None:
    turns.checkpoint([turn.pk], [live(turn).draft()])
    Turn.objects.filter(pk=turn.pk).update(lease_expires=timezone.now() - timedelta(seconds=1))
    assert sweep.sweep() == 1


def come_late(turn: Turn) -> None:
    """Its owner was only taken for dead."""
    die(turn)
    usage = mark(write().usage, request_known=False)
    endings.end_turn(
        turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=write().blocks, usage=usage)
    )


@pytest.mark.parametrize("end", [complete, stop, end_plainly, die, come_late])
def test_the_pages_that_an_answer_cites_are_stored_however_it_ends(
    conversation: Conversation, end: Callable[[Turn], None]
) -> None:
    turn = make_turn(conversation)
    requests.open_next_request(turn.pk)
    end(turn)
    stored = Message.objects.get(turn=turn, role="assistant")
    assert "It leaves at nine." in stored.text
    assert stored.text.count(SOURCE) == 1
    assert stored.text == plain_text(stored.blocks)


def test_they_are_stored_of_an_answer_that_was_asked_for_again(conversation: Conversation) -> None:
    turn = make_turn(conversation)
    requests.open_next_request(turn.pk)
    stop(turn)
    again = requests.retry(conversation, holder=HOLDER)
    complete(again.turn)
    assert SOURCE in Message.objects.get(turn=again.turn, role="assistant").text
