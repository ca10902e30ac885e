"""Two web processes on one address, or on data that are one process's."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server import claims
from server.claims import CannotServe, check_address, claim_data
from tests.support.server import EverlongProcess, ProcessFailed
from tests.support.services import free_port


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The locks of this process, which end with the test."""
    files: list[Any] = []
    monkeypatch.setattr(claims, "_held", files)
    yield files
    for file in files:
        file.close()


def test_a_second_web_process_says_which_one_has_the_data(
    start_everlong: Callable[..., EverlongProcess],
    supervise: Callable[[EverlongProcess], EverlongProcess],
    tmp_path: Path,
    site: Path,
) -> None:
    first = start_everlong()
    shared = {"DATA_DIR": first.environment["DATA_DIR"]}
    second = supervise(EverlongProcess(tmp_path, site, **shared))
    with pytest.raises(ProcessFailed, match=rf"\(process {first.pid}, {first.url}\)"):
        second.start()
    assert "Traceback" not in second.log
    first.kill()
    second.start()  # the lock went with the process


def test_a_database_elsewhere_has_one_process_too(
    settings: Any, tmp_path: Path, held: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "chat.sqlite3")}
    monkeypatch.setitem(settings.DATABASES, "default", database)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    settings.DATA_DIR = tmp_path / "one"
    claim_data("http://one")
    settings.DATA_DIR = tmp_path / "two"
    with pytest.raises(CannotServe, match=r"http://one.*set DATABASE_URL"):
        claim_data("http://two")


def test_processes_on_postgresql_and_redis_share_the_data(
    settings: Any, tmp_path: Path, held: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCALED = True
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": "x"}
    monkeypatch.setitem(settings.DATABASES, "default", database)
    settings.DATA_DIR = tmp_path
    claim_data("http://one")
    claim_data("http://two")
    assert not held


def test_an_address_that_cannot_be_used_is_explained() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(CannotServe, match="is taken"):
        check_address("127.0.0.1", taken.getsockname()[1])
    for host in ("no address at all", "http://127.0.0.1", "203.0.113.9"):
        with pytest.raises(CannotServe, match="no address of this machine"):
            check_address(host, free_port())
    with pytest.raises(CannotServe, match="PORT is “70000”"):
        check_address("127.0.0.1", 70_000)
    check_address("localhost", free_port())
