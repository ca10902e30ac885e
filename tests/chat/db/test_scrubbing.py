"""What was deleted leaves the file of SQLite."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from chat.db import scrubbing as module
from chat.db.scrubbing import Scrubbing
from chat.services.library import conversations
from tests.chat.factories import make_conversation, make_user

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'"),
]

# The index keeps of a word what differs from the one before it.
WORD, PART = "zqxmarker", b"qxmarker"


def has_word() -> bool:
    """Whether the word is in the database's file or its log."""
    file = Path(connection.settings_dict["NAME"])
    both = (file, file.with_name(f"{file.name}-wal"))
    return any(PART in each.read_bytes() for each in both if each.exists())


@pytest.fixture
def deleted() -> None:
    """A conversation with the word, among others, was deleted."""
    owner = make_user()
    others = [f"Message {n} of {n * 7} and {n * 13}" for n in range(200)]
    make_conversation(owner, messages=others)
    doomed = make_conversation(owner, messages=[f"The {WORD}", "Yes"] * 3)
    make_conversation(owner, messages=others)
    conversations.delete_conversation(doomed)


def test_what_was_deleted_leaves_index_and_log(deleted: None) -> None:
    assert has_word()
    scrubbing = Scrubbing()
    assert scrubbing.work()
    assert not has_word()


def test_the_work_is_done_in_parts(deleted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES", 1)
    monkeypatch.setattr(module, "STEP_SECONDS", -1.0)
    scrubbing = Scrubbing()
    parts = 1
    while not scrubbing.work():
        parts += 1
    assert parts > 2
    assert not has_word()


def test_it_rests_between_two_rounds(deleted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    scrubbing = Scrubbing()
    assert scrubbing.work()
    conversations.delete_conversation(make_conversation(messages=[WORD]))
    scrubbing.want()
    assert scrubbing.work()  # nothing to do for now
    assert has_word()
    monkeypatch.setattr(scrubbing, "_next", 0.0)
    assert scrubbing.work()
    assert not has_word()


def test_the_command_does_all_at_once(deleted: None) -> None:
    call_command("scrub")
    assert not has_word()
