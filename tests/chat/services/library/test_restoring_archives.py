"""Whole archives of Everlong, through the job of an import: a project, an account; what is known
already, what was added since, and what Everlong 0.1 wrote."""

import json
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync

from accounts.models import User
from chat.jobs.imports import Import
from chat.models import Conversation, ImportJob, Memory, MemoryProposal, Project
from chat.queries.account_export import export_account
from chat.queries.archive_export import export_conversation, export_zip
from chat.services.library import memories, projects
from chat.services.turns import branches
from spending.models import ModelCall
from tests.chat.factories import add_messages, make_conversation, make_profile, make_user
from tests.chat.services.library.lives import answer, attach, compact, export, live, without_ids

pytestmark = [pytest.mark.usefixtures("transactional_db", "endless_minute")]


def collect(chunks: AsyncIterator[bytes]) -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in chunks])

    return async_to_sync(read)()


def run(owner: User, data: bytes | str, folder: Path) -> dict[str, Any]:
    """What an import of a file comes to: the totals of its report."""
    path = folder / "given"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    name = "export.zip" if data[:2] == b"PK" else "export.json"
    job = ImportJob.objects.create(owner=owner, status=ImportJob.Status.RUNNING)
    Import(job).run([(name, path)])
    job.refresh_from_db()
    assert job.status == ImportJob.Status.COMPLETED, job.error
    totals: dict[str, Any] = job.report["totals"]
    return totals


@pytest.fixture
def owner() -> User:
    """With a project that has a file, a fact and a conversation, and a conversation beside it."""
    user = make_user()
    project = projects.create_project(user, "Sea trip")
    values = {"instructions": "In miles.", "context_budget": 50_000}
    projects.change_project(project, values)
    projects.add_file(project, "map.txt", b"here be dragons")
    talk = make_conversation(owner=user, title="Day 1", project=project, messages=4)
    live(talk, [(attach, 1), (compact, 2), (answer, 3)])
    memories.remember_fact(
        user.pk, "Likes maps", Memory.Source.USER, conversation_id=talk.pk, message_number=1
    )
    memories.remember_fact(user.pk, "Sails", Memory.Source.AGENT, project_id=project.pk)
    memories.propose_fact(user.pk, "Owns a boat", talk.pk, 1)
    make_conversation(owner=user, title="Put away", archived=True, messages=2)
    user.appearance = "dark"
    user.save()
    return user


def listing(data: bytes) -> dict[str, Any]:
    """What an account's archive holds, without ids and moments."""
    archive = ZipFile(BytesIO(data))
    ids: dict[str, str] = {}
    found = {}
    for name in sorted(archive.namelist()):
        if name.startswith("conversations/") and name.endswith(".json"):
            found[name] = json.loads(archive.read(name))["messages"][0]["blocks"]
        elif name.startswith("projects/"):
            about = archive.read(name).decode()
            for file in json.loads(about)["files"] if name.endswith(".json") else ():
                ids[file["id"]] = "file"
            project = json.loads(about)["id"] if name.endswith(".json") else ""
            for before in filter(None, [*ids, project]):
                about = about.replace(before, "id")
            found[name] = about
        elif name == "memory.json":
            memory = json.loads(archive.read(name))
            found[name] = [[row["text"], row["created_at"]] for row in memory["facts"]]
            found["proposals"] = [row["text"] for row in memory["proposals"]]
    return found


def test_an_account_comes_back_with_everything(owner: User, tmp_path: Path) -> None:
    before = collect(export_account(owner))
    calls = ModelCall.objects.count()
    heir = make_user()
    totals = run(heir, before, tmp_path)
    assert (totals["new"], totals["projects"], totals["facts"]) == (2, 1, 2)
    assert "skipped" not in totals
    assert listing(collect(export_account(heir))) == listing(before)
    heir.refresh_from_db()
    assert heir.appearance == "dark"
    talk = Conversation.objects.get(owner=heir, title="Day 1")
    assert talk.project == Project.objects.get(owner=heir)
    assert talk.project_parts["instructions"].endswith("In miles.")
    assert MemoryProposal.objects.get(owner=heir).conversation == talk
    assert Memory.objects.get(owner=heir, text="Likes maps").conversation == talk
    assert ModelCall.objects.count() == calls
    again = run(heir, before, tmp_path)
    assert (again["known"], again.get("new", 0), again.get("added", 0)) == (2, 0, 0)
    assert not again.get("facts")
    assert Project.objects.filter(owner=heir).count() == 1


def test_a_project_comes_back_with_its_conversations(owner: User, tmp_path: Path) -> None:
    project = Project.objects.get(owner=owner)
    heir = make_user()
    totals = run(heir, collect(export_zip(project)), tmp_path)
    assert (totals["new"], totals["projects"], totals["files"]) == (1, 1, 2)
    back = Project.objects.get(owner=heir)
    assert (back.name, back.instructions, back.context_budget) == ("Sea trip", "In miles.", 50_000)
    assert back.created_at == project.created_at
    with back.files.get().file.open() as file:
        assert file.read() == b"here be dragons"
    assert Memory.objects.get(owner=heir).text == "Sails"


def test_a_conversation_comes_back_from_its_archive(owner: User, tmp_path: Path) -> None:
    talk = Conversation.objects.get(owner=owner, title="Day 1")
    heir = make_user()
    assert run(heir, collect(export_conversation(talk)), tmp_path)["new"] == 1
    back = Conversation.objects.get(owner=heir)
    assert without_ids(export(back)) == without_ids(export(talk))
    assert back.project is None


def test_again_only_what_is_new_is_added(tmp_path: Path) -> None:
    talk = make_conversation(messages=4)
    heir = make_user()
    run(heir, export(talk), tmp_path)
    assert run(heir, export(talk), tmp_path)["known"] == 1
    add_messages(talk, ["What else?", "This."])
    totals = run(heir, export(talk), tmp_path)
    assert (totals["continued"], totals["added"]) == (1, 2)
    back = Conversation.objects.get(owner=heir)
    shown = back.messages.filter(active=True).order_by("position")
    assert list(shown.values_list("text", flat=True))[-2:] == ["What else?", "This."]
    gone = back.messages.get(text="Message number 2.")
    branches.delete_message(heir, back.pk, gone.pk)
    assert run(heir, export(talk), tmp_path).get("added", 0) == 0


def test_what_one_document_lacks_harms_no_other(owner: User, tmp_path: Path) -> None:
    archive = ZipFile(BytesIO(collect(export_account(owner))))
    changed = BytesIO()
    with ZipFile(changed, "w") as written:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "conversations/0001 day-1.json":
                document = json.loads(data)
                del document["messages"][3]["blocks"]
                data = json.dumps(document).encode()
            written.writestr(name, data)
    heir = make_user()
    totals = run(heir, changed.getvalue(), tmp_path)
    assert (totals["new"], totals["skipped"]) == (1, 1)
    assert Conversation.objects.get(owner=heir).title == "Put away"


def test_what_everlong_0_1_wrote_comes_with_its_branches(tmp_path: Path) -> None:
    make_profile()

    def message(number: int, parent: int | None, role: str, text: str, **values: Any) -> Any:
        return {
            "number": number,
            "parent": parent,
            "shown": number != 2,
            "left_out": False,
            "role": role,
            "blocks": [{"type": "text", "text": text}],
            "status": "complete",
            "model": "",
            "usage": None,
            "created_at": f"2026-03-0{number} 10:00:00+00:00",
        } | values

    old = {
        "id": "6a1f4a52-8f21-4a3c-9d0e-0d9c2b7a1f11",
        "title": "Old times",
        "model": "test-model",
        "system_prompt": "",
        "created_at": "2026-03-01 09:00:00+00:00",
        "summary": "# Conversation so far",
        "messages": [
            message(1, None, "user", "Hello"),
            message(2, 1, "assistant", "Hi"),
            message(3, 1, "assistant", "Good d", status="interrupted"),
        ],
    }
    heir = make_user()
    assert run(heir, json.dumps(old), tmp_path)["added"] == 3
    back = Conversation.objects.get(owner=heir)
    assert (back.title, back.compressed_context) == ("Old times", None)
    rows = back.messages.order_by("number")
    columns = "number", "position", "active", "turn__status"
    assert list(rows.values_list(*columns)) == [
        (1, 0, True, None),
        (2, 1, False, None),
        (3, 1, True, "cancelled"),
    ]
    assert back.updated_at == rows[2].created_at
