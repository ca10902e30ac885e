"""Nothing slow happens where others wait: for SQLite's one writer, or for the event loop."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.db import DatabaseError, connection, transaction

from accounts.models import User
from agent import engine
from agent.context import request as agent_request
from agent.loop import CallResult
from agent.tokens import TokenCounter
from chat.db.threads import in_db
from chat.engine import model_server
from chat.html import divider, markdown, questions, tool_row
from chat.html import message as render
from chat.live import answer
from chat.live.admission import Sender
from chat.live.runner import runner
from chat.models import Compaction, Conversation, Memory, Message, Turn
from chat.protocol.broadcast import conversation_group, emit, emit_later
from chat.protocol.events import CompactionReverted, Event, MessageDeleted, QuestionClosed
from chat.protocol.local_layer import RESYNC, LocalChannelLayer
from chat.services.library import memories
from chat.services.summary import preparations, rewrites, summaries
from chat.services.turns import branches, endings, requests, rounds
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
)
from tests.chat.listening import Listener
from tests.chat.sockets import Chat
from tests.support.patience import PATIENCE

CALL = {"type": "tool_use", "id": "a", "name": "look", "input": {"where": "there"}}
ANSWER = [{"type": "text", "text": "The **answer**."}]


@dataclass
class Seen:
    """What was drawn or checked, by name: while a transaction was open, and while none was."""

    inside: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)

    def watch(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        original = getattr(module, name)
        label = f"{module.__name__}.{name}"

        def watched(*args: Any, **kwargs: Any) -> Any:
            (self.inside if connection.in_atomic_block else self.outside).add(label)
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, watched)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The renderers, the audit and the counting of messages: each tells where it was called."""
    seen = Seen()
    monkeypatch.setattr(LocalChannelLayer, "has_listeners", lambda *_: True)
    for module in render, divider, tool_row, questions:
        seen.watch(monkeypatch, module, "render_to_string")
    seen.watch(monkeypatch, markdown, "_render")
    seen.watch(monkeypatch, summaries, "audit")
    seen.watch(monkeypatch, TokenCounter, "count_blocks")
    return seen


def send(conversation: Conversation, text: str = "And **now**?", **values: Any) -> Any:
    given = {"expected_head": None} | values
    return requests.send_message(
        conversation.owner, conversation.pk, NewMessage(text), holder=HOLDER, **given
    )


def end(turn: Turn, status: Turn.Status = Turn.Status.COMPLETED) -> None:
    assert endings.end_turn(turn.pk, TurnOutcome(status, blocks=ANSWER))


def pk_of(conversation: Conversation, number: int) -> int:
    return int(conversation.messages.get(number=number).pk)


# --- The write lock -------------------------------------------------------------------------------


def answered_with_a_tool(conversation: Conversation) -> None:
    opening = send(conversation)
    rounds.close_round(opening.turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=[CALL]))
    result = CallResult(CALL, "It is **there**.", False, 0.1)
    rounds.store_call_end(opening.message.pk, result)
    rounds.store_results(opening.turn.pk, opening.message.pk, [CALL], [result])
    requests.open_next_request(opening.turn.pk)
    end(opening.turn)


def begun_in_every_way(conversation: Conversation) -> None:
    opened = requests.open_conversation(
        conversation.owner, "", NewMessage("A **new** chat"), holder=HOLDER
    )
    end(opened.turn)
    end(send(conversation).turn, Turn.Status.FAILED)
    end(requests.retry(conversation, holder=HOLDER).turn)
    user, pk = conversation.owner, conversation.pk
    end(branches.edit_message(user, pk, pk_of(conversation, 1), "**Else**", holder=HOLDER).turn)
    shown = conversation.messages.filter(active=True, role="assistant").last()
    assert shown is not None
    end(branches.regenerate(user, pk, shown.pk, holder=HOLDER).turn)
    branched = branches.send_as_branch(
        user, pk, NewMessage("Or **this**"), expected_head=2, holder=HOLDER
    )
    assert branched is not None
    end(branched.turn)


def switched_and_deleted(conversation: Conversation) -> None:
    user, pk = conversation.owner, conversation.pk
    end(branches.edit_message(user, pk, pk_of(conversation, 3), "**Else**", holder=HOLDER).turn)
    branches.switch_branch(user, pk, pk_of(conversation, 3))
    branches.delete_message(user, pk, pk_of(conversation, 4))


def summarised_edited_and_reverted(conversation: Conversation) -> None:
    add_messages(conversation, ["More.", "Yes."] * 4)
    make_compaction(conversation)
    add_messages(conversation, ["More.", "Yes."] * 4)
    make_compaction(conversation, status=Compaction.Status.FAILED)
    version = summaries.edit_summary(conversation.compaction_id, "## Overview\n\n- **All** [#1]")
    rewrites.discard_rewrite(rewrites.begin_rewrite(version.pk))
    summaries.revert(version.pk)
    make_compaction(conversation, status=Compaction.Status.READY, turn=None)
    turn, _ = summaries.open_compaction_turn(
        conversation.owner, conversation.pk, focus="", holder=HOLDER
    )
    end(turn)


def remembered(conversation: Conversation) -> None:
    proposal = memories.propose_fact(conversation.owner_id, "Likes tea.", conversation.pk, 1)
    assert proposal is not None
    memories.decide_proposal(proposal, accept=True)
    assert Memory.objects.exists()


@pytest.mark.parametrize(
    "path",
    [
        answered_with_a_tool,
        begun_in_every_way,
        switched_and_deleted,
        summarised_edited_and_reverted,
        remembered,
    ],
)
def test_nothing_is_drawn_audited_or_counted_while_a_transaction_is_open(
    conversation: Conversation, seen: Seen, path: Callable[[Conversation], None]
) -> None:
    path(conversation)
    assert not seen.inside
    assert seen.outside


def test_events_that_are_made_late_keep_their_order(
    conversation: Conversation, listen: Callable[[Conversation], Listener]
) -> None:
    heard, group = listen(conversation), conversation_group(conversation.pk)
    with transaction.atomic():
        emit_later(group, lambda: MessageDeleted(id=1))
        emit(group, QuestionClosed(id="call-1"))
        with transaction.atomic():
            emit_later(group, lambda: CompactionReverted(id=1))
    assert heard.types() == ["message.deleted", "question.closed", "compaction.reverted"]


def test_an_event_is_not_made_where_nobody_listens(transactional_db: None) -> None:
    made = []

    def make() -> Event:
        made.append(True)
        return MessageDeleted(id=1)

    emit_later("a-group", make)
    assert made == []


@pytest.mark.parametrize("error", [DatabaseError, ValueError])
async def test_sockets_look_again_where_an_event_cannot_be_made(
    error: type[Exception], transactional_db: None
) -> None:
    def fail() -> Event:
        raise error("after the commit")

    def change() -> None:
        with transaction.atomic():
            emit_later("a-group", fail)
            emit("a-group", MessageDeleted(id=1))

    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add("a-group", channel)
    await in_db(change)
    heard = [(await layer.receive(channel))["name"] for _ in range(2)]
    await layer.group_discard("a-group", channel)
    assert heard == [RESYNC["name"], MessageDeleted.type]


# --- Beginning and repeating ----------------------------------------------------------------------


@pytest.fixture
def begun_by() -> Iterator[list[bool]]:
    """For each new turn: whether `begin_turn` has stored it."""
    found: list[bool] = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.replace('"', "").startswith("INSERT INTO chat_turn "):
            found.append(any(frame.function == "begin_turn" for frame in inspect.stack(0)))
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield found


def test_every_turn_begins_in_one_place(
    conversation: Conversation, begun_by: list[bool], user: User
) -> None:
    begun_in_every_way(conversation)
    assert begun_by == [True] * 6
    long = make_conversation(owner=user, messages=12)
    turn, _ = summaries.open_compaction_turn(user, long.pk, focus="", holder=HOLDER)
    endings.end_turn(turn.pk, TurnOutcome(Turn.Status.CANCELLED))
    assert begun_by == [True] * 7


def test_a_turn_that_begins_has_its_request_in_the_same_transaction(user: User) -> None:
    opening = requests.open_conversation(user, "", NewMessage("Hello"), holder=HOLDER)
    assert opening.message is not None
    assert [m.number for m in opening.state.context.messages] == [1]
    assert Turn.objects.get(pk=opening.turn.pk).status == Turn.Status.RUNNING


def test_results_that_are_stored_again_are_there_once(
    conversation: Conversation, listen: Callable[[Conversation], Listener]
) -> None:
    """The reply to a commit can be lost."""
    opening = send(conversation)
    rounds.close_round(opening.turn.pk, TurnOutcome(Turn.Status.COMPLETED, blocks=[CALL]))
    result = CallResult(CALL, "Found.", False, 0.1)
    rounds.store_results(opening.turn.pk, opening.message.pk, [CALL], [result])
    heard = listen(conversation)
    rounds.store_results(opening.turn.pk, opening.message.pk, [CALL], [result])
    stored = Message.objects.get(turn=opening.turn, parent=opening.message)
    assert [event["id"] for event in heard.events("message.created")] == [stored.pk]
    assert conversation.messages.filter(active=True).last() == stored


async def test_a_turn_runs_although_who_asked_for_it_has_left(chat: Chat) -> None:
    chat.script.reply("Here you are.")
    storing, left = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def store() -> requests.AnswerStart:
        loop.call_soon_threadsafe(storing.set)
        assert left.wait(PATIENCE)
        with transaction.atomic():
            return requests.open_answer_turn(chat.conversation, runner.holder)

    asking = asyncio.create_task(runner.begin(Sender(chat.user.pk), store))
    await storing.wait()
    asking.cancel()
    left.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    message = await chat.eventually(lambda message: message.status == "complete")
    assert message.text == "Here you are."


# --- The event loop -------------------------------------------------------------------------------


async def test_a_long_request_is_made_off_the_loop_and_encoded_once(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []
    threads: set[threading.Thread] = set()
    encoded, assemble, violations = (
        agent_request.encode_body,
        model_server.assemble,
        model_server.find_violations,
    )

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            threads.add(threading.current_thread())
            return function(*args, **kwargs)

        return call

    def encode(body: dict[str, Any]) -> bytes:
        made.append(encoded(body))
        return made[-1]

    monkeypatch.setattr(agent_request, "encode_body", noted(encode))
    monkeypatch.setattr(model_server, "assemble", noted(assemble))
    monkeypatch.setattr(model_server, "find_violations", noted(violations))
    monkeypatch.setattr(answer, "SHORT", 0)
    chat.script.reply("Yes.")
    tab = await chat.open()
    tab.say("Tell me")
    await tab.next("turn.finished", status="completed")
    assert [request.raw for request in chat.script.requests] == made
    assert len(made) == 1
    assert threads
    assert threading.current_thread() not in threads


def test_what_a_turn_measures_it_measures_once(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[object] = []
    measure = engine.measure
    monkeypatch.setattr(engine, "measure", lambda *of: (measured.append(of), measure(*of))[1])
    make_profile()
    memories.remember_fact(conversation.owner_id, "Likes tea.", Memory.Source.USER)
    opening = send(conversation)
    assert "Likes tea." in opening.state.context.memory
    assert len(measured) == 1
    assert preparations.prepare_if_due(opening.state) is None
