"""Conversations of an import as rows: the tree, its times and files, and the same again."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from agent.context.assemble import assemble
from agent.model.rules import find_violations
from chat.engine.model_profiles import find_default_name
from chat.engine.state import load_state
from chat.importers.records import ImportedConversation, ImportedFile, ImportedMessage
from chat.models import Conversation, Message, MessageOrigin, Origin, SearchEntry, Turn
from chat.services.library import conversations, importing_messages
from chat.services.library.importing import store_conversation
from chat.services.turns import sweep
from spending.models import ModelCall
from tests.chat.factories import add_messages, make_profile, make_turn, make_user
from tests.support.pictures import picture

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]

BEGAN = datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC)


def message(
    origin: str, parent: str | None, text: str = "", *, after: int | None = 0, **fields: Any
) -> ImportedMessage:
    """A user's where its origin begins with u."""
    role = "user" if origin.startswith("u") else "assistant"
    blocks = fields.pop("blocks", [{"type": "text", "text": text or f"text of {origin}"}])
    at = None if after is None else BEGAN + timedelta(minutes=after)
    return ImportedMessage(origin, parent, role, blocks, at=at, **fields)  # type: ignore[arg-type]


def talk(messages: Sequence[ImportedMessage], **fields: Any) -> ImportedConversation:
    return ImportedConversation("there-1", list(messages), **fields)


STRAIGHT = [
    message("u1", None),
    message("a1", "u1", after=1, model="gpt-4"),
    message("u2", "a1", after=None),
    message("a2", "u2", after=3),
]
# The second question was written anew, and its new answer again.
BRANCHED = [
    *STRAIGHT,
    message("u2b", "a1", after=4),
    message("a2b", "u2b", after=5),
    message("a2c", "u2b", after=6),
]


@pytest.fixture
def user() -> User:
    return make_user()


def store(user: User, conversation: ImportedConversation, **options: Any) -> Any:
    return store_conversation(user, "test", conversation, **options)


def shown(conversation: Conversation | None = None) -> list[str]:
    """The texts of the shown branch."""
    conversation = conversation or Conversation.objects.get()
    rows = conversation.messages.filter(active=True).order_by("position")
    assert [row.position for row in rows] == list(range(len(rows)))
    return [row.text.removeprefix("text of ") for row in rows]


def test_a_branch_is_shown_up_from_the_leaf(user: User) -> None:
    stored = store(user, talk(BRANCHED, leaf="a2b"))
    assert (stored.is_new, stored.added, stored.known) == (True, 7, 0)
    assert shown() == ["u1", "a1", "u2b", "a2b"]
    rows = {row.text.removeprefix("text of "): row for row in Message.objects.all()}
    assert [row.number for row in rows.values()] == list(range(1, 8))
    assert {name: row.parent and row.parent.text[-2:].strip() for name, row in rows.items()} == {
        "u1": None, "a1": "u1", "u2": "a1", "a2": "u2", "u2b": "a1", "a2b": "2b", "a2c": "2b",
    }  # fmt: skip
    assert rows["a2c"].position == 3
    assert not rows["a2c"].active
    assert {row.source for row in rows.values()} == {Message.Source.IMPORT}


@pytest.mark.parametrize(("leaf", "last"), [(None, "a2c"), ("gone", "a2c"), ("a2", "a2")])
def test_without_a_leaf_the_newest_branch_is_shown(user: User, leaf: str | None, last: str) -> None:
    store(user, talk(BRANCHED, leaf=leaf))
    assert shown()[-1] == last


def test_times_are_those_of_the_export(user: User) -> None:
    store(user, talk(STRAIGHT, created_at=BEGAN, updated_at=BEGAN + timedelta(days=2)))
    row = Conversation.objects.get()
    assert (row.created_at, row.updated_at) == (BEGAN, BEGAN + timedelta(days=2))
    assert row.imported_at
    assert timezone.now() - row.imported_at < timedelta(minutes=1)
    minutes = [(m.created_at - BEGAN).total_seconds() / 60 for m in row.messages.order_by("number")]
    assert minutes == [0, 1, 1, 3], "a message without a time has that of the one before it"


def test_nothing_of_it_was_paid_here_and_the_next_request_is_valid(user: User) -> None:
    call = {"type": "tool_use", "id": "call-1", "name": "search", "input": {"q": "x"}}
    result = {"type": "tool_result", "tool_use_id": "call-1", "content": "found"}
    messages = [
        message("u1", None),
        message("a1", "u1", blocks=[{"type": "text", "text": "Looking."}, call]),
        message("u1-results", "a1", blocks=[result]),
        message("a2", "u1-results", "It is there.", status="interrupted"),
    ]
    store(user, talk(messages))
    conversation = Conversation.objects.get()
    assert not ModelCall.objects.exists()
    assert conversation.meter_valid_from == conversation.next_number == 5
    state = load_state(conversation.pk)
    assert not find_violations(assemble(state.context).body())


def test_the_same_again_adds_nothing(user: User) -> None:
    store(user, talk(BRANCHED))
    again = store(user, talk(BRANCHED))
    assert (again.is_new, again.added, again.known) == (False, 0, 7)
    assert Conversation.objects.count() == 1
    assert Message.objects.count() == 7


def test_what_is_new_there_goes_on_here(user: User) -> None:
    store(user, talk(STRAIGHT, updated_at=BEGAN))
    more = [message("u3", "a2", after=10), message("a3", "u3", after=11)]
    stored = store(user, talk([*BRANCHED, *more], leaf="a3"))
    assert (stored.added, stored.known, stored.beside) == (5, 4, 0)
    assert shown() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert Conversation.objects.get().updated_at == BEGAN + timedelta(minutes=11)


def test_where_everlong_has_gone_on_new_messages_stand_beside(user: User) -> None:
    store(user, talk(STRAIGHT))
    conversation = Conversation.objects.get()
    add_messages(conversation, ["and now here", "Gladly."])
    before = shown()
    more = [message("u3", "a2", after=10), message("a3", "u3", after=11)]
    stored = store(user, talk([*STRAIGHT, *more]))
    assert (stored.added, stored.beside) == (2, 2)
    assert shown() == before
    new = Message.objects.get(text="text of u3")
    assert not new.active
    assert new.parent
    assert new.parent.text == "text of a2"


HALF = [*STRAIGHT[:3], message("a2", "u2", "It is", after=3, status="interrupted")]
SEARCH = {"type": "tool_use", "id": "call-9", "name": "search", "input": {}}
FOUND = {"type": "tool_result", "tool_use_id": "call-9", "content": "a page"}
WHOLE = [
    *STRAIGHT[:3],
    message("a2", "u2", blocks=[{"type": "text", "text": "It is a page."}, SEARCH], after=3),
    message("u2-results", "a2", blocks=[FOUND], after=4),
    message("a2/3", "u2-results", "That one.", after=5, origins=["a2/3", "a2/node"]),
]


def test_an_answer_that_was_exported_half_is_whole_after_the_next_export(user: User) -> None:
    store(user, talk(HALF))
    stored = store(user, talk(WHOLE))
    assert (stored.added, stored.known, stored.beside) == (3, 3, 0)
    assert shown() == ["u1", "a1", "u2", "It is a page.\n\n[search {}]", "a page", "That one."]
    half = Message.objects.get(text="It is")
    assert (half.active, half.parent and half.parent.text) == (False, "text of u2"), "a version"
    state = load_state(Conversation.objects.get().pk)
    assert not find_violations(assemble(state.context).body())
    assert store(user, talk(WHOLE)).added == store(user, talk(HALF)).added == 0


def test_a_node_more_in_the_same_answer_is_a_new_version_of_it(user: User) -> None:
    store(user, talk(WHOLE))
    blocks = [{"type": "text", "text": text} for text in ("That one.", "Or not.")]
    last = message("a2/3", "u2-results", blocks=blocks, origins=["a2/3", "a2/node", "a2/next"])
    longer = [*WHOLE[:-1], last]
    assert store(user, talk(longer)).added == 1
    assert "Or not." in shown()[-1]
    assert store(user, talk(longer)).added == 0


def test_half_an_answer_that_was_gone_on_with_here_stays(user: User) -> None:
    store(user, talk(HALF))
    add_messages(Conversation.objects.get(), ["go on", "As you like."])
    stored = store(user, talk(WHOLE))
    assert (stored.added, stored.beside) == (3, 3)
    assert shown() == ["u1", "a1", "u2", "It is", "go on", "As you like."]


def test_half_an_answer_that_was_deleted_here_does_not_come_back(user: User) -> None:
    store(user, talk(HALF))
    Message.objects.get(text="It is").delete()
    store(user, talk(WHOLE[:4]))
    assert shown() == ["u1", "a1", "u2"]


def test_an_import_that_was_cut_in_half_an_answer_is_completed_by_a_newer_export(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing_messages, "BATCH_MESSAGES", 4)

    def cut(seconds: float) -> None:
        raise Cut

    with pytest.raises(Cut):
        store(user, talk(HALF), after_write=cut)
    assert store(user, talk(WHOLE)).is_new
    assert shown() == ["u1", "a1", "u2", "It is a page.\n\n[search {}]", "a page", "That one."]


def test_an_answer_that_is_being_written_is_not_disturbed(user: User) -> None:
    store(user, talk(STRAIGHT))
    make_turn(Conversation.objects.get())
    stored = store(user, talk([*STRAIGHT, message("u3", "a2", after=10)]))
    assert (stored.added, stored.beside) == (1, 1)
    assert shown()[-1] == "a2"


def test_a_message_that_was_deleted_here_does_not_come_back(user: User) -> None:
    store(user, talk(STRAIGHT))
    Message.objects.get(text="text of a2").delete()
    stored = store(user, talk([*STRAIGHT, message("u3", "a2", after=10)]))
    assert (stored.added, stored.known) == (1, 4)
    assert Message.objects.get(text="text of u3").parent == Message.objects.get(text="text of u2")


def test_what_its_owner_has_just_deleted_can_still_be_restored(user: User) -> None:
    store(user, talk(STRAIGHT))
    conversation = Conversation.objects.get()
    conversations.discard_conversations(user, [conversation.pk])
    assert store(user, talk(STRAIGHT)).added == 0
    assert not Conversation.objects.of(user).exists()
    conversations.restore_conversations(user, [conversation.pk])
    assert shown() == ["u1", "a1", "u2", "a2"]


def test_what_was_deleted_for_good_can_be_imported_again(user: User) -> None:
    store(user, talk(STRAIGHT))
    conversations.delete_conversation(Conversation.objects.get())
    assert not Origin.objects.exists()
    assert not MessageOrigin.objects.exists()
    assert store(user, talk(STRAIGHT)).is_new


def test_one_person_s_import_says_nothing_of_another_s(user: User) -> None:
    store(user, talk(STRAIGHT))
    assert store(make_user("Other"), talk(STRAIGHT)).is_new
    assert store(user, talk(STRAIGHT, account="second account")).is_new


class Cut(Exception):
    pass


def test_a_conversation_that_was_cut_short_is_not_listed_and_the_next_import_completes_it(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing_messages, "BATCH_MESSAGES", 3)

    def cut(seconds: float) -> None:
        raise Cut

    with pytest.raises(Cut):
        store(user, talk(BRANCHED, leaf="a2"), after_write=cut)
    assert Message.objects.count() == 3
    assert not Conversation.objects.of(user).exists()
    sweep.sweep()
    # A newer file shows another branch.
    stored = store(user, talk(BRANCHED, leaf="a2c"))
    assert (stored.is_new, stored.added, stored.known) == (True, 4, 3)
    assert Conversation.objects.of(user).exists()
    assert shown() == ["u1", "a1", "u2b", "a2c"]


def test_one_that_is_never_completed_is_removed(user: User) -> None:
    def cut(seconds: float) -> None:
        raise Cut

    with pytest.raises(Cut):
        store(user, talk(STRAIGHT), after_write=cut)
    Conversation.objects.update(deleted_at=timezone.now() - timedelta(minutes=1))  # a day later
    sweep.sweep()
    assert not Conversation.objects.exists()


def test_files_are_attachments_and_what_cannot_be_kept_is_named(user: User) -> None:
    files = [
        ImportedFile("note.txt", lambda: io.BytesIO(b"a telescope")),
        ImportedFile("dot.png", lambda: io.BytesIO(picture())),
        ImportedFile("tool.exe", lambda: io.BytesIO(b"MZ\0\1\2" * 50)),
    ]
    only = message("u2", "a1", blocks=[], files=[ImportedFile("x.bin", lambda: io.BytesIO(b""))])
    stored = store(user, talk([message("u1", None, files=files), message("a1", "u1"), only]))
    assert stored.files == 2
    assert [words.split()[0] for words in stored.lost] == ["tool.exe", "x.bin"]
    first, _, last = Message.objects.order_by("number")
    assert [b.get("title") for b in first.blocks] == ["note.txt", "dot.png", None]
    assert first.attachments.count() == 2
    assert "x.bin" in last.text, "a message without content could not be sent"
    assert SearchEntry.objects.get(message=first).terms.count("telescop") == 1


def test_how_an_answer_ended_is_kept(user: User) -> None:
    messages = [
        message("u1", None),
        message("a1", "u1", status="failed", error="It was too much."),
        message("u2", "a1"),
        message("a2", "u2", status="interrupted"),
    ]
    store(user, talk(messages))
    ended = [(t.status, t.error and t.error["message"]) for t in Turn.objects.order_by("pk")]
    assert ended == [("failed", "It was too much."), ("cancelled", None)]
    assert {turn.created_at for turn in Turn.objects.all()} == {BEGAN}


def test_a_name_its_place_and_its_model_come_along(user: User) -> None:
    make_profile("gpt-4")
    named = talk(STRAIGHT, title=" My\ntalk ", model="gpt-4", archived=True, pinned=True)
    store(user, named)
    row = Conversation.objects.get()
    assert (row.title, row.title_edited, row.model) == ("My talk", True, "gpt-4")
    assert row.archived
    assert row.pinned


def test_without_a_name_it_has_its_first_words_and_a_model_that_is_offered(user: User) -> None:
    store(user, talk(STRAIGHT, model="gone"))
    row = Conversation.objects.get()
    assert (row.title, row.title_edited, row.model) == (
        "text of u1",
        False,
        find_default_name(user.pk),
    )


def test_without_messages_there_is_no_conversation(user: User) -> None:
    assert store(user, talk([])).conversation_id is None
    assert not Conversation.objects.exists()
