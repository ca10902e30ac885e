"""Recorded sessions of several exchanges as conversations: stored by the services, loaded again,
assembled, and judged by the validator before every answer."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client as Browser
from pytest_django import Settings

from accounts.models import User
from agent.context.assemble import assemble
from agent.messages import Usage
from agent.model.rules import find_violations
from chat.engine.state import load_state
from chat.models import Conversation, Turn
from chat.services.turns import endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import (
    HOLDER,
    add_messages,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
)
from tests.data.recordings import Record, need, sessions
from tests.data.replay import Played, declared_tools

pytestmark = pytest.mark.django_db
WINDOW = 1_000_000


def test_recorded_sessions_run_as_conversations(
    recordings: list[Record],
    played: dict[str, Played],
    client: Browser,
    settings: Settings,
    report: dict[str, list[str]],
) -> None:
    settings.CONTEXT_BUDGET = WINDOW
    settings.MAX_MESSAGE_CHARACTERS = WINDOW
    make_profile(context_window=WINDOW)
    user = make_user()
    client.force_login(user)
    found = sessions(recordings)
    need(found, "session of several exchanges")
    lengths = Counter(len(session) for session in found)
    for number, session in enumerate(found):
        conversation = make_conversation(user)
        known: list[dict[str, Any]] = []
        for record in session:
            # What the client of that time sent back of the answer stands in our own row.
            new = record.history[len(known) + 1 :] if known else record.history
            known = record.history
            exchange(user, conversation, record, new, played[record.id])
        if number % 4:
            continue
        html = client.get(conversation.get_absolute_url()).content.decode()
        shown = [int(number) for number in re.findall(r'data-number="(\d+)"', html)]
        assert shown, session[0].id
        assert shown == newest(conversation, len(shown)), session[0].id
    exchanges = sum(length * number for length, number in lengths.items())
    report["recorded sessions as conversations"] = [
        f"{len(found)} sessions, {exchanges} exchanges, the longest of {max(lengths)}: "
        "every request valid, every fourth opened as a page",
        "exchanges: sessions  " + ", ".join(f"{k}: {v}" for k, v in sorted(lengths.items())),
    ]


def exchange(
    user: User,
    conversation: Conversation,
    record: Record,
    new: list[dict[str, Any]],
    answer: Played,
) -> None:
    """Store what the user's side sent and the recorded answer, and check the request between."""
    turn = post(user, conversation, [m for m in new if m["role"] != "system"])
    opening = requests.open_next_request(turn.pk, may_compact=False)
    state, message = opening.state, opening.message
    assert message is not None
    rows = [{"content": m.blocks} for m in state.context.messages]
    request = assemble(replace(state.context, tools=declared_tools(rows, record.tools)))
    assert find_violations(request.body(), window=WINDOW) == [], record.id
    # The tools may be gone when the user comes back.
    assert find_violations(assemble(state.context).body(), window=WINDOW) == [], record.id
    ending = TurnOutcome(
        Turn.Status.COMPLETED,
        blocks=answer.blocks,
        stop_reason=answer.reply.stop_reason,
        usage=answer.reply.raw_usage,
    )
    assert endings.end_turn(turn.pk, ending)
    check_meter(conversation, answer.reply.raw_usage, record)


def post(user: User, conversation: Conversation, new: list[dict[str, Any]]) -> Turn:
    """By the service that the composer uses, where it can: text of the user alone."""
    if not new:  # a paused turn was sent back to go on
        return make_turn(conversation)
    *earlier, last = new
    add_messages(conversation, [(m["role"], m["content"]) for m in earlier])
    texts = [b["text"] for b in last["content"] if b["type"] == "text"]
    if last["role"] == "user" and len(texts) == len(last["content"]) and "".join(texts).strip():
        opening = requests.send_message(
            user, conversation.pk, NewMessage("\n\n".join(texts)), expected_head=None, holder=HOLDER
        )
        assert opening is not None
        return opening.turn
    add_messages(conversation, [(last["role"], last["content"])])
    return make_turn(conversation)


def check_meter(conversation: Conversation, usage: dict[str, Any], record: Record) -> None:
    """The meter is the reported usage, without thinking that is not sent again. Where the recording
    is hardly longer than our own prompt and tools, without which it was made, it is an estimate."""
    state = load_state(conversation.pk)
    assert find_violations(assemble(state.context).body(), window=WINDOW) == [], record.id
    reported = Usage.from_api(usage)
    if state.doubted:
        assert reported.request_tokens < 2 * state.size.fixed, record.id
    elif reported.request_tokens:
        assert 0 < state.used <= reported.total, record.id
        assert not state.estimated


def newest(conversation: Conversation, count: int) -> list[int]:
    """The numbers of the last messages, so many of them."""
    rows = conversation.messages.filter(active=True).order_by("-position")
    return list(rows.values_list("number", flat=True)[:count])[::-1]
