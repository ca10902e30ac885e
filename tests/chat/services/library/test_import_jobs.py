"""Imports as jobs: their files in pieces, their states, their ends."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from chat.errors import RefusalCode, Refused
from chat.models import ImportFile, ImportJob
from chat.services.library import import_jobs
from chat.services.people import accounts
from chat.services.turns import sweep
from tests.chat.factories import make_user

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]

FILES = [("a.zip", 5), ("b.json", 3)]


@pytest.fixture(autouse=True)
def data_directory(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def user() -> User:
    return make_user()


@pytest.fixture
def job(user: User) -> ImportJob:
    return import_jobs.create(user, FILES)


def fill(job: ImportJob) -> None:
    for file in job.files.all():
        import_jobs.append(job, file.pk, 0, b"x" * file.size)


def status(job: ImportJob) -> str:
    job.refresh_from_db()
    return job.status


def refusal(function: Any, *arguments: Any) -> RefusalCode:
    with pytest.raises(Refused) as caught:
        function(*arguments)
    return caught.value.code


def test_pieces_make_the_file_and_are_nobody_else_s(job: ImportJob) -> None:
    file = job.files.get(name="a.zip")
    assert import_jobs.append(job, file.pk, 0, b"ab") == 2
    assert import_jobs.append(job, file.pk, 2, b"cde") == 5
    path = import_jobs.path_of(file)
    assert path.read_bytes() == b"abcde"
    assert path.stat().st_mode & 0o077 == path.parent.stat().st_mode & 0o077 == 0


def test_a_piece_that_begins_elsewhere_is_told_where_the_file_ends(job: ImportJob) -> None:
    file = job.files.get(name="a.zip")
    import_jobs.append(job, file.pk, 0, b"ab")
    for offset in (0, 1, 3):
        with pytest.raises(import_jobs.WrongOffset) as caught:
            import_jobs.append(job, file.pk, offset, b"x")
        assert caught.value.received == 2


@pytest.mark.parametrize("data", [b"", b"123456"])
def test_a_piece_that_is_not_of_this_file_is_refused(job: ImportJob, data: bytes) -> None:
    file = job.files.get(name="a.zip")
    assert refusal(import_jobs.append, job, file.pk, 0, data) == RefusalCode.IMPORT_FILES


def test_who_chooses_the_same_files_again_goes_on_where_it_was(user: User, job: ImportJob) -> None:
    import_jobs.append(job, job.files.get(name="a.zip").pk, 0, b"ab")
    again = import_jobs.create(user, FILES[::-1])
    assert again == job
    told = {each["name"]: each["received"] for each in import_jobs.describe(again)["files"]}
    assert told == {"a.zip": 2, "b.json": 0}


def test_one_import_of_a_person_at_a_time(user: User, job: ImportJob) -> None:
    others = [("c.zip", 1)]
    assert refusal(import_jobs.create, user, others) == RefusalCode.IMPORT_ACTIVE
    assert refusal(import_jobs.begin_here, user, others) == RefusalCode.IMPORT_ACTIVE
    import_jobs.create(make_user("Other"), others)
    import_jobs.cancel(job)
    import_jobs.create(user, others)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ([], RefusalCode.IMPORT_FILES),
        ([("a", 1)] * (import_jobs.MOST_FILES + 1), RefusalCode.IMPORT_FILES),
        ([("a", 0)], RefusalCode.FILE_EMPTY),
        ([("a", -1)], RefusalCode.FILE_EMPTY),
        ([("a", 600_000), ("b", 600_000)], RefusalCode.IMPORT_TOO_LARGE),
        ([("a", 900_000)], RefusalCode.DISK_FULL),
    ],
)
def test_files_that_are_not_taken(
    user: User, settings: Any, files: list[tuple[str, int]], code: RefusalCode
) -> None:
    settings.IMPORT_MB = 1
    settings.IMPORTS_MB = 1
    import_jobs.create(make_user("Other"), [("theirs", 200_000)])
    assert refusal(import_jobs.create, user, files) == code
    assert not ImportJob.objects.filter(owner=user).exists()


def test_it_starts_when_its_files_are_whole(job: ImportJob) -> None:
    assert refusal(import_jobs.start, job) == RefusalCode.IMPORT_FILES
    fill(job)
    import_jobs.start(job)
    assert status(job) == "queued"
    assert refusal(import_jobs.start, job) == RefusalCode.IMPORT_OVER
    file = job.files.first()
    assert file
    assert refusal(import_jobs.append, job, file.pk, 5, b"x") == RefusalCode.IMPORT_OVER


def test_one_process_claims_an_import_and_no_more_run_than_may(monkeypatch: Any) -> None:
    jobs = [import_jobs.create(make_user(f"user-{n}"), [("a", 1)]) for n in range(3)]
    for job in jobs:
        fill(job)
        import_jobs.start(job)
    claimed = [import_jobs.claim_next() for _ in range(3)]
    assert claimed == [jobs[0].pk, jobs[1].pk, None]
    assert not import_jobs.is_any_waiting()
    import_jobs.finish(jobs[0].pk, ImportJob.Status.COMPLETED)
    assert import_jobs.is_any_waiting()
    assert import_jobs.claim_next() == jobs[2].pk


@pytest.fixture
def running(job: ImportJob) -> ImportJob:
    fill(job)
    import_jobs.start(job)
    import_jobs.claim_next()
    return job


def test_a_running_import_hears_that_it_is_cancelled(running: ImportJob) -> None:
    assert not import_jobs.beat(running.pk, 3, {"new": 1})
    import_jobs.cancel(running)
    assert status(running) == "running"
    assert import_jobs.beat(running.pk, 4, {"new": 2})
    assert import_jobs.finish(running.pk, ImportJob.Status.CANCELLED)
    assert status(running) == "cancelled"
    assert (running.bytes_read, running.report) == (4, {"totals": {"new": 2}})
    with pytest.raises(import_jobs.JobOver):
        import_jobs.beat(running.pk, 5, {})


def test_there_is_one_end(running: ImportJob) -> None:
    assert import_jobs.finish(running.pk, ImportJob.Status.COMPLETED, report={"totals": {}})
    assert not import_jobs.fail(running.pk)
    assert status(running) == "completed"


def test_its_files_go_when_it_is_over(running: ImportJob, data_directory: Path) -> None:
    import_jobs.finish(running.pk, ImportJob.Status.COMPLETED)
    assert list((data_directory / "imports").iterdir()) == []


def test_one_that_died_can_be_started_again_for_a_day(
    running: ImportJob, data_directory: Path
) -> None:
    sweep.sweep()
    assert status(running) == "running"
    long_ago = timezone.now() - import_jobs.SILENT - timedelta(seconds=1)
    ImportJob.objects.update(seen_at=long_ago)
    sweep.sweep()
    assert status(running) == "failed"
    assert running.error == import_jobs.DIED
    import_jobs.start(running)
    assert status(running) == "queued"
    assert running.error == ""
    import_jobs.claim_next()
    import_jobs.fail(running.pk)
    ImportJob.objects.update(finished_at=timezone.now() - timedelta(days=2))
    sweep.sweep()
    assert list((data_directory / "imports").iterdir()) == []
    assert refusal(import_jobs.start, running) == RefusalCode.IMPORT_FILES


def test_the_command_ends_one_that_died_though_no_server_runs(running: ImportJob) -> None:
    assert refusal(import_jobs.begin_here, running.owner, []) == RefusalCode.IMPORT_ACTIVE
    long_ago = timezone.now() - import_jobs.SILENT - timedelta(seconds=1)
    ImportJob.objects.update(seen_at=long_ago)
    assert import_jobs.begin_here(running.owner, []).status == "running"
    assert status(running) == "failed"


def test_one_whose_files_do_not_come_ends_after_a_day(job: ImportJob, data_directory: Path) -> None:
    import_jobs.append(job, job.files.get(name="a.zip").pk, 0, b"ab")
    ImportJob.objects.update(seen_at=timezone.now() - timedelta(days=2))
    sweep.sweep()
    assert status(job) == "cancelled"
    assert job.error == import_jobs.TOO_LATE
    assert list((data_directory / "imports").iterdir()) == []


def test_nothing_is_left_of_who_deletes_the_account(
    user: User, job: ImportJob, data_directory: Path
) -> None:
    fill(job)
    accounts.delete_accounts([user])
    assert not ImportJob.objects.exists()
    assert not ImportFile.objects.exists()
    assert list((data_directory / "imports").iterdir()) == []


def test_files_without_a_job_are_deleted(data_directory: Path) -> None:
    """A process was killed between the deletion of its rows and that of the files."""
    folder = data_directory / "imports" / "0123456789abcdef0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "1").write_bytes(b"x")
    sweep.sweep()
    assert not folder.exists()


def test_the_newest_reports_are_kept(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_jobs, "KEPT_JOBS", 3)
    made = []
    for number in range(5):
        made.append(import_jobs.create(user, [(f"{number}.json", 1)]))
        import_jobs.cancel(made[-1])
    assert list(import_jobs.list_jobs(user)) == made[:1:-1]
