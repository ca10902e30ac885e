"""Programs for the API. The models are imported inside: see the conftest above."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from accounts.models import User
    from tests.chat.api.programs import Program
    from tests.chat.sockets import Chat


@pytest.fixture
def issue(transactional_db: None) -> "Callable[..., Program]":
    """`issue(user, *scopes)`: a program of somebody's; with all scopes where none is named."""
    from accounts.tokens import SCOPES, issue_token
    from tests.chat.api.programs import Program

    def make(user: "User", *scopes: str) -> Program:
        return Program(issue_token(user, "A program", scopes or [*SCOPES], None))

    return make


@pytest.fixture
async def program(chat: "Chat", issue: "Callable[..., Program]") -> "Program":
    """Of the person who chats, with all scopes."""
    from chat.db.threads import in_db

    return await in_db(issue, chat.user)
