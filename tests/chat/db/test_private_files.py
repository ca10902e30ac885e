"""What the site keeps is for its own user: real processes, and the modes of the files they make."""

import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from chat.db.private_files import close_to_others
from tests.support.server import CeleryProcess, EverlongProcess, sqlite_url

ROOT = Path(__file__).parents[3]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(directory: Path) -> list[str]:
    return [str(p) for p in [directory, *directory.rglob("*")] if p.lstat().st_mode & 0o077]


def widen(directory: Path) -> None:
    """As an older version left it."""
    for path in [directory, *directory.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def umask_of(pid: int) -> int:
    [line] = [
        each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if "Umask" in each
    ]
    return int(line.split()[1], 8)


def test_management_commands_make_private_files(site: Path) -> None:
    vocabulary = site / "tiktoken"  # which no command of the site has made
    assert mode(site) == 0o700
    assert mode(site / "everlong.sqlite3") == 0o600
    assert [
        each for each in open_to_others(site) if not Path(each).is_relative_to(vocabulary)
    ] == []


def test_a_server_closes_what_others_could_read_and_warns_of_the_rest(
    tmp_path: Path, site: Path, start_everlong: Callable[..., EverlongProcess]
) -> None:
    data, keys = tmp_path / "data", tmp_path / "keys"
    shutil.copytree(site, data)
    (data / "media" / "deep").mkdir(parents=True)
    (data / "media" / "deep" / "attachment").write_text("secret")
    widen(data)
    keys.write_text("LOG_LEVEL=INFO\n")
    keys.chmod(0o644)
    server = start_everlong(DATA_DIR=str(data), ENV_FILE=str(keys))
    assert open_to_others(data) == []
    assert umask_of(server.process.pid) == 0o077  # type: ignore[union-attr]
    server.wait_for_log(f"keys.*{keys}")
    assert "chmod 600" in server.log


def test_a_worker_makes_private_files_and_does_not_warn_of_a_private_env_file(
    tmp_path: Path, site: Path
) -> None:
    data, keys = tmp_path / "data", tmp_path / "keys"
    shutil.copytree(site, data)
    widen(data)
    keys.write_text("LOG_LEVEL=INFO\n")
    keys.chmod(0o600)
    worker = CeleryProcess(
        tmp_path,
        DATA_DIR=str(data),
        DATABASE_URL=sqlite_url(data),
        REDIS_URL="",
        ENV_FILE=str(keys),
    ).start()
    try:
        assert worker.process is not None
        assert umask_of(worker.process.pid) == 0o077
        assert open_to_others(data) == []
        assert "others can read" not in worker.log
    finally:
        worker.kill()


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (tmp_path / "data" / "media").mkdir(parents=True)
    (tmp_path / "data" / "media" / "link").symlink_to(outside)
    (tmp_path / "data" / "link").symlink_to(outside)
    assert close_to_others(tmp_path / "data") == []
    assert mode(outside) == 0o755
    assert mode(tmp_path / "data" / "media") == 0o700


@pytest.mark.parametrize("name", [".gitignore", ".dockerignore"])
def test_keys_and_data_are_left_out_of_commits_and_images(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    assert {".env", ".env.*"} <= set(lines)
    assert {"var", "var/"} & set(lines)
    assert any(line.endswith("*.sqlite3*") for line in lines)
