"""What a conversation leaves in the cache goes with it, or with the message that it shows."""

from collections.abc import Callable

import pytest
from django.db import transaction

from chat.html.message import render_message
from chat.models import Conversation, Message
from chat.services.library import conversations
from chat.services.people import accounts
from chat.services.turns import branches
from tests.chat.factories import make_conversation, make_user

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


def delete_message(row: Conversation) -> None:
    branches.delete_message(row.owner, row.pk, row.messages.get(number=4).pk)


def delete_conversation(row: Conversation) -> None:
    conversations.delete_conversation(row)


def delete_account(row: Conversation) -> None:
    make_user(admin=True)
    accounts.delete_accounts([row.owner])


def is_kept(message: Message) -> bool:
    """Whether the cache has its HTML still."""
    message.blocks = [{"type": "text", "text": "another"}]
    return "another" not in render_message(message)


@pytest.fixture
def drawn() -> Message:
    """The last message of a conversation, which a page has shown."""
    message = make_conversation(messages=["One", "Two", "Three", "Four"]).messages.get(number=4)
    render_message(message)
    return message


@pytest.mark.parametrize("delete", [delete_message, delete_conversation, delete_account])
def test_it_goes_with_what_is_deleted(
    drawn: Message, delete: Callable[[Conversation], None]
) -> None:
    assert is_kept(drawn)
    delete(Conversation.objects.get(pk=drawn.conversation_id))
    assert not is_kept(drawn)


def test_it_stays_where_the_deletion_is_taken_back(drawn: Message) -> None:
    with transaction.atomic():
        delete_conversation(Conversation.objects.get(pk=drawn.conversation_id))
        transaction.set_rollback(True)
    assert is_kept(drawn)
