"""The environment and `.env`, as make and Django read them; wrong values in words."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import WrongSetting, find_data_dir, parse_env
from config.variables import Variables

ROOT = Path(__file__).resolve().parents[2]
ENV_FILE = """\ufeff# settings
PLAIN=one two   # of them
export QUOTED="a \\"b\\"\tc # d"\r
SINGLE='it is $HOME\\'s'

HASH=#1
EMPTY=   # nothing
NAME
BASE=/srv
MIXED=${BASE}/my data/${NONE:-x}
LINES="first
second"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with what make reads before there is an environment, in a path with a blank."""
    directory = tmp_path / "a checkout"
    (directory / "config").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", directory)
    shutil.copy(ROOT / "config" / "environment.py", directory / "config")
    return directory


def make(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=kept | environment, capture_output=True, text=True
    )


def test_a_file_is_read_as_docker_compose_and_dotenv_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BASE", raising=False)
    assert parse_env(ENV_FILE.removeprefix("\ufeff")) == {
        "PLAIN": "one two",
        "QUOTED": 'a "b"\tc # d',
        "SINGLE": "it is $HOME's",
        "HASH": "#1",
        "EMPTY": "",
        "BASE": "/srv",
        "MIXED": "/srv/my data/x",
        "LINES": "first\nsecond",
    }


@pytest.mark.parametrize("text", ["A=1\nB='open\n", 'A=1\nB="a" b\n', "A=1\n= 3\n"])
def test_a_line_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(WrongSetting, match=r"Line 2 of \.env"):
        parse_env(text)


@pytest.mark.parametrize("place", ["env file", "environment", "command line"])
@pytest.mark.parametrize("name", ["my data", "it's $(here) #1: 50 %", "plain"])
def test_make_works_in_any_data_directory(
    place: str, name: str, checkout: Path, tmp_path: Path
) -> None:
    data = tmp_path / name
    (data / "static").mkdir(parents=True)
    (data / "media").mkdir()
    (checkout / ".venv" / "bin").mkdir(parents=True)
    match place:
        case "env file":
            (checkout / ".env").write_text(f'DATA_DIR="{data}"\n')
            done = make(checkout, "clean")
        case "environment":
            done = make(checkout, "clean", DATA_DIR=str(data))
        case _:
            done = make(checkout, "clean", f"DATA_DIR={data}".replace("$", "$$"))
    assert done.returncode == 0, done.stderr
    assert [each.name for each in data.iterdir()] == ["media"]
    assert not (checkout / ".venv").exists()


def test_a_home_directory_in_the_file_is_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DATA_DIR", "~/everlong data")
    assert find_data_dir() == tmp_path / "everlong data"


def test_make_touches_nothing_when_a_setting_is_wrong(checkout: Path) -> None:
    (checkout / "static").mkdir()
    for value, words in {" ": "empty; it can be a directory", ".": "“.”, the checkout;"}.items():
        done = make(checkout, "clean", DATA_DIR=value)
        assert done.returncode
        assert f"DATA_DIR is {words}" in done.stderr
        assert (checkout / "static").exists()


def test_a_release_whose_files_are_older_than_the_set_up_is_set_up(checkout: Path) -> None:
    # A Python that notes what it is asked for.
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\ncase "$1" in config/*) exec {sys.executable} "$@";; esac\necho "$@" >> asked\n'
    )
    python.chmod(0o755)
    (checkout / "var" / "static").mkdir(parents=True)
    (checkout / "var" / "everlong.sqlite3").touch()
    releases = {
        "requirements/base.txt": ("a==1", "a==2"),
        "requirements/install.py": ("", ""),
        "requirements/uv.txt": ("", ""),
        "static/page.css": ("old", "new"),
        "chat/migrations/0001_first.py": ("", "pass"),
        **{f"config/{name}.py": ("", "") for name in ("bundle", "storage", "typeface")},
    }
    for number in (0, 1):
        for name, texts in releases.items():
            path = checkout / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[number])
            os.utime(path, (10**9, 10**9))
        (checkout / "asked").unlink(missing_ok=True)
        for _ in range(2):  # the second time there is nothing to do
            done = make(checkout, "setup")
            assert done.returncode == 0, done.stderr
        asked = (checkout / "asked").read_text().splitlines()
        assert sorted(each for each in asked if "vocabulary" not in each) == [
            "manage.py collectstatic --noinput --verbosity 0",
            "manage.py migrate --noinput --verbosity 0",
            "requirements/install.py requirements/base.txt",
        ]


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (lambda env: env.int("X", 1, least=1, most=65_535), "70000", "“70000”; it can be a whole"),
        (lambda env: env.int("X", 1, least=1, most=65_535), "-7", "from 1 to 65535"),
        (lambda env: env.int("X", 1), "12.5", "“12.5”; it can be a whole number, 0 or more"),
        (lambda env: env.float("X", 1.0), "", "empty; it can be a number, 0 or more"),
        (lambda env: env.float("X", 1.0), "inf", "“inf”; it can be a number"),
        (lambda env: env.bool("X", True), "perhaps", "“perhaps”; it can be true or false"),
        (lambda env: env.str("X", "a", ("a", "b")), "c", "“c”; it can be one of: a, b"),
        (lambda env: env.numbers("X"), "model=many", "“model=many”; it can be pairs name=number"),
        (lambda env: env.address("X"), "me:s3cret@localhost:8080/v1", "no address; it can be one"),
        (lambda env: env.address("X"), "http:// x", "no address; it can be one such as http://"),
        (lambda env: env.database("X", "sqlite:///"), "oracle://s3cret@h/n", "not an address of"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_in_words(
    read: Any, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured, match=words) as refused:
        read(Variables())
    assert str(refused.value).startswith("X is ")
    assert "s3cret" not in str(refused.value)


def test_a_process_with_a_wrong_setting_ends_with_a_sentence(tmp_path: Path) -> None:
    environment = {**os.environ, "DATA_DIR": str(tmp_path), "PORT": "eighty"}
    for program in (["manage.py", "serve"], ["-m", "celery", "-A", "config", "worker"]):
        done = subprocess.run(
            [sys.executable, *program], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 1
        assert done.stderr == (
            "Everlong cannot start. PORT is “eighty”; it can be a whole number, from 1 to 65535.\n"
        )


@pytest.mark.parametrize(
    "name", ["LEASE_SECONDS", "MODEL_TIMEOUT", "HEADER_SECONDS", "MCP_LIST_TIMEOUT"]
)
def test_a_time_in_which_nothing_could_be_done_is_refused(tmp_path: Path, name: str) -> None:
    environment = {**os.environ, "DATA_DIR": str(tmp_path), name: "0"}
    done = subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert f"{name} is “0”; it can be a number, " in done.stderr
