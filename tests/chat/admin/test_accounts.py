"""Accounts in the admin panel: what they cost, and what their deletion takes along."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from agent.messages import Usage
from chat.models import Attachment, Compaction, Conversation, Message
from chat.services.library import attachments
from chat.services.people import accounts
from spending.calls import CallDetails
from spending.models import ModelCall
from tests.chat.factories import book_call, make_compaction, make_conversation, make_turn, make_user
from tests.spending.factories import make_call

LIST = reverse("admin:accounts_user_changelist")


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
def staff(client: Client, transactional_db: None) -> Client:
    """A browser in which an administrator is signed in."""
    client.force_login(make_user("root", admin=True))
    return client


def make_owner() -> User:
    """Somebody with a compacted conversation, a running turn, and a file sent and one not sent."""
    owner = make_user()
    conversation = make_conversation(owner=owner, messages=6)
    make_compaction(conversation, through=4)
    make_turn(conversation)
    sent = attachments.store_unsent(owner, "sent.txt", b"sent")
    sent.messages.add(conversation.messages.first())
    attachments.store_unsent(owner, "waiting.txt", b"not sent")
    return owner


def files(media: Path) -> list[bytes]:
    return [path.read_bytes() for path in media.rglob("*") if path.is_file()]


def delete_on_its_page(staff: Client, user: User) -> None:
    url = reverse("admin:accounts_user_delete", args=[user.pk])
    assert staff.post(url, {"post": "yes"}).status_code == 302


def delete_in_the_list(staff: Client, user: User) -> None:
    data = {"action": "delete_selected", "_selected_action": user.pk, "post": "yes"}
    assert staff.post(LIST, data).status_code == 302


def test_the_list_says_what_accounts_cost_in_this_month(staff: Client) -> None:
    owner = make_user()
    make_call("40", user=owner, opened_at=timezone.now() - timedelta(days=40))
    for dollars, compaction in ((2.5, None), (0.75, 1)):
        details = CallDetails(owner.pk, ModelCall.Kind.ANSWER, "test-model", compaction=compaction)
        book_call(details, Usage(10, 1), dollars=dollars)
    page = staff.get(LIST).content.decode()
    assert "$3.25" in page
    assert "$0.75" in page


@pytest.mark.parametrize("delete", [delete_on_its_page, delete_in_the_list])
def test_an_account_is_deleted_with_its_conversations_and_files(
    staff: Client, media: Path, delete: Callable[[Client, User], None]
) -> None:
    owner = make_owner()
    kept = make_conversation(messages=2)
    attachments.store_unsent(kept.owner, "kept.txt", b"kept")
    delete(staff, owner)
    assert not User.objects.filter(pk=owner.pk).exists()
    assert Conversation.objects.get() == kept
    assert {row.conversation_id for row in Message.objects.all()} == {kept.pk}
    assert not Compaction.objects.exists()
    assert Attachment.objects.get().name == "kept.txt"
    assert files(media) == [b"kept"]


def test_a_deletion_that_is_rolled_back_keeps_the_files(staff: Client, media: Path) -> None:
    owner = make_owner()
    with transaction.atomic():
        accounts.delete_accounts([owner])
        assert not Attachment.objects.exists()
        transaction.set_rollback(True)
    assert Attachment.objects.count() == len(files(media)) == 2


def test_the_page_that_asks_counts_what_would_go(staff: Client) -> None:
    owner = make_owner()
    url = reverse("admin:accounts_user_delete", args=[owner.pk])
    page = staff.get(url).content.decode()
    for count in ("Users: 1", "Conversations: 1", "Messages: 6", "Attachments: 2", "Memories: 0"):
        assert count in page
    with CaptureQueriesContext(connection) as few:
        staff.get(url)
    make_conversation(owner=owner, messages=30)
    with CaptureQueriesContext(connection) as many:
        staff.get(url)
    assert len(many) == len(few)


def test_staff_without_permission_delete_nobody(client: Client, transactional_db: None) -> None:
    owner = make_owner()
    client.force_login(make_user(staff=True, may=["view_user", "change_user"]))
    url = reverse("admin:accounts_user_delete", args=[owner.pk])
    assert client.post(url, {"post": "yes"}).status_code == 403
    assert User.objects.filter(pk=owner.pk).exists()
