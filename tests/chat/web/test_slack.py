"""The page says which thread of Slack a conversation is one with, and parts them."""

import io
import zipfile
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from chat.models import Conversation, SlackThread
from chat.queries.account_export import export_account
from chat.services.people.handing_over import hand_over
from chat.services.slack.connection import note_problem, note_team, take_lease
from tests.chat.factories import make_user

MARK = 'id="slack-mark"'


@pytest.fixture
def client(user: User, settings: Any) -> Client:
    settings.SLACK = True
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def thread(conversation: Conversation) -> SlackThread:
    return SlackThread.objects.create(
        conversation=conversation,
        team="T1",
        channel="C1",
        channel_name="general",
        ts="1764000000.000100",
    )


def read(client: Client, conversation: Conversation, part: str = "") -> str:
    response = client.get(f"{conversation.get_absolute_url()}{part}")
    assert response.status_code == 200
    return response.content.decode()


def test_a_linked_conversation_says_so_and_another_does_not(
    client: Client, conversation: Conversation, thread: SlackThread
) -> None:
    assert "Linked with #general in Slack" in read(client, conversation)
    thread.delete()
    assert "in Slack" not in read(client, conversation)


def test_without_slack_the_page_has_nothing_of_it(
    client: Client, conversation: Conversation, settings: Any
) -> None:
    settings.SLACK = False
    assert MARK not in read(client, conversation)


def test_the_dialog_has_the_command_that_links(client: Client, conversation: Conversation) -> None:
    take_lease("web")
    note_team("T1", "Acme <b>")
    shown = read(client, conversation, "slack/")
    assert f"/everlong link http://testserver{conversation.get_absolute_url()}" in shown
    assert "Acme &lt;b&gt;" in shown
    assert "Unlink" not in shown


def test_unlinking_parts_them(
    client: Client, conversation: Conversation, thread: SlackThread
) -> None:
    assert "#general" in read(client, conversation, "slack/")
    response = client.post(f"{conversation.get_absolute_url()}slack/")
    assert response.status_code == 200
    assert "#general" not in response.content.decode()
    assert not SlackThread.objects.exists()


def test_while_slack_is_away_the_dialog_says_so(
    client: Client, conversation: Conversation, thread: SlackThread
) -> None:
    take_lease("web")
    note_problem("Slack refuses the tokens: token_revoked.")
    shown = read(client, conversation, "slack/")
    assert "not reached" in shown
    assert "token_revoked" not in shown, "that is for administrators"


def test_nobody_else_parts_them(conversation: Conversation, thread: SlackThread) -> None:
    other = Client()
    other.force_login(make_user("eve"))
    for ask in (other.get, other.post):
        assert ask(f"{conversation.get_absolute_url()}slack/").status_code == 404
    assert SlackThread.objects.exists()


def test_a_handed_over_conversation_has_no_thread(
    conversation: Conversation, thread: SlackThread
) -> None:
    """What its former owner writes there would go to somebody else."""
    hand_over([], [conversation.pk], make_user("bea"), by=None)
    assert not SlackThread.objects.exists()


async def test_the_export_of_an_account_names_the_thread(
    user: User, conversation: Conversation, thread: SlackThread
) -> None:
    data = b"".join([each async for each in export_account(user)])
    assert b"1764000000.000100" in unzip(data)


def unzip(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())
