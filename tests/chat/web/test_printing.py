"""A conversation on paper: all of it or a range, for its owner."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import AsyncClient
from django.urls import reverse

from accounts.models import User
from chat.db.threads import in_db
from chat.models import Conversation
from tests.chat.factories import (
    change_messages,
    make_compaction,
    make_conversation,
    make_user,
)

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "## Overview\n- The photos go to disk A [#1 #2]"
MESSAGES = 120  # several pages of the transcript, and of what is read at once


@pytest.fixture
def talk(user: User) -> Conversation:
    talk = make_conversation(owner=user, messages=MESSAGES, title="Photos <b>")
    make_compaction(talk, SUMMARY, through=40)
    early = datetime(2025, 3, 9, 10, tzinfo=UTC)
    change_messages(talk.messages.filter(number__lte=60), created_at=early)
    return talk


async def printed(talk: Conversation, user: User, **asked: Any) -> tuple[Any, str]:
    client = AsyncClient()
    await client.aforce_login(user)
    response: Any = await client.get(reverse("conversation_print", args=[talk.pk]), asked)
    if response.status_code != 200:
        return response, ""
    return response, b"".join([chunk async for chunk in response.streaming_content]).decode()


def numbers(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'<article\s+id="message-(\d+)"', page)]


async def test_the_page_to_be_printed_holds_everything_with_the_summary_open(
    talk: Conversation, user: User
) -> None:
    response, page = await printed(talk, user)
    assert numbers(page) == list(range(1, MESSAGES + 1))
    assert "script-src" in response["Content-Security-Policy"]
    assert "Photos &lt;b&gt;" in page
    assert '<details class="summary" open' in page
    assert "The photos go to disk A" in page
    assert page.count('class="day"') == 2
    assert '<h2 class="day">9 Mar 2025</h2>' in page
    assert page.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"from": 30, "to": 95}, range(30, 96)),
        ({"from": 118}, range(118, MESSAGES + 1)),
        ({"from": 7, "to": 3}, range(7, 8)),
        ({"from": "x", "to": "9" * 30}, range(1, MESSAGES + 1)),
        ({"from": MESSAGES + 5}, ()),
    ],
)
async def test_a_range_can_be_chosen(
    talk: Conversation, user: User, asked: dict[str, Any], shown: range
) -> None:
    _, page = await printed(talk, user, **asked)
    assert numbers(page) == list(shown)


async def test_only_the_owner_prints(talk: Conversation) -> None:
    stranger = await in_db(make_user, admin=True)
    response, _ = await printed(talk, stranger)
    assert response.status_code == 404
    anonymous = await AsyncClient().get(reverse("conversation_print", args=[talk.pk]))
    assert anonymous.status_code == 302
