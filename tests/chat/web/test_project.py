"""Projects over HTTP: their pages, the list beside the chat, moves and the export."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client

from accounts.models import User
from chat.db.threads import in_db
from chat.models import Conversation, Memory, Project
from chat.services.library import memories, projects
from tests.chat.factories import make_conversation, make_conversations, make_profile, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def files_are_kept_apart(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def client(user: User) -> Client:
    made = Client()
    made.force_login(user)
    return made


@pytest.fixture
def project(user: User) -> Project:
    return projects.create_project(user, "Sea trip")


def listed(client: Client, path: str = "/sidebar/") -> dict[str, list[str]]:
    """The titles of the sidebar by heading; those of projects end with the link to their page."""
    html = client.get(path).content.decode()
    found = {}
    for section in html.split("<section")[1:]:
        heading = re.search(r'id="group-\d+"[^>]*>(?:\s*<i[^>]*></i>)?([^<]+)', section)
        assert heading
        links = re.findall(r"<li>\s*<a[^>]*>([^<]*)</a>", section)
        found[heading[1].strip()] = [" ".join(link.split()) for link in links]
    return found


def test_a_project_is_made_changed_and_deleted_on_its_pages(client: Client, user: User) -> None:
    refused = client.post("/projects/", {"name": " "})
    assert (refused.status_code, b"Write a name." in refused.content) == (422, True)
    page = client.post("/projects/", {"name": "Sea trip"})["Location"]
    form = {"name": "Sea", "instructions": "In miles.", "model": "", "context_budget": "75000"}
    assert client.post(page, form).status_code == 302
    made = Project.objects.get()
    assert (made.owner, made.name, made.instructions, made.context_budget) == (
        user,
        "Sea",
        "In miles.",
        75_000,
    )
    assert b"In miles." in client.get(page).content
    assert client.post(page, form | {"name": ""}).status_code == 422
    assert client.post(page, form | {"model": "unknown"}).status_code == 422
    long = client.post(page, form | {"instructions": "x" * 20_001})
    assert b"20,001" in long.content
    client.post(f"{page}archive/", {"archived": "1"})
    assert Project.objects.get().archived
    assert client.post(f"{page}delete/").status_code == 302
    assert not Project.objects.exists()


PATHS = ("", "archive/", "delete/", "export.zip", "files/", f"files/{uuid4()}/")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_strangers_project_is_not_there(project: Project, path: str, method: str) -> None:
    client = Client()
    client.force_login(make_user())
    response = getattr(client, method)(f"{project.get_absolute_url()}{path}")
    assert response.status_code in (404, 405)
    project.refresh_from_db()
    assert not project.archived


def test_a_strangers_project_takes_no_conversation_and_no_fact(
    client: Client, conversation: Conversation
) -> None:
    foreign = projects.create_project(make_user(), "Theirs")
    data = {"id": str(conversation.pk), "project": str(foreign.pk)}
    assert client.post("/c/change/", data).status_code == 404
    assert client.post("/memories/", {"text": "A", "project": foreign.pk}).status_code == 404
    assert client.get(f"/?project={foreign.pk}").status_code == 404


def test_the_list_shows_projects_with_their_newest_conversations(
    client: Client, user: User, project: Project
) -> None:
    make_conversations(user, 7, project=project)
    make_conversation(user, title="Alone")
    make_conversation(user, title="On top", project=project, pinned=True)
    groups = listed(client)
    assert list(groups) == ["Pinned", "Sea trip", "Today"]
    assert groups["Pinned"] == ["On top"]
    assert groups["Today"] == ["Alone"]
    assert groups["Sea trip"][-1] == "All 8 conversations"
    assert len(groups["Sea trip"]) == 6
    assert [*listed(client, "/sidebar/?q=number")] == []
    assert listed(client, "/sidebar/?q=Conversation 3") == {"Today": ["Conversation 3"]}


def test_the_project_that_was_used_last_stands_first(
    client: Client, user: User, project: Project
) -> None:
    projects.create_project(user, "Kitchen")
    assert list(listed(client)) == ["Kitchen", "Sea trip"]
    make_conversation(user, project=project)
    assert list(listed(client)) == ["Sea trip", "Kitchen"]


def test_an_archived_project_leaves_the_list_with_its_conversations(
    client: Client, user: User, project: Project
) -> None:
    make_conversation(user, title="On top", project=project, pinned=True)
    projects.set_project_archived(project, archived=True)
    assert listed(client) == {}
    assert b"Continue" not in client.get("/").content
    assert b"Sea trip" in client.get("/projects/").content


def test_the_project_of_the_shown_conversation_is_unfolded(
    client: Client, conversation: Conversation, project: Project
) -> None:
    folded = b'aria-expanded="false"'
    assert folded in client.get("/sidebar/").content
    projects.move_conversations(project.owner, [conversation.pk], project)
    assert folded not in client.get(f"/sidebar/?current={conversation.pk}").content


def test_conversations_are_moved_from_their_menu(
    client: Client, conversation: Conversation, project: Project
) -> None:
    dialog = client.get(f"{conversation.get_absolute_url()}move/").content.decode()
    assert f'data-move="{project.pk}"' in dialog
    assert "No project" not in dialog
    for value in str(project.pk), "":
        data = {"id": str(conversation.pk), "project": value}
        before = str(conversation.project_id or "")
        assert client.post("/c/change/", data).json() == {before: [str(conversation.pk)]}
        conversation.refresh_from_db()
        assert str(conversation.project_id or "") == value
    made = client.post("/projects/", {"name": "New", "conversation": conversation.pk})
    conversation.refresh_from_db()
    assert conversation.project is not None
    assert made["Location"] == conversation.project.get_absolute_url()


def test_several_conversations_are_moved_at_once_and_put_back_where_each_was(
    client: Client, user: User, project: Project
) -> None:
    kitchen = projects.create_project(user, "Kitchen")
    rows = [make_conversation(user, project=place) for place in (None, project, project)]
    ids = [str(row.pk) for row in rows]
    dialog = client.get("/c/move/").content.decode()
    assert f'data-move="{project.pk}"' in dialog
    assert 'data-move=""' in dialog
    was = client.post("/c/change/", {"id": ids, "project": str(kitchen.pk)}).json()
    assert {place: sorted(moved) for place, moved in was.items()} == {
        "": ids[:1],
        str(project.pk): sorted(ids[1:]),
    }
    assert set(user.conversations.values_list("project", flat=True)) == {kitchen.pk}
    client.post("/projects/", {"name": "New", "conversation": ids})
    assert {row.project.name for row in user.conversations.all()} == {"New"}


def test_files_are_added_as_far_as_they_fit(client: Client, project: Project) -> None:
    page = project.get_absolute_url()
    uploads = [
        SimpleUploadedFile("log.txt", b"West wind."),
        SimpleUploadedFile("no.bin", b"\0\1"),
    ]
    response = client.post(f"{page}files/", {"file": uploads})
    html = response.content.decode()
    assert response.status_code == 422
    assert "no.bin cannot be sent" in html
    assert "log.txt" in html
    file = project.files.get()
    assert client.post(f"{page}files/{file.pk}/").status_code == 302
    assert not project.files.exists()
    assert client.post(f"{page}files/").status_code == 422


def test_each_file_that_stays_out_is_named_on_a_line(client: Client, project: Project) -> None:
    for number in range(projects.MAX_FILES - 1):
        projects.add_file(project, f"{number}.txt", b"Wind.")
    uploads = [SimpleUploadedFile(f"late-{n}.txt", b"Wind.") for n in range(4)]
    response = client.post(f"{project.get_absolute_url()}files/", {"file": uploads})
    html = response.content.decode()
    assert project.files.filter(name="late-0.txt").exists()
    told = re.findall(r"<li>(late-\d\.txt) was not added: a project has at most 20 files\.", html)
    assert told == ["late-1.txt", "late-2.txt", "late-3.txt"]


def test_facts_are_kept_where_they_are_said(
    client: Client, conversation: Conversation, project: Project
) -> None:
    projects.move_conversations(project.owner, [conversation.pk], project)
    told = client.post(
        "/memories/",
        {"text": "We sail in May", "conversation": conversation.pk},
        headers={"x-requested-with": "fetch"},
    )
    assert "project “Sea trip”" in told.content.decode()
    client.post("/memories/", {"text": "Likes tea", "project": project.pk})
    client.post("/memories/", {"text": "Lives in Graz"})
    facts = dict(Memory.objects.values_list("text", "project__name"))
    assert facts == {"We sail in May": "Sea trip", "Likes tea": "Sea trip", "Lives in Graz": None}
    page = client.get(project.get_absolute_url()).content
    assert b"Lives in Graz" not in page
    assert client.get("/memories/").content.count(project.get_absolute_url().encode()) == 2
    fact = Memory.objects.get(text="Likes tea")
    back = client.post(f"/memories/{fact.pk}/", {"delete": "1", "project": "1"})["Location"]
    assert back == f"{project.get_absolute_url()}#memories"


def test_the_palette_finds_projects_by_name(client: Client, project: Project) -> None:
    assert project.get_absolute_url().encode() in client.get("/palette/?q=sea").content
    assert b"Sea trip" not in client.get("/palette/?q=land").content


def test_a_search_can_be_of_a_project_alone(client: Client, user: User, project: Project) -> None:
    projects.create_project(user, "Sea")
    make_conversation(user, messages=["The harbour?", "Deep."], title="Trip", project=project)
    make_conversation(user, messages=["The bay."], title="Harbour dues", project=project)
    make_conversation(user, messages=["A harbour too."], title="Harbour alone")
    make_conversation(messages=["My harbour."], title="A stranger's harbour")

    def found(query: str, path: str = "/palette/") -> list[str]:
        html = client.get(path, {"q": query}).content.decode()
        links = re.findall(r'href="/c/[^"]+"[^>]*>(?:([^<]+)</a>|\s*<span[^>]*>([^<]+))', html)
        return sorted("".join(link) for link in links)

    for path in "/palette/", "/sidebar/":
        assert found('in:"Sea trip"', path) == ["Harbour dues", "Trip"]
        assert found("in:trip harbour", path) == ["Harbour dues", "Trip"]
        assert found('harbour in:title in:"sea tr', path) == ["Harbour dues"]
        assert found("harbour in:sea", path) == []  # a name counts before what begins so
        assert found("harbour in:title", path) == ["Harbour alone", "Harbour dues"]
        assert "No project has this name" in client.get(path, {"q": "in:land"}).content.decode()


def test_a_new_chat_in_a_project_offers_its_model(client: Client, project: Project) -> None:
    make_profile("claude-haiku-4-5", display_name="Haiku")
    projects.change_project(project, {"model": "claude-haiku-4-5"})
    html = client.get(f"/?project={project.pk}").content.decode()
    assert f'name="project" value="{project.pk}"' in html
    assert re.search(r'<option value="claude-haiku-4-5"[^>]* selected>', html)


def test_a_chat_in_a_project_that_was_deleted_meanwhile_keeps_its_text(
    client: Client, project: Project
) -> None:
    data = {"text": "Plan the day.", "project": str(project.pk)}
    projects.delete_project(project, keep_memories=False)
    response = client.post("/c/", data)
    html = response.content.decode()
    assert response.status_code == 422
    assert "This project was deleted." in html
    assert "Plan the day." in html
    assert not Conversation.objects.exists()


async def test_the_export_holds_everything_once(user: User, project: Project) -> None:
    client = AsyncClient()
    await client.aforce_login(user)
    await in_db(projects.change_project, project, {"instructions": "In miles."})
    for content in b"West wind.", b"East wind.":
        await in_db(projects.add_file, project, "log.txt", content)
    await in_db(memories.remember_fact, user.pk, "A", Memory.Source.USER, project_id=project.pk)
    for title in "../Day 1", "Tag zwei":
        await in_db(make_conversation, user, title=title, project=project, messages=4)
    response: Any = await client.get(f"{project.get_absolute_url()}export.zip")
    assert response["Content-Disposition"] == 'attachment; filename="sea-trip.zip"'
    archive = ZipFile(BytesIO(b"".join([chunk async for chunk in response.streaming_content])))
    assert archive.testzip() is None
    assert archive.namelist() == [
        "everlong.json",
        "project.json",
        "files/01 log.txt",
        "files/02 log.txt",
        *(
            f"conversations/{name}.{form}"
            for name in ("0001 day-1", "0002 tag-zwei")
            for form in ("json", "md")
        ),
    ]
    about = json.loads(archive.read("project.json"))
    assert (about["instructions"], about["facts"][0]["text"]) == ("In miles.", "A")
    assert archive.read("files/02 log.txt") == b"East wind."
    assert len(json.loads(archive.read("conversations/0001 day-1.json"))["messages"]) == 4
