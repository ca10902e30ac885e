"""Sharing: what readers see, what they never see, and when a link ends."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chat.models import Conversation, Memory, Message, Project, Share
from chat.services.library import attachments, conversations, shares
from chat.services.people import rate_limit
from chat.services.turns import branches, endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.turns import NewMessage
from tests.chat.factories import (
    HOLDER,
    add_messages,
    change_messages,
    make_compaction,
    make_conversation,
    make_user,
)
from tests.spending.factories import make_call
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def reader(user: User) -> Client:
    return sign_in(make_user("grace"))


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def share(conversation: Conversation, number: int | None = None) -> Share:
    through = conversation.messages.get(number=number).pk if number else None
    return shares.share_conversation(conversation.owner, conversation.pk, through)


def read(client: Client, link: Share, **asked: int) -> str:
    response = client.get(reverse("shared", args=[link.pk]), asked)
    assert response.status_code == 200
    return str(response.content.decode())


def numbers(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'<article\s+id="message-(\d+)"', page)]


def say(conversation: Conversation, text: str, *files: str) -> Message:
    """A message of the owner's, with an answer."""
    opening = requests.send_message(
        conversation.owner,
        conversation.pk,
        NewMessage(text, files=files),
        expected_head=None,
        holder=HOLDER,
    )
    assert opening is not None
    return answer(opening.turn.pk)


def answer(turn: int) -> Message:
    endings.end_turn(turn, TurnOutcome("completed", [{"type": "text", "text": "Answered."}]))
    return Message.objects.get(turn=turn, role="user")


def edit(message: Message, text: str) -> Message:
    owner = message.conversation.owner
    opening = branches.edit_message(owner, message.conversation_id, message.pk, text, holder=HOLDER)
    return answer(opening.turn.pk)


# --- What is shown --------------------------------------------------------------------------------


def test_a_link_shows_the_conversation_to_another_person(
    conversation: Conversation, reader: Client
) -> None:
    page = read(reader, share(conversation))
    assert numbers(page) == [1, 2, 3, 4]
    assert conversation.title in page
    assert "Message number 4." in page
    assert "ada" in page


def test_a_shared_conversation_goes_on_and_a_snapshot_does_not(
    conversation: Conversation, reader: Client
) -> None:
    whole, snapshot = share(conversation), share(conversation, 3)
    say(conversation, "Later words")
    assert numbers(read(reader, whole)) == [1, 2, 3, 4, 5, 6]
    assert "Later words" in read(reader, whole)
    assert numbers(read(reader, snapshot)) == [1, 2, 3]
    assert "Later words" not in read(reader, snapshot)


def test_edits_and_branches_do_not_change_a_snapshot(
    conversation: Conversation, reader: Client
) -> None:
    snapshot = share(conversation, 4)
    before = read(reader, snapshot)
    edit(conversation.messages.get(number=1), "Another beginning")
    assert not conversation.messages.get(number=4).active
    assert numbers(read(reader, snapshot)) == [1, 2, 3, 4]
    assert words(read(reader, snapshot)) == words(before)
    assert numbers(read(reader, share(conversation))) == [5, 6]


def words(page: str) -> str:
    """The page without what differs from one request to the next."""
    return re.sub(r"<!--\w*-->", "", page)


def test_what_is_deleted_is_gone_from_a_snapshot_and_nothing_else(
    conversation: Conversation, reader: Client
) -> None:
    snapshot = share(conversation, 4)
    owner = conversation.owner
    branches.delete_message(owner, conversation.pk, conversation.messages.get(number=2).pk)
    assert numbers(read(reader, snapshot)) == [1, 3, 4]
    say(conversation, "Later words")
    branches.delete_message(owner, conversation.pk, conversation.messages.get(number=4).pk)
    assert numbers(read(reader, snapshot)) == [1, 3]


def test_a_snapshot_whose_every_message_is_deleted_is_gone(
    conversation: Conversation, reader: Client
) -> None:
    snapshot = share(conversation, 1)
    branches.delete_message(
        conversation.owner, conversation.pk, conversation.messages.get(number=1).pk
    )
    response = reader.get(reverse("shared", args=[snapshot.pk]))
    assert response.status_code == 404


def test_an_answer_that_is_being_written_is_not_shown(
    conversation: Conversation, reader: Client
) -> None:
    change_messages(conversation.messages.filter(number=4), status="streaming")
    assert numbers(read(reader, share(conversation))) == [1, 2, 3]


def test_a_long_conversation_is_read_page_by_page(user: User, reader: Client) -> None:
    link = share(make_conversation(owner=user, messages=70), 65)
    first = read(reader, link)
    assert numbers(first) == list(range(1, 31))
    assert "?after=30" in first
    assert "earlier" not in first.partition('id="transcript"')[2].partition("<article")[0]
    assert numbers(read(reader, link, after=60)) == list(range(61, 66))
    assert numbers(read(reader, link, before=31)) == list(range(1, 31))
    assert numbers(read(reader, link, around=40)) == list(range(25, 55))
    assert numbers(read(reader, link, after=65)) == []


def test_the_pages_script_gets_the_messages_alone(user: User, reader: Client) -> None:
    link = share(make_conversation(owner=user, messages=40))
    address = reverse("shared", args=[link.pk])
    response = reader.get(address, {"after": 30}, headers={"X-Requested-With": "fetch"})
    part = response.content.decode()
    assert numbers(part) == list(range(31, 41))
    assert "<html" not in part


def test_calls_of_tools_are_shown_with_their_results(
    conversation: Conversation, reader: Client
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "maps__route", "input": {"to": "Lyon"}}
    ended = {"t1": {"text": "By train", "seconds": 1.0}}
    add_messages(conversation, [("user", "Go"), ("assistant", [call])])
    change_messages(conversation.messages.filter(number=6), calls=ended)
    page = read(reader, share(conversation))
    for word in ("maps: route", "Lyon", "By train"):
        assert word in page
    assert "/row/" not in page


# --- What is never shown --------------------------------------------------------------------------


def secret_calls() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    names = ["recall", "remember", "forget", "search_history", "read_messages", "compact_context"]
    calls = [
        {"type": "tool_use", "id": name, "name": name, "input": {"query": f"MARK-in-{name}"}}
        for name in names
    ]
    return calls, {name: {"text": f"MARK-out-{name}"} for name in names}


@pytest.mark.parametrize("number", [None, 6])
@pytest.mark.parametrize("scripted", [False, True])
def test_nothing_but_the_messages_leaks(
    user: User, reader: Client, number: int | None, scripted: bool
) -> None:
    project = Project.objects.create(owner=user, name="MARK-project", instructions="MARK-instruct")
    Memory.objects.create(owner=user, text="MARK-fact")
    other = make_conversation(owner=user, title="MARK-other", messages=2)
    conversation = make_conversation(
        owner=user,
        messages=8,
        project=project,
        system_prompt="MARK-system",
        memory_text="MARK-memory",
        project_parts={"instructions": "MARK-parts"},
        tool_settings={"mcp": ["MARK-server"]},
    )
    calls, ended = secret_calls()
    blocks = [
        {"type": "thinking", "thinking": "MARK-thinking", "signature": "MARK-signature"},
        {"type": "redacted_thinking", "data": "MARK-redacted"},
        {"type": "text", "text": f"As you said [#2 in {other.pk}]."},
        {"type": "MARK-kind", "text": "MARK-unknown"},
        {"type": "tool_result", "tool_use_id": "x", "content": "MARK-alone"},
        *calls,
    ]
    change_messages(
        conversation.messages.filter(number=6),
        blocks=blocks,
        calls=ended,
        usage={"input_tokens": 87654321, "output_tokens": 1},
        time_line="[MARK-time]",
        client_id="MARK-client",
    )
    sixth = conversation.messages.get(number=6)
    make_call("98765.4321", user=user, conversation=conversation.pk, message=sixth.pk)
    change_messages(
        conversation.messages.filter(number=3),
        blocks=[{"type": "text", "text": "MARK-left-out"}],
        left_out=True,
    )
    change_messages(conversation.messages.filter(number=4), sent_in_part=True)
    change_messages(conversation.messages.filter(number=8), status="streaming", text="MARK-draft")
    change_messages(
        conversation.messages.filter(number=8), blocks=[{"type": "text", "text": "MARK-draft"}]
    )
    if number:
        change_messages(
            conversation.messages.filter(number=7), blocks=[{"type": "text", "text": "MARK-later"}]
        )
    make_compaction(conversation, "## Overview\n- MARK-summary [#1 #2]", through=2)
    Message.objects.create(
        conversation=conversation,
        parent=conversation.messages.get(number=4),
        number=99,
        position=4,
        active=False,
        role="user",
        blocks=[{"type": "text", "text": "MARK-branch"}],
        text="MARK-branch",
    )
    link = share(conversation, number)
    headers = {"X-Requested-With": "fetch"} if scripted else {}
    response = reader.get(reverse("shared", args=[link.pk]), headers=headers)
    page = response.content.decode()
    assert "As you said" in page
    assert re.findall(r"MARK[\w-]*", page) == []
    assert re.findall(r"MARK[\w-]*", str(response.headers)) == []
    for hidden in (
        *("98765", "87654321", "tokens", "data-left-out", "divider", "summar", "1/2"),
        *(str(other.pk), str(conversation.pk), str(project.pk), "/c/", "/ws/", "data-message-id"),
    ):
        assert hidden not in page.replace(str(link.pk), ""), hidden


# --- Who reads, and for how long ------------------------------------------------------------------


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(conversation: Conversation) -> None:
    address = reverse("shared", args=[share(conversation).pk])
    response = Client().get(address)
    assert response.status_code == 302
    assert response["Location"] == f"{reverse('account_login')}?next={address}"


def revoke(link: Share) -> None:
    shares.revoke_share(link.conversation.owner, link.conversation_id, link.pk)


def discard(link: Share) -> None:
    conversations.discard_conversations(link.conversation.owner, [link.conversation_id])


def delete(link: Share) -> None:
    conversations.delete_conversation(link.conversation)


def disable(link: Share) -> None:
    User.objects.filter(pk=link.conversation.owner_id).update(is_active=False)


def hand_over(link: Share) -> None:
    assert shares.revoke_all([link.conversation_id]) == 1


ENDS = [revoke, discard, delete, disable, hand_over]


@pytest.mark.parametrize("end", ENDS)
def test_a_link_ends_at_once_for_its_page_and_its_files(
    conversation: Conversation, reader: Client, end: Callable[[Share], None]
) -> None:
    row = attachments.store_unsent(conversation.owner, "plan.png", picture())
    say(conversation, "Look", str(row.pk))
    link = share(conversation)
    addresses = [
        reverse("shared", args=[link.pk]),
        reverse("shared_file", args=[link.pk, row.pk]),
    ]
    assert [reader.get(address).status_code for address in addresses] == [200, 200]
    end(link)
    assert [reader.get(address).status_code for address in addresses] == [404, 404]


def test_pages_and_files_are_kept_by_no_shared_cache(
    conversation: Conversation, reader: Client
) -> None:
    response = reader.get(reverse("shared", args=[share(conversation).pk]))
    assert response["Cache-Control"].startswith("private")


def test_reading_very_much_is_refused_for_a_while(
    conversation: Conversation,
    reader: Client,
    endless_minute: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_limit, "SHARED_READS", 2)
    address = reverse("shared", args=[share(conversation).pk])
    assert [reader.get(address).status_code for _ in range(3)] == [200, 200, 429]
    assert "Retry-After" in reader.get(address)
    assert sign_in(make_user()).get(address).status_code == 200


# --- Files ----------------------------------------------------------------------------------------


def test_files_of_shown_messages_are_read_at_the_address_of_the_share(
    conversation: Conversation, reader: Client
) -> None:
    owner = conversation.owner
    early = attachments.store_unsent(owner, "early.png", picture())
    late = attachments.store_unsent(owner, "late.txt", b"late")
    unsent = attachments.store_unsent(owner, "unsent.txt", b"unsent")
    message = say(conversation, "Look", str(early.pk))
    link = share(conversation, message.number)
    say(conversation, "And this", str(late.pk))
    address = reverse("shared_file", args=[link.pk, early.pk])
    page = read(reader, link)
    assert address in page
    assert reverse("attachment", args=[early.pk]) not in page
    shown = reader.get(address)
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/png")
    assert "sandbox" in shown["Content-Security-Policy"]
    assert shown["Cache-Control"] == "private, no-cache"
    for other in (late, unsent):
        hidden = reverse("shared_file", args=[link.pk, other.pk])
        assert reader.get(hidden).status_code == 404
    assert reader.get(reverse("attachment", args=[early.pk])).status_code == 404
    whole = share(conversation)
    assert reader.get(reverse("shared_file", args=[whole.pk, late.pk])).status_code == 200


def test_a_message_that_names_another_persons_file_does_not_open_it(
    conversation: Conversation, reader: Client
) -> None:
    foreign = attachments.store_unsent(make_user("eve"), "foreign.png", picture())
    blocks = [attachments.make_reference(foreign)]
    change_messages(conversation.messages.filter(number=1), blocks=blocks)
    address = reverse("shared_file", args=[share(conversation).pk, foreign.pk])
    assert reader.get(address).status_code == 404


# --- The owner's dialog ---------------------------------------------------------------------------


def test_the_owner_makes_copies_and_revokes_links(conversation: Conversation) -> None:
    client = sign_in(conversation.owner)
    dialog = reverse("shares", args=[conversation.pk])
    third = conversation.messages.get(number=3)
    assert "Up to message #4" in client.get(dialog).content.decode()
    assert "Up to message #3" in client.get(dialog, {"through": third.pk}).content.decode()
    made = client.post(dialog, {"through": third.pk}).content.decode()
    link = conversation.shares.get()
    assert link.through == third
    assert f"http://testserver{reverse('shared', args=[link.pk])}" in made
    assert "Shared" in made
    client.post(reverse("share_revoke", args=[conversation.pk, link.pk]))
    assert str(link.pk) not in client.get(dialog).content.decode()
    link.refresh_from_db()
    assert link.revoked_at <= timezone.now()


def test_the_same_link_is_not_made_twice(conversation: Conversation) -> None:
    assert share(conversation) == share(conversation)
    assert share(conversation, 2) == share(conversation, 2)
    first = share(conversation)
    revoke(first)
    assert share(conversation) != first


def test_there_may_be_only_so_many_links(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MOST_SHARES", 1)
    share(conversation)
    client = sign_in(conversation.owner)
    last = conversation.messages.get(number=4)
    refused = client.post(reverse("shares", args=[conversation.pk]), {"through": last.pk})
    assert refused.status_code == 422
    assert "Stop sharing it by that one first" in refused.content.decode()


def test_nobody_else_shares_or_revokes(conversation: Conversation, reader: Client) -> None:
    link = share(conversation)
    foreign = make_conversation(messages=2)
    for address in (
        reverse("shares", args=[conversation.pk]),
        reverse("share_revoke", args=[conversation.pk, link.pk]),
    ):
        assert reader.post(address).status_code == 404
    client = sign_in(foreign.owner)
    client.post(reverse("share_revoke", args=[foreign.pk, link.pk]))
    link.refresh_from_db()
    assert link.revoked_at is None
    message = conversation.messages.first()
    assert message
    taken = client.post(reverse("shares", args=[foreign.pk]), {"through": message.pk})
    assert taken.status_code == 404


def test_the_page_of_a_conversation_says_that_it_is_shared(conversation: Conversation) -> None:
    client = sign_in(conversation.owner)
    words = "Other people can read this by a link"
    assert words not in client.get(conversation.get_absolute_url()).content.decode()
    link = share(conversation)
    assert words in client.get(conversation.get_absolute_url()).content.decode()
    revoke(link)
    assert words not in client.get(conversation.get_absolute_url()).content.decode()
