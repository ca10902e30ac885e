"""What the start page offers to continue."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from agent.compaction.chapters.outlook import Outlook
from chat.models import Conversation, Message
from chat.queries.recent import RECENT, list_recent
from chat.services.library import conversations
from tests.chat.factories import add_messages, make_compaction, make_conversation, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.on_both]

SUMMARY = """## Decisions
- A queue, not a cron job [#1]
## Current work and next step
- Measure the worker [#2]"""


def used_ago(hours: int, owner: User, **values: object) -> Conversation:
    row = make_conversation(owner, messages=["Hello", "**Hi!** How can I help?"])
    used = timezone.now() - timedelta(hours=hours)
    Conversation.objects.filter(pk=row.pk).update(updated_at=used, **values)
    return row


def test_the_newest_three_are_offered_the_last_used_first(user: User) -> None:
    rows = [used_ago(hours, user) for hours in (5, 1, 4, 2)]
    offered = [item.conversation for item in list_recent(user)]
    assert offered == [rows[1], rows[3], rows[2]]
    assert len(offered) == RECENT


def test_temporary_archived_deleted_and_other_peoples_are_not_offered(user: User) -> None:
    used_ago(1, user, temporary=True)
    used_ago(1, user, archived=True)
    used_ago(1, make_user())
    conversations.delete_conversation(used_ago(1, user))
    assert list_recent(user) == []


def test_a_summary_says_what_was_decided_and_what_comes_next(user: User) -> None:
    row = make_conversation(user, messages=6)
    make_compaction(row, SUMMARY)
    (item,) = list_recent(user)
    assert item.outlook == Outlook("A queue, not a cron job", "Measure the worker")
    assert item.opening == ""


def test_without_one_the_last_answer_of_the_branch_says_a_line(user: User) -> None:
    row = make_conversation(user, messages=["Hello", "First."])
    add_messages(row, ["And?", "**Second** answer.", "More?"])
    add_messages(row, [("assistant", [])], status=Message.Status.STREAMING)
    add_messages(row, [("assistant", "Other branch.")], active=False)
    (item,) = list_recent(user)
    assert item.opening == "Second answer."
