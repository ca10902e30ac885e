"""An import in a process of its own: it is run by one, and when it is killed its owner goes on."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.db import connection

from accounts.models import User
from chat.jobs import import_process
from chat.models import Conversation, ImportJob
from chat.services.library import import_jobs
from tests.chat.factories import make_user
from tests.chat.importers.exports import chain, say, talk, write_json
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.on_both, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def same_site(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has the database and the directory of this test."""
    name = str(connection.settings_dict["NAME"])
    url = f"sqlite:///{name}"
    if connection.vendor != "sqlite":
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    settings.DATA_DIR = tmp_path


@pytest.fixture(autouse=True)
def nobody_is_left(same_site: None) -> Iterator[None]:
    """A process that a failed test leaves behind hears of its end."""
    yield
    for thread in list_attending():
        thread.join(PATIENCE)


def list_attending() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("import ")]


@pytest.fixture
def user() -> User:
    return make_user()


@pytest.fixture
def export(tmp_path: Path) -> bytes:
    said = chain(say("user", "Is it far?"), say("assistant", "Not very."))
    return write_json(tmp_path / "export.json", [talk(said)]).read_bytes()


@pytest.fixture
def job(user: User, export: bytes) -> ImportJob:
    job = import_jobs.create(user, [("export.json", len(export))])
    import_jobs.append(job, job.files.get().pk, 0, export)
    import_jobs.start(job)
    return job


def wait_for(find: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := find()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return found


def find_process(job_id: UUID) -> int | None:
    """The child that works on it."""
    for path in Path("/proc/self/task").glob("*/children"):
        for pid in path.read_text().split():
            if str(job_id) in Path(f"/proc/{pid}/cmdline").read_text():
                return int(pid)
    return None


def is_over(job: ImportJob) -> bool:
    job.refresh_from_db()
    return not job.is_active


def test_an_import_is_run_by_a_process_of_its_own(user: User, job: ImportJob) -> None:
    import_process.run_waiting()
    assert find_process(job.pk) != os.getpid()
    wait_for(lambda: is_over(job))
    assert (job.status, job.error) == ("completed", "")
    assert Conversation.objects.of(user).count() == 1
    assert not import_jobs.has_all_files(job)


def test_one_that_is_killed_has_failed_and_can_be_started_again(
    user: User, job: ImportJob, export: bytes
) -> None:
    path = import_jobs.path_of(job.files.get())
    path.unlink()
    os.mkfifo(path)  # which nobody writes to: whoever opens it waits
    import_process.run_waiting()
    pid = wait_for(lambda: find_process(job.pk))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: is_over(job))
    assert (job.status, job.error) == ("failed", import_jobs.DIED)
    path.unlink()
    path.write_bytes(export)
    import_jobs.start(job)
    import_process.run_waiting()
    wait_for(lambda: is_over(job))
    assert job.status == "completed"
    assert Conversation.objects.of(user).count() == 1


def test_of_two_processes_one_runs_it(job: ImportJob) -> None:
    together = threading.Barrier(2)
    claimed: list[UUID | None] = []

    def claim() -> None:
        try:
            together.wait(PATIENCE)
            claimed.append(import_jobs.claim_next())
        finally:
            connection.close()

    threads = [threading.Thread(target=claim) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed, key=str) == sorted([job.pk, None], key=str)
