"""What is told of a turn's beginning waits until its request is out, and nothing overtakes it."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.utils import translation

from chat.models import Conversation
from chat.protocol import broadcast
from chat.protocol.broadcast import conversation_group, emit, emit_later, hold_events, user_group
from chat.protocol.events import SiteState
from tests.chat.listening import Listener

Listen = Callable[[Conversation], Listener]


def said(listener: Listener) -> list[Any]:
    return [event["text"] for event in listener.events("site.state")]


def test_what_is_held_comes_in_order_once_it_is_sent(
    conversation: Conversation, listen: Listen
) -> None:
    listener, group = listen(conversation), conversation_group(conversation.pk)

    made: list[str] = []

    def make() -> SiteState:
        made.append(translation.get_language())
        return SiteState("one")

    @transaction.atomic
    def write() -> str:
        emit_later(group, make)
        emit(group, SiteState("two"))
        emit(user_group(conversation.owner_id), SiteState("of the user"))
        return "written"

    with translation.override("de"):
        result, held = hold_events(write)
    assert result == "written"
    assert made == []
    held.send()
    held.send()
    assert said(listener) == ["of the user", "one", "two"]
    assert made == ["de"], "in the language of whoever wrote, once"
    emit(group, SiteState("three"))
    assert said(listener)[3:] == ["three"]


@pytest.mark.parametrize("how", ["emit", "send"])
def test_no_later_event_of_the_conversation_comes_first(
    conversation: Conversation, listen: Listen, how: str
) -> None:
    listener, group = listen(conversation), conversation_group(conversation.pk)
    hold_events(lambda: emit_later(group, lambda: SiteState("held")))
    if how == "emit":
        emit(group, SiteState("later"))
    else:
        async_to_sync(broadcast.send)(group, SiteState("later"))
    assert said(listener) == ["held", "later"]


def test_a_write_that_fails_has_told_what_it_stored_before(
    conversation: Conversation, listen: Listen
) -> None:
    listener, group = listen(conversation), conversation_group(conversation.pk)

    def write() -> None:
        emit(group, SiteState("stored"))
        raise ValueError

    with pytest.raises(ValueError):
        hold_events(write)
    assert said(listener) == ["stored"]
