"""An import from files to a report: what is stored, how it ends, and a process that is killed."""

import json
from collections.abc import Iterator, Mapping
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command

from accounts.models import User
from chat.importers.archive import Archive
from chat.importers.errors import BrokenArchive
from chat.importers.records import (
    Imported,
    ImportedConversation,
    ImportedMessage,
    ImportedProject,
    Offered,
    Skipped,
)
from chat.jobs import imports
from chat.models import Conversation, ImportJob, ImportOffer, Memory, Message, Origin, Project
from chat.queries.account_export import export_account
from chat.services.library import import_jobs, import_offers
from chat.services.library import projects as project_services
from tests.chat.factories import make_user
from tests.chat.importers.exports import chain, say, talk, write_json, write_zip

pytestmark = [pytest.mark.on_both, pytest.mark.django_db]


@pytest.fixture
def user() -> User:
    return make_user("ada")


def exchange(number: int) -> Any:
    return talk(
        chain(say("user", f"Question {number}"), say("assistant", f"Answer {number}")),
        id=f"talk-{number}",
        title=f"Talk {number}",
    )


@pytest.fixture
def export(tmp_path: Path) -> Path:
    broken = {"id": "none", "title": "Without messages"}
    return write_zip(
        tmp_path / "export.zip", {"conversations.json": [exchange(1), broken, exchange(2)]}
    )


def run(user: User, *files: Path) -> ImportJob:
    job = import_jobs.begin_here(user, [(path.name, path.stat().st_size) for path in files])
    imports.Import(job).run([(path.name, path) for path in files])
    job.refresh_from_db()
    return job


def test_what_it_holds_is_stored_and_the_report_says_what_became_of_each(
    user: User, export: Path
) -> None:
    job = run(user, export)
    assert (job.status, job.error) == ("completed", "")
    assert job.report["label"] == "ChatGPT"
    totals = job.report["totals"]
    assert (totals["new"], totals["kept"], totals["added"], totals["skipped"]) == (2, 4, 4, 1)
    states = {entry["title"]: entry["state"] for entry in job.report["conversations"]}
    assert states == {"Talk 1": "new", "Without messages": "skipped", "Talk 2": "new"}
    assert set(Conversation.objects.of(user).values_list("title", flat=True)) == {
        "Talk 1",
        "Talk 2",
    }


def test_the_same_file_again_adds_nothing(user: User, export: Path) -> None:
    run(user, export)
    totals = run(user, export).report["totals"]
    assert (totals["known"], totals["kept"]) == (2, 4)
    assert not {"new", "continued", "added"} & totals.keys()
    assert Message.objects.count() == 4


def test_a_file_of_which_nothing_converts_is_an_error(user: User, tmp_path: Path) -> None:
    broken = [{"id": str(n), "title": f"Nothing {n}", "mapping": {}} for n in range(6)]
    job = run(user, write_json(tmp_path / "conversations.json", broken))
    assert job.status == "failed"
    assert job.error.startswith("Nothing in these files could be imported: ")
    assert job.report["totals"] == {"skipped": 6}


@pytest.mark.parametrize("content", ["[1, 2]", "{}", '[{"title": "cut', "PK\x03\x04 no zip", ""])
def test_what_cannot_be_imported_is_said_and_nothing_is_stored(
    user: User, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    job = run(user, path)
    assert job.status == "failed"
    assert job.error
    assert not Conversation.objects.exists()


class Written:
    """A format that yields what a test has written."""

    NAME = "test"
    LABEL = "Test"

    def __init__(self, *records: Any) -> None:
        self._records = records

    def is_mine(self, element: Mapping[str, Any]) -> bool:
        return True

    def read(self, archive: Archive) -> Iterator[Imported]:
        for record in self._records:
            if isinstance(record, Exception):
                raise record
            yield record


def imported(origin: str, **fields: Any) -> ImportedConversation:
    blocks = [{"type": "text", "text": f"Said in {origin}"}]
    return ImportedConversation(origin, [ImportedMessage("1", None, "user", blocks)], **fields)


@pytest.fixture
def run_written(user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    path = write_json(tmp_path / "file.json", [{}])

    def run_records(*records: Any) -> ImportJob:
        monkeypatch.setattr(imports, "find_format", lambda archive: Written(*records))
        return run(user, path)

    return run_records


def test_what_came_before_a_break_is_kept(run_written: Any) -> None:
    job = run_written(imported("one"), BrokenArchive("It ends here."), imported("two"))
    assert (job.status, job.report["totals"]["new"]) == ("failed", 1)
    assert job.error == "It ends here. The conversations before it are stored."


def test_one_that_fails_does_not_hold_up_the_others(
    run_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = imports.store_conversation

    def store_or_fail(owner: User, name: str, record: ImportedConversation, **rest: Any) -> Any:
        if record.origin == "two":
            raise RuntimeError("a bug")
        return store(owner, name, record, **rest)

    monkeypatch.setattr(imports, "store_conversation", store_or_fail)
    job = run_written(imported("one"), imported("two", title="Second"), imported("three"))
    assert job.status == "completed"
    assert (job.report["totals"]["new"], job.report["totals"]["skipped"]) == (2, 1)
    assert "error of the server" in job.report["conversations"][1]["reason"]


def test_a_bug_of_a_format_ends_it_and_it_can_be_started_again(
    user: User, run_written: Any
) -> None:
    with pytest.raises(RuntimeError):
        run_written(imported("one"), RuntimeError("a bug"))
    job = ImportJob.objects.get()
    assert (job.status, job.error) == ("failed", import_jobs.DIED)
    assert Conversation.objects.of(user).count() == 1


def test_cancelling_keeps_what_is_stored(
    user: User, run_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BEAT_SECONDS", 0.0)

    def records() -> Iterator[Imported]:
        yield imported("one")
        import_jobs.cancel(ImportJob.objects.get())
        yield imported("two")
        yield imported("three")

    class Lazy(Written):
        def read(self, archive: Archive) -> Iterator[Imported]:
            return records()

    monkeypatch.setattr(f"{__name__}.Written", Lazy)
    job = run_written()
    assert job.status == "cancelled"
    assert job.report["totals"]["new"] == 1
    assert [row.origin.conversation_origin for row in Conversation.objects.of(user)] == ["one"]
    assert not Origin.objects.filter(conversation_origin="three").exists()


def test_who_was_ended_by_a_sweep_stops(user: User, export: Path) -> None:
    job = import_jobs.begin_here(user, [("export.zip", 1)])
    import_jobs.fail(job.pk)
    with pytest.raises(import_jobs.JobOver):
        imports.Import(job).run([("export.zip", export)])
    job.refresh_from_db()
    assert (job.status, job.error) == ("failed", import_jobs.DIED)


# --- Projects and offers --------------------------------------------------------------------------


def test_a_project_that_is_only_named_by_its_id_is_made_once(user: User, run_written: Any) -> None:
    run_written(imported("one", project="g-p-1"), imported("two", project="g-p-1"))
    run_written(imported("three", project="g-p-1"), imported("four", project="g-p-2"))
    names = [project.name for project in Project.objects.order_by("created_at")]
    assert names == ["Test project 1", "Test project 2"]
    assert Project.objects.get(name=names[0]).conversations.count() == 3


def test_a_project_comes_with_its_instructions_whether_before_or_after_its_conversations(
    run_written: Any,
) -> None:
    there = ImportedProject("p", "Garden", instructions="Be brief.")
    job = run_written(imported("one", project="p"), there)
    project = Project.objects.get()
    assert (project.name, project.instructions) == ("Garden", "Be brief.")
    assert project.conversations.count() == 1
    assert job.report["totals"]["projects"] == 1
    project_services.change_project(project, {"name": "My garden", "instructions": ""})
    run_written(there)
    project.refresh_from_db()
    assert (project.name, project.instructions) == ("My garden", ""), "what was changed here stays"


def test_instructions_that_are_too_long_become_a_file(run_written: Any) -> None:
    long = "word " * project_services.MAX_INSTRUCTIONS
    run_written(ImportedProject("p", "Garden", instructions=long))
    assert [file.name for file in Project.objects.get().files.all()] == ["instructions.md"]


def test_without_room_for_a_project_its_conversations_are_stored_in_none(
    run_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_services, "MAX_PROJECTS", 0)
    job = run_written(imported("one", project="p"))
    assert job.status == "completed"
    assert Conversation.objects.get().project is None
    assert any("already" in entry.get("reason", "") for entry in job.report["conversations"])
    assert not Origin.objects.filter(project_origin="p").exists()


def test_nothing_that_was_found_about_a_person_is_used_before_they_say_so(
    user: User, run_written: Any
) -> None:
    memory = "# About me\n- Has two cats.\n- Lives in Graz.\n\n" + "Long. " * 120
    job = run_written(Offered("memory", memory), Offered("instructions", "Answer in verse."))
    assert not Memory.objects.exists()
    offers = list(import_offers.list_open(user))
    assert [offer.text for offer in offers][:3] == ["About me", "Has two cats.", "Lives in Graz."]
    assert all(len(offer.text) <= 500 for offer in offers)
    assert job.report["totals"]["offers"] == len(offers)
    by_text = {offer.text: offer for offer in offers}
    import_offers.decide(by_text["Has two cats."], "fact")
    import_offers.decide(by_text["Lives in Graz."], "no")
    import_offers.decide(by_text["Answer in verse."], "project")
    assert [memory.text for memory in Memory.objects.all()] == ["Has two cats."]
    assert Project.objects.get().instructions == "Answer in verse."
    again = run_written(Offered("memory", memory), Offered("instructions", "Answer in verse."))
    assert "offers" not in again.report["totals"]


def test_an_offer_that_does_not_fit_stays_open(
    user: User, run_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_written(Offered("instructions", "Answer in verse."))
    monkeypatch.setattr(project_services, "MAX_PROJECTS", 0)
    offer = ImportOffer.objects.get()
    with pytest.raises(imports.Refused):
        import_offers.decide(offer, "project")
    assert list(import_offers.list_open(user)) == [offer]


def test_what_is_no_conversation_is_no_failure(run_written: Any) -> None:
    job = run_written(imported("one"), Skipped("Design", "a design chat", candidate=False))
    assert job.status == "completed"
    assert run_written(Skipped("Design", "a design chat", candidate=False)).status == "failed"


# --- The command ----------------------------------------------------------------------------------


def command(*arguments: Any, **options: Any) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_chats", *arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def test_the_command_imports_and_writes_the_report(
    user: User, export: Path, tmp_path: Path
) -> None:
    said, left_out = command(export, report=tmp_path / "report")
    assert "New conversations: 2" in said
    assert "Without messages: " in left_out
    whole = json.loads((tmp_path / "report" / "report.json").read_text())
    assert whole["totals"]["new"] == 2
    table = (tmp_path / "report" / "report.csv").read_text().splitlines()
    assert len(table) == 4
    assert table[0].startswith("title,origin,state")


def test_the_command_fails_where_nothing_converts(user: User, tmp_path: Path) -> None:
    path = write_json(tmp_path / "conversations.json", {"no": "export"})
    with pytest.raises(CommandError, match="no export that is known here"):
        command(path)
    with pytest.raises(CommandError, match="cannot be read"):
        command(tmp_path / "none.zip")


def test_the_command_asks_whose_they_are(user: User, export: Path) -> None:
    make_user("bob")
    with pytest.raises(CommandError, match="--user NAME"):
        command(export)
    command(export, user="bob")
    assert {row.owner.username for row in Conversation.objects.all()} == {"bob"}


@pytest.mark.django_db(transaction=True)
def test_the_account_s_export_tells_of_imports(user: User, run_written: Any) -> None:
    run_written(imported("one"), Offered("memory", "Has two cats."))

    async def read() -> bytes:
        return b"".join([part async for part in export_account(user)])

    archive = ZipFile(BytesIO(async_to_sync(read)()))
    kept = json.loads(archive.read("kept.json"))
    assert [each["report"]["totals"]["new"] for each in kept["imports"]] == [1]
    assert [offer["text"] for offer in kept["offers"]] == ["Has two cats."]
