"""What the tests of the chat share: a person, a conversation, and ears for the events.

The models are imported inside: pytest may load this file before Django is set up.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from accounts.models import User
    from chat.models import Conversation
    from tests.chat.listening import Listener


@pytest.fixture
def user(transactional_db: None) -> "User":
    from tests.chat.factories import make_user

    return make_user("ada")


@pytest.fixture
def conversation(user: "User") -> "Conversation":
    """Four short messages: two exchanges."""
    from tests.chat.factories import make_conversation

    return make_conversation(owner=user, messages=4)


@pytest.fixture
def listen() -> "Iterator[Callable[[Conversation], Listener]]":
    """`listen(conversation)`: what goes out to its tabs, and to those of its owner, from now on."""
    from chat.broadcast import conversation_group, user_group
    from tests.chat.listening import Listener

    listeners: list[Listener] = []

    def start(conversation: "Conversation") -> Listener:
        groups = conversation_group(conversation.pk), user_group(conversation.owner_id)
        listeners.append(Listener(*groups))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.close()
