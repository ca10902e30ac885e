"""HTTP: the outline of a conversation."""

import pytest
from django.test import Client

from accounts.models import User
from chat.models import Conversation
from tests.chat.factories import make_compaction, make_conversation, make_user

pytestmark = pytest.mark.django_db(transaction=True)

PATHS = ["outline/", "outline/0/9/", "messages/at/0/"]


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def read(browser: Client, conversation: Conversation, path: str) -> str:
    response = browser.get(f"/c/{conversation.pk}/{path}")
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("path", PATHS)
def test_a_stranger_finds_nothing(client: Client, conversation: Conversation, path: str) -> None:
    client.force_login(make_user())
    assert client.get(f"/c/{conversation.pk}/{path}").status_code == 404


def test_a_new_conversation_says_what_will_be_listed(browser: Client, user: User) -> None:
    assert "Nothing has been written yet." in read(browser, make_conversation(user), "outline/")


def test_the_turns_of_a_chapter_are_listed_when_it_is_opened(browser: Client, user: User) -> None:
    row = make_conversation(user, messages=["Is <b> bold?", "Yes."] * 5)
    make_compaction(row, through=6)
    html = read(browser, row, "outline/")
    assert 'href="#message-1"' in html
    assert 'href="#message-3"' not in html
    assert f'hx-get="/c/{row.pk}/outline/0/7/"' in html
    turns = read(browser, row, "outline/0/7/")
    assert turns.count("Is &lt;b&gt; bold?") == 3
    assert 'href="#message-7"' not in turns


def test_a_place_of_the_timeline_is_a_number(browser: Client, conversation: Conversation) -> None:
    assert read(browser, conversation, "messages/at/2/") == "3"
    assert browser.get(f"/c/{conversation.pk}/messages/at/4/").status_code == 404
    assert browser.get(f"/c/{conversation.pk}/messages/at/{10**30}/").status_code == 404
