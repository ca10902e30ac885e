"""What a leaver's projects and conversations take along to somebody else, and what stays."""

from typing import Any

import pytest

from accounts.models import AuditEntry, User
from chat.db.threads import in_db
from chat.engine.state import load_state
from chat.models import (
    Attachment,
    Compaction,
    Conversation,
    Memory,
    MemoryProposal,
    SearchEntry,
    Share,
)
from chat.queries.holdings import find_holdings
from chat.queries.typed_search import find_typed
from chat.services.library import attachments, memories, projects
from chat.services.people.handing_over import HandedOver, hand_over
from chat.services.turns import requests
from chat.services.turns.turns import NewMessage
from tests.chat.factories import (
    HOLDER,
    make_compaction,
    make_conversation,
    make_turn,
    make_user,
)
from tests.chat.sockets import Chat, sign_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_both]


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def ada(transactional_db: None) -> User:
    return make_user("ada")


@pytest.fixture
def bob(transactional_db: None) -> User:
    return make_user("bob")


def give_all(owner: User, receiver: User, by: User | None = None) -> HandedOver:
    held = find_holdings(owners=[owner])
    return hand_over(held.projects, held.single, receiver, by=by)


def found(user: User, words: str) -> list[str]:
    return [str(hit.conversation_id) for hit in find_typed(user.pk, words, limit=10)]


# --- What goes along ------------------------------------------------------------------------------


def test_all_that_somebody_has_goes_and_is_found_by_the_receiver_alone(
    ada: User, bob: User
) -> None:
    project = projects.create_project(ada, "Garden")
    member = make_conversation(ada, project=project, messages=["Plant the wisteria", "Yes."])
    single = make_conversation(ada, messages=["Feed the axolotl", "Yes."])
    own = make_conversation(bob, messages=["Wisteria and axolotl", "Yes."])
    assert found(ada, "wisteria") == [str(member.pk)]
    assert give_all(ada, bob) == HandedOver(projects=1, conversations=2, busy=0)
    assert not Conversation.objects.filter(owner=ada).exists()
    for words, row in (("wisteria", member), ("axolotl", single)):
        assert found(ada, words) == []
        assert {*found(bob, words)} == {str(row.pk), str(own.pk)}
    assert set(SearchEntry.objects.values_list("owner", flat=True)) == {bob.pk}
    member.refresh_from_db()
    project.refresh_from_db()
    assert (member.project, project.owner) == (project, bob)
    assert give_all(ada, bob) == HandedOver(projects=0, conversations=0, busy=0)


def test_many_messages_are_found_after_they_were_handed_over(
    ada: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.services.library.search_index.BATCH", 3)
    talk = make_conversation(ada, messages=[f"Word{number} here" for number in range(10)])
    give_all(ada, bob)
    for number in range(10):
        assert found(bob, f"word{number}") == [str(talk.pk)]
    for terms in SearchEntry.objects.values_list("terms", flat=True):
        assert all(token.startswith(f"u{bob.pk}x") for token in terms.split(" "))


def test_files_and_a_projects_facts_go_along(ada: User, bob: User) -> None:
    project = projects.create_project(ada, "Garden")
    member = make_conversation(ada, project=project, messages=2)
    of_project = projects.add_file(project, "soil.txt", b"Loam")
    sent = attachments.store_unsent(ada, "list.txt", b"Bulbs")
    sent.messages.add(member.messages.first())
    unsent = attachments.store_unsent(ada, "later.txt", b"Later")
    memories.remember_fact(ada.pk, "Loam", Memory.Source.USER, project_id=project.pk)
    give_all(ada, bob)
    owners = dict(Attachment.objects.values_list("pk", "owner__username"))
    assert owners == {of_project.pk: "bob", sent.pk: "bob", unsent.pk: "ada"}
    assert Memory.objects.get().owner == bob
    assert "Loam" in str(memories.list_told(bob.pk, project.pk).get())


def test_nothing_of_the_person_goes_along(ada: User, bob: User) -> None:
    talk = make_conversation(
        ada,
        messages=2,
        pinned=True,
        memory_text="- [1] Lives in Graz",
        tool_settings={"mcp": ["notes"], "mcp_allowed": ["notes"]},
    )
    fact, _ = memories.remember_fact(
        ada.pk, "Lives in Graz", Memory.Source.AGENT, conversation_id=talk.pk, message_number=1
    )
    memories.propose_fact(ada.pk, "Has a dog", talk.pk, 1)
    link = Share.objects.create(conversation=talk)
    give_all(ada, bob)
    talk.refresh_from_db()
    assert (talk.memory_text, talk.pinned) == ("", False)
    assert talk.tool_settings == {"mcp": ["notes"]}, "whether it may act is asked again"
    fact.refresh_from_db()
    assert (fact.owner, fact.conversation) == (ada, None)
    assert not MemoryProposal.objects.exists()
    link.refresh_from_db()
    assert link.revoked_at


def test_a_single_conversation_leaves_its_project(ada: User, bob: User) -> None:
    project = projects.create_project(ada, "Garden")
    projects.change_project(project, {"instructions": "Prune in March."})
    talk, stays = (make_conversation(ada, project=project, messages=2) for _ in range(2))
    projects.refresh_idle(project)
    assert "Prune" in load_state(talk.pk).context.project
    held = find_holdings(conversations=[talk.pk])
    assert hand_over(held.projects, held.single, bob, by=None).conversations == 1
    talk.refresh_from_db()
    assert (talk.owner, talk.project) == (bob, None)
    assert load_state(talk.pk).context.project == ""
    stays.refresh_from_db()
    assert (stays.owner, stays.project) == (ada, project)


def test_temporary_and_deleted_conversations_stay(ada: User, bob: User) -> None:
    project = projects.create_project(ada, "Garden")
    kept = make_conversation(ada, project=project, temporary=True, messages=2)
    single = make_conversation(ada, temporary=True)
    assert give_all(ada, bob) == HandedOver(projects=1, conversations=0, busy=0)
    for row in (kept, single):
        row.refresh_from_db()
        assert (row.owner, row.project) == (ada, None)


def test_the_receiver_goes_on_where_it_ended(ada: User, bob: User) -> None:
    talk = make_conversation(ada, messages=6)
    make_compaction(talk, through=4)
    talk.turns.all().delete()
    give_all(ada, bob)
    begun = requests.send_message(bob, talk.pk, NewMessage("Go on"), expected_head=6, holder=HOLDER)
    assert begun is not None
    assert begun.message is not None
    assert begun.state.context.summary.text
    with pytest.raises(Conversation.DoesNotExist):
        requests.send_message(ada, talk.pk, NewMessage("Mine"), expected_head=7, holder=HOLDER)


# --- What runs ------------------------------------------------------------------------------------


def test_what_is_being_answered_stays_until_it_is_asked_for_again(ada: User, bob: User) -> None:
    project = projects.create_project(ada, "Garden")
    member = make_conversation(ada, project=project, messages=2)
    other = make_conversation(ada, project=project, messages=2)
    single, idle = (make_conversation(ada, messages=2) for _ in range(2))
    turns = [make_turn(member), make_turn(single)]
    assert give_all(ada, bob) == HandedOver(projects=0, conversations=1, busy=2)
    for row in (member, other, single):
        row.refresh_from_db()
        assert row.owner == ada, "a project goes as a whole"
    idle.refresh_from_db()
    assert idle.owner == bob
    for turn in turns:
        turn.status = "completed"
        turn.save()
    assert give_all(ada, bob) == HandedOver(projects=1, conversations=3, busy=0)


def test_what_is_prepared_for_the_owner_ends(ada: User, bob: User) -> None:
    talk = make_conversation(ada, messages=6)
    prepared = make_compaction(talk, through=4, status=Compaction.Status.RUNNING, turn=None)
    talk.turns.all().delete()
    give_all(ada, bob)
    prepared.refresh_from_db()
    assert prepared.status == Compaction.Status.CANCELLED


async def test_the_owners_pages_are_closed_and_the_receivers_list_shows_it(chat: Chat) -> None:
    bob = await in_db(make_user, "bob")
    tab = await chat.open()
    mine = await in_db(lambda: make_conversation(bob))
    elsewhere = await chat.open(mine, cookie=await in_db(sign_in, bob))
    await in_db(give_all, chat.user, bob)
    await tab.next("conversation.deleted")
    await tab.until(lambda: tab.closed_with)
    assert tab.closed_with == 4404
    shown = await elsewhere.next("conversation.updated")
    assert shown["id"] == str(chat.conversation.pk)
    page = f"/c/{chat.conversation.pk}/"
    assert (await chat.http.get(page)).status_code == 404


# --- The record -----------------------------------------------------------------------------------


def test_each_row_that_was_handed_over_is_recorded(ada: User, bob: User) -> None:
    root = make_user("root", admin=True)
    project = projects.create_project(ada, "Garden")
    rows = [
        make_conversation(ada, project=project, messages=2),
        make_conversation(ada, messages=2),
    ]
    give_all(ada, bob, by=root)
    entries = AuditEntry.objects.filter(act="hand over", actor=root, owner=ada)
    assert {entry.reason for entry in entries} == {f"to account {bob.pk}"}
    targets = {(entry.target_kind, entry.target_id) for entry in entries}
    assert targets == {("project", str(project.pk)), *(("conversation", str(r.pk)) for r in rows)}


def test_what_goes_along_is_counted_before(ada: User) -> None:
    project = projects.create_project(ada, "Garden")
    member = make_conversation(ada, project=project, messages=4)
    make_conversation(ada, messages=2)
    make_conversation(ada, messages=2, temporary=True)
    projects.add_file(project, "soil.txt", b"Loam")
    Share.objects.create(conversation=member)
    held = find_holdings(owners=[ada])
    assert held.owners == [ada]
    assert held.count() == {
        "projects": 1,
        "conversations": 2,
        "messages": 6,
        "files": 1,
        "facts of projects": 0,
        "links that end": 1,
    }
