"""The outline of a conversation: chapters, what the user said, pins, and what it asks of the
database."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.instructions.pins import Pin
from chat.models import Compaction, Conversation
from chat.queries.outline import (
    PAGE,
    WORDS,
    OwnTurn,
    find_number_at,
    list_own_turns,
    load_outline,
)
from tests.chat.factories import add_messages, make_compaction, make_conversation

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_both]

SUMMARY = """## Overview
They sort photos.
## Decisions
- Put them on disk A [#1]
- Put the films on disk B [#3]"""


def count_statements(action: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        action()
    return len(captured)


def pin(conversation: Conversation, *pins: Pin) -> None:
    """Give the last chapter standing instructions."""
    version = Compaction.objects.get(pk=conversation.compaction_id)
    chapter = Chapter.from_dict(version.chapters[-1]).as_dict()
    version.chapters[-1] = chapter | {"pins": [each.as_list() for each in pins]}
    version.save()


def test_a_new_conversation_has_an_empty_outline(user: User) -> None:
    found = load_outline(make_conversation(user))
    assert (found.chapters, found.recent.turns, found.pins, found.length) == ([], [], [], 0)


def test_chapters_have_their_range_times_first_decision_and_place(user: User) -> None:
    row = make_conversation(user, messages=10)
    make_compaction(row, SUMMARY, through=4)
    make_compaction(row, "## Overview\nNothing was decided.", through=7)
    pin(row, Pin(5, "Always in English."), Pin(0, "Be brief."))
    found = load_outline(row)
    first, second = found.chapters
    assert (first.first, first.through, first.start, first.length) == (1, 4, 0, 4)
    assert (second.first, second.through, second.start, second.length) == (5, 7, 4, 3)
    assert first.headline == "Put them on disk A"
    assert second.headline == "Nothing was decided."
    times = dict(row.messages.values_list("number", "created_at"))
    assert (first.began, first.ended) == (times[1], times[4])
    assert [turn.number for turn in found.recent.turns] == [9]
    assert [each.text for each in found.pins] == ["Always in English.", "Be brief."]
    assert (found.pinned, found.covered, found.length) == ([4], 7, 10)


def test_only_what_the_user_said_on_this_branch_is_listed_by_its_first_words(user: User) -> None:
    row = make_conversation(user, messages=["Sort\nmy photos, " + "please " * 40, "Yes."])
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "A file"}
    add_messages(row, [("user", [result]), ("user", [{"type": "image", "source": {}}])])
    add_messages(row, [("user", "Elsewhere")], active=False)
    first, second = list_own_turns(row).turns
    assert first.number == 1
    assert first.words.startswith("Sort my photos, please please")
    assert len(first.words) <= WORDS + 2
    assert second == OwnTurn(4, "[Attached image: image]")


def test_a_long_part_is_listed_from_its_end_in_pages(user: User) -> None:
    row = make_conversation(user, messages=2 * PAGE + 40)
    newest = list_own_turns(row, after=10)
    assert len(newest.turns) == PAGE
    assert newest.turns[-1].number == 2 * PAGE + 39
    rest = list_own_turns(row, after=10, before=newest.before)
    assert (rest.turns[0].number, rest.turns[-1].number) == (11, newest.before - 2)
    assert rest.before == 0


def test_an_outline_takes_five_statements_however_long_the_conversation_is(user: User) -> None:
    row = make_conversation(user, messages=600)
    for through in (100, 300, 500):
        make_compaction(row, SUMMARY, through=through)
    row = Conversation.objects.get(pk=row.pk)
    assert count_statements(lambda: load_outline(row)) == 5


def test_a_place_leads_to_its_message_or_the_next_one(user: User) -> None:
    row = make_conversation(user, messages=4)
    row.messages.filter(position=1).delete()
    assert [find_number_at(row, position) for position in range(5)] == [1, 3, 3, 4, None]
