"""What people did to standing instructions holds over what is written later."""

import pytest

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.standing_pins import list_standing
from agent.compaction.instructions.pins import Pin, PinState
from chat.errors import Refused
from chat.models import Compaction, Conversation
from chat.queries.summary_versions import read_chapters
from chat.services.summary import compaction_jobs, rewrites
from chat.services.summary.instructions import (
    add_instruction,
    edit_instruction,
    keep_instruction,
    remove_instruction,
)
from tests.chat.factories import make_compaction, make_conversation

pytestmark = pytest.mark.django_db

FRENCH, BRIEF = Pin(1, "Answer in French."), Pin(3, "Be brief.")


@pytest.fixture
def version(user: User) -> Compaction:
    talk = make_conversation(owner=user, messages=10)
    pins = (FRENCH, BRIEF, Pin(5, "Answer in French!"))
    chapter = Chapter("## Overview\nNone.", 1, 8, pins=pins)
    return make_compaction(talk, chapters=[chapter.as_dict()])


def standing(version: Compaction) -> list[str]:
    return [pin.text for pin in list_standing(read_chapters(version))]


def test_removing_one_removes_all_that_say_the_same(version: Compaction) -> None:
    assert standing(remove_instruction(version.pk, FRENCH)) == ["Be brief."]


def test_an_edit_stands_in_place_of_all_that_said_the_same(version: Compaction) -> None:
    *_, latest = list_standing(read_chapters(version))
    edited = edit_instruction(version.pk, latest, "Answer in Italian.")
    assert standing(edited) == ["Be brief.", "Answer in Italian."]
    kept = keep_instruction(edited.pk, FRENCH)
    assert standing(kept) == ["Be brief.", "Answer in French!", "Answer in Italian."]


def test_other_marks_are_an_edit_too(version: Compaction) -> None:
    assert "Be brief!" in standing(edit_instruction(version.pk, BRIEF, "Be brief!"))


def test_a_summary_that_is_written_again_is_told_of_them(version: Compaction) -> None:
    changed = add_instruction(remove_instruction(version.pk, BRIEF).pk, "Be kind.")
    task = compaction_jobs.claim(rewrites.begin_rewrite(changed.pk), 1)
    assert task
    assert task.chapters == []
    assert task.edited == [
        Pin(3, "Be brief.", PinState.REMOVED, edited=True),
        Pin(0, "Be kind.", edited=True),
    ]


def test_none_changes_a_summary_that_is_not_current(version: Compaction, user: User) -> None:
    add_instruction(version.pk, "Be kind.")
    with pytest.raises(Refused, match="Only the current summary"):
        add_instruction(version.pk, "Be kinder.")
    assert Conversation.objects.get().compactions.count() == 2
