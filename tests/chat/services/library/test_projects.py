"""Projects: what their conversations are told, what fits them, and what their end leaves behind."""

from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from agent.context.assemble import assemble
from chat.engine.state import load_state
from chat.errors import RefusalCode, Refused
from chat.models import Attachment, Conversation, Memory, Project, Turn
from chat.services.library import attachments, conversations, memories, projects
from chat.services.turns import requests
from chat.services.turns.endings import TurnOutcome, end_turn
from chat.services.turns.turns import NewMessage
from tests.chat.factories import HOLDER, make_conversation, make_profile, make_turn, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def files_are_kept_apart(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def project(user: User) -> Project:
    made = projects.create_project(user, "  Sea \n trip ")
    projects.change_project(made, {"instructions": "Distances in nautical miles."})
    return made


def sent(conversation: Conversation) -> dict[str, Any]:
    return assemble(load_state(conversation.pk).context).body()


def static(conversation: Conversation) -> str:
    return str(sent(conversation)["system"][0]["text"])


def refused(code: RefusalCode, call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(Refused) as refusal:
        call(*arguments, **named)
    assert refusal.value.code == code
    return refusal.value.message


def test_instructions_stand_between_the_sites_prompt_and_the_conversations_own(
    project: Project, conversation: Conversation
) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(system_prompt="Be brief.")
    assert projects.move_conversations(project.owner, [conversation.pk], project) == {
        None: [conversation.pk]
    }
    text = static(conversation)
    assert text.index("The project “Sea trip”") < text.index("nautical") < text.index("Be brief.")
    assert text == static(conversation)  # the same bytes again


def test_instructions_and_files_count_as_the_projects_part_of_the_context(
    project: Project, conversation: Conversation
) -> None:
    before = load_state(conversation.pk)
    projects.add_file(project, "log.txt", b"The wind came from the west. " * 40)
    projects.move_conversations(project.owner, [conversation.pk], project)
    after = load_state(conversation.pk)
    assert (before.size.project, before.size.conversation) == (0, after.size.conversation)
    assert after.size.project > 200
    assert after.used == before.used + after.size.project


@pytest.mark.on_both
def test_a_change_reaches_the_idle_and_waits_for_the_turn_that_runs(
    project: Project, conversation: Conversation
) -> None:
    busy = make_conversation(project.owner, messages=4, project=project)
    projects.move_conversations(project.owner, [conversation.pk, busy.pk], project)
    turn = make_turn(busy)
    projects.change_project(project, {"instructions": "Distances in kilometres."})
    assert "kilometres" in static(conversation)
    assert "nautical" in static(busy)
    end_turn(turn.pk, TurnOutcome(Turn.Status.COMPLETED))
    start = requests.send_message(
        project.owner, busy.pk, NewMessage("And now?"), expected_head=None, holder=HOLDER
    )
    assert start is not None
    assert "kilometres" in start.state.context.project
    busy.refresh_from_db()
    assert busy.meter_valid_from >= 5  # what was reported before was of another request


def test_a_turn_that_finds_nothing_new_leaves_the_meter_alone(project: Project) -> None:
    talk = make_conversation(project.owner, messages=4, project=project)
    projects.refresh_idle(project)
    talk.refresh_from_db()
    before = talk.meter_valid_from
    requests.send_message(
        project.owner, talk.pk, NewMessage("Go on."), expected_head=None, holder=HOLDER
    )
    talk.refresh_from_db()
    assert talk.meter_valid_from == before


def test_files_come_before_all_messages_and_images_by_number(
    project: Project, conversation: Conversation
) -> None:
    projects.add_file(project, "../log.txt", b"West wind.")
    projects.move_conversations(project.owner, [conversation.pk], project)
    first = sent(conversation)["messages"][0]
    listed, document, said = first["content"]
    assert (first["role"], document["type"], document["title"]) == ("user", "document", "log.txt")
    assert "1. log.txt" in listed["text"]
    assert said["text"] == "Message number 1."


def test_a_file_that_takes_more_than_a_quarter_of_the_budget_is_refused(project: Project) -> None:
    make_profile("small-model", context_window=16_000)
    projects.change_project(project, {"model": "small-model"})
    words = refused(
        RefusalCode.PROJECT_FULL, projects.add_file, project, "big.txt", b"one two " * 2_500
    )
    assert "4,000 tokens" in words
    projects.add_file(project, "fits.txt", b"one two " * 1_000)
    refused(RefusalCode.PROJECT_FULL, projects.add_file, project, "b.txt", b"one two " * 1_500)
    refused(RefusalCode.FILE_TYPE, projects.add_file, project, "b.bin", b"\0\1\2")


def test_what_does_not_fit_a_smaller_model_is_left_out_and_named(project: Project) -> None:
    make_profile("small-model", context_window=16_000)
    projects.add_file(project, "big.txt", b"one two " * 4_000)
    projects.add_file(project, "note.txt", b"Short.")
    talk = make_conversation(project.owner, messages=2, model="small-model", project=project)
    projects.refresh_idle(project)
    listed, document, _ = sent(talk)["messages"][0]["content"]
    assert document["title"] == "note.txt"
    assert listed["text"].endswith("do not fit:\n- big.txt")
    conversations.change_settings(talk, {"model": make_profile().name})
    _, *documents, _ = sent(talk)["messages"][0]["content"]
    assert [each["title"] for each in documents] == ["big.txt", "note.txt"]


def test_the_budget_is_that_of_conversations_without_one(project: Project) -> None:
    plain = make_conversation(project.owner, project=project)
    chosen = make_conversation(project.owner, project=project, context_budget=50_000)
    projects.change_project(project, {"context_budget": 75_000})
    budgets = [load_state(row.pk).limits.budget for row in (plain, chosen)]
    assert budgets == [75_000, 50_000]


def test_moving_out_takes_everything_back(project: Project, conversation: Conversation) -> None:
    before = sent(conversation)
    projects.add_file(project, "log.txt", b"West wind.")
    projects.move_conversations(project.owner, [conversation.pk], project)
    projects.move_conversations(project.owner, [conversation.pk], None)
    assert sent(conversation) == before


def test_nobody_moves_what_is_somebody_elses(project: Project) -> None:
    foreign = make_conversation(messages=1)
    assert projects.move_conversations(project.owner, [foreign.pk], project) == {}
    with pytest.raises(Project.DoesNotExist):
        projects.load_project(make_user(), project.pk)


@pytest.mark.on_both
def test_deleting_a_project_leaves_its_conversations(
    project: Project, conversation: Conversation
) -> None:
    file = projects.add_file(project, "log.txt", b"West wind.")
    path = Path(file.file.path)
    projects.move_conversations(project.owner, [conversation.pk], project)
    Memory.objects.create(owner=project.owner, project=project, text="A", key="a", source="user")
    projects.delete_project(project, keep_memories=False)
    conversation.refresh_from_db()
    assert conversation.project is None
    assert conversation.project_parts == {}
    assert not path.exists()
    assert not Memory.objects.exists()
    assert not Attachment.objects.exists()


def test_facts_of_a_deleted_project_can_be_kept_each_once(project: Project) -> None:
    owner = project.owner
    memories.remember_fact(owner.pk, "Likes tea.", Memory.Source.USER)
    for text in ("Likes tea.", "Sails alone."):
        memories.remember_fact(owner.pk, text, Memory.Source.USER, project_id=project.pk)
    projects.delete_project(project, keep_memories=True)
    assert [row.text for row in Memory.objects.order_by("pk")] == ["Likes tea.", "Sails alone."]


def test_texts_are_checked(user: User, project: Project) -> None:
    assert project.name == "Sea trip"
    refused(RefusalCode.EMPTY_NAME, projects.create_project, user, " \n")
    refused(RefusalCode.NAME_TOO_LONG, projects.create_project, user, "x" * 101)
    long = {"instructions": "x" * 20_001}
    assert "20,001" in refused(
        RefusalCode.INSTRUCTIONS_TOO_LONG, projects.change_project, project, long
    )


def test_a_projects_file_is_no_unsent_one(project: Project) -> None:
    file = projects.add_file(project, "log.txt", b"West wind.")
    Attachment.objects.update(created_at="2020-01-01T00:00Z")
    assert attachments.delete_unsent() == 0
    refused(RefusalCode.FILE_GONE, attachments.load_for_sending, project.owner, [str(file.pk)])
    projects.remove_file(project, file.pk)
    assert not Attachment.objects.exists()
