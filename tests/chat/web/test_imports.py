"""The pages of imports: pieces, progress, the report, offers; and what the limits let through."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from chat.importers.records import Offered, Tally
from chat.importers.report import Report
from chat.models import ImportJob, Memory
from chat.services.library import import_jobs, import_offers
from tests.chat.factories import make_conversation, make_user

pytestmark = pytest.mark.django_db

SCRIPT = {"HTTP_X_REQUESTED_WITH": "fetch"}


@pytest.fixture(autouse=True)
def data_directory(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def user(client: Client) -> User:
    user = make_user()
    client.force_login(user)
    return user


def begin(client: Client, *files: tuple[str, int]) -> Any:
    named = [{"name": name, "size": size} for name, size in files]
    return client.post(reverse("imports"), {"files": named}, "application/json")


def put(client: Client, job: Any, file: int, offset: int | str, data: bytes) -> Any:
    url = reverse("import_piece", args=[job, file])
    return client.put(f"{url}?offset={offset}", data, "application/octet-stream")


def page(client: Client, job: ImportJob) -> str:
    return client.get(job.get_absolute_url()).content.decode()


def test_an_import_is_made_filled_and_started(client: Client, user: User) -> None:
    made = begin(client, ("a.json", 4)).json()
    file = made["files"][0]["id"]
    assert put(client, made["id"], file, 0, b"[]").json() == {"received": 2}
    lost = put(client, made["id"], file, 0, b"[]")
    assert (lost.status_code, lost.json()) == (409, {"received": 2})
    assert "Choose the same files again" in page(client, ImportJob.objects.get())
    assert put(client, made["id"], file, 2, b"  ").json() == {"received": 4}
    response = client.post(reverse("import_start", args=[made["id"]]))
    assert response["Location"] == made["url"]
    assert ImportJob.objects.get().status == "queued"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"files": 1}', b'{"files": [{"name": "a"}]}', b'{"files": []}']
    + [b'{"files": [{"name": "a", "size": "much"}]}', b'{"files": [{"name": "a", "size": 1e400}]}'],
)
def test_a_list_of_files_that_cannot_be_read_is_refused(
    client: Client, user: User, body: bytes
) -> None:
    response = client.post(reverse("imports"), body, "application/json")
    assert response.status_code == 422
    assert response["Content-Type"].startswith("text/plain")
    assert client.post(reverse("imports"), {"files": "a"}).status_code == 422


def test_what_is_refused_says_why(client: Client, user: User, settings: Any) -> None:
    settings.IMPORT_MB = 1
    response = begin(client, ("a.zip", 2_000_000))
    assert response.status_code == 413
    assert "These files have 2 MB" in response.content.decode()
    made = begin(client, ("a.zip", 10)).json()
    assert begin(client, ("b.zip", 10)).status_code == 409
    file = made["files"][0]["id"]
    assert put(client, made["id"], file, 0, b"x" * 11).status_code == 422
    assert put(client, made["id"], file, "here", b"x").status_code == 400
    assert put(client, made["id"], file + 1, 0, b"x").status_code == 404
    assert put(client, uuid4(), file, 0, b"x").status_code == 404
    assert client.post(reverse("import_start", args=[made["id"]])).status_code == 422
    most = b"x" * (import_jobs.PIECE_BYTES + 1)
    assert put(client, made["id"], file, 0, most).status_code == 413


def test_the_page_follows_an_import_until_it_is_over(client: Client, user: User) -> None:
    job = import_jobs.begin_here(user, [("a.zip", 10)])
    import_jobs.beat(job.pk, 5, {"new": 2, "known": 1})
    part = client.get(f"{job.get_absolute_url()}?part", **SCRIPT).content.decode()
    assert 'data-status="running"' in part
    assert "3 conversations so far" in " ".join(part.split())
    assert "<html" not in part
    client.post(reverse("import_cancel", args=[job.pk]))
    assert "It is being cancelled." in page(client, job)
    import_jobs.finish(job.pk, ImportJob.Status.CANCELLED)
    assert "What was stored until then stays." in page(client, job)


def finish(user: User, report: Report, **values: Any) -> ImportJob:
    job = import_jobs.begin_here(user, [("a.zip", 10)])
    status = ImportJob.Status.FAILED if values.get("error") else ImportJob.Status.COMPLETED
    import_jobs.finish(job.pk, status, report=report.describe(), **values)
    return job


@pytest.fixture
def report(user: User) -> Report:
    report = Report()
    report.name, report.label = "chatgpt", "ChatGPT"
    tally = Tally(kept=3, missing=["cat.png"])
    tally.dropped["empty"] = 2
    talk = make_conversation(user)
    kept = {"state": "new", "id": str(talk.pk), "added": 3, "lost": ["x.exe cannot be sent."]}
    report.add_conversation("<b>Cats</b>", "there-1", tally, **kept)
    report.skip("=cmd()", "it holds no messages")
    report.skip("", "it holds no messages either", origin="there-3")
    return report


def test_a_report_names_what_is_missing_and_why(client: Client, user: User, report: Report) -> None:
    html = page(client, finish(user, report))
    for words in ("&lt;b&gt;Cats&lt;/b&gt;", "Not in the export: cat.png", "x.exe cannot be sent."):
        assert words in html
    assert html.index("=cmd()") < html.index("Cats"), "what needs a look comes first"
    assert "it holds no messages" in html
    assert "there-3" in html


def test_a_report_can_be_saved(client: Client, user: User, report: Report) -> None:
    job = finish(user, report)
    whole = client.get(reverse("import_json", args=[job.pk]))
    assert json.loads(whole.content)["totals"]["kept"] == 3
    assert whole["Content-Disposition"].endswith('.json"')
    lines = b"".join(client.get(reverse("import_csv", args=[job.pk]))).decode().splitlines()  # type: ignore[arg-type]
    assert len(lines) == 4
    assert lines[2].startswith("'=cmd()"), "no spreadsheet runs it"


def test_one_that_died_can_be_started_again_on_its_page(client: Client, user: User) -> None:
    made = begin(client, ("a.json", 2)).json()
    put(client, made["id"], made["files"][0]["id"], 0, b"[]")
    client.post(reverse("import_start", args=[made["id"]]))
    import_jobs.claim_next()
    job = ImportJob.objects.get()
    import_jobs.fail(job.pk)
    html = page(client, job)
    assert "Start it again" in html
    assert "only what is not here yet is added" in html
    client.post(reverse("import_start", args=[job.pk]))
    assert ImportJob.objects.get().status == "queued"


def test_offers_are_decided_on_the_page(client: Client, user: User, report: Report) -> None:
    job = finish(user, report)
    import_offers.add_offer(job, Offered("memory", "Has a cat.\nLikes tea."), None)
    assert "Has a cat." in page(client, job)
    assert "2 things" in " ".join(client.get(reverse("imports")).content.decode().split())
    first, second = import_offers.list_open(user)
    client.post(reverse("import_offer", args=[first.pk]), {"choice": "fact"})
    client.post(reverse("import_offer", args=[second.pk]), {"choice": "no"})
    assert [fact.text for fact in Memory.objects.all()] == ["Has a cat."]
    assert "Has a cat." not in page(client, job)


def test_nobody_else_sees_or_changes_an_import(client: Client, user: User) -> None:
    job = import_jobs.create(make_user("Other"), [("a.zip", 10)])
    import_offers.add_offer(job, Offered("memory", "Has a cat."), None)
    file, offer = job.files.get().pk, job.offers.get().pk
    assert client.get(job.get_absolute_url()).status_code == 404
    assert put(client, job.pk, file, 0, b"x").status_code == 404
    for name, pk in (("import_start", job.pk), ("import_cancel", job.pk), ("import_offer", offer)):
        assert client.post(reverse(name, args=[pk])).status_code == 404
    for name in ("import_json", "import_csv"):
        assert client.get(reverse(name, args=[job.pk])).status_code == 404
    assert "a.zip" not in client.get(reverse("imports")).content.decode()


def test_the_settings_and_the_empty_start_page_lead_here(client: Client, user: User) -> None:
    for url in (reverse("home"), reverse("settings_section", args=["data"])):
        assert reverse("imports") in client.get(url).content.decode()
    assert "Nothing has been imported yet." in client.get(reverse("imports")).content.decode()
