"""Where the vocabulary comes from, and that nothing else ever touches the network."""

import inspect
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tiktoken
from tiktoken_ext import openai_public

from agent import vocabulary
from agent.vocabulary import (
    FILE_NAME,
    PACKAGE_PATH,
    VocabularyUnavailable,
    install,
    is_intact,
    load_encoding,
    read_wheel,
)

CONTENT = b"the vocabulary"


@pytest.fixture
def small_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take CONTENT for the real file of 1.7 MB."""
    monkeypatch.setattr(vocabulary, "SHA256", vocabulary.hashlib.sha256(CONTENT).hexdigest())


def refuse() -> bytes:
    raise VocabularyUnavailable("connection refused")


def unexpected() -> bytes:
    raise AssertionError("must not be fetched")


def test_address_and_hash_are_those_of_tiktoken() -> None:
    source = inspect.getsource(openai_public.cl100k_base)
    assert vocabulary.URL in source
    assert vocabulary.SHA256 in source


@pytest.mark.parametrize(
    "proxy", ["http://u:pass-1@127.0.0.1:1", "socks5://u:pass-1@127.0.0.1:1", "http://127.0.0.1:x"]
)
def test_a_proxy_that_does_not_work_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setattr(vocabulary, "extract_from_package", refuse)
    said = install(tmp_path)
    assert "HTTPS_PROXY" in said
    assert "pass-1" not in said


@pytest.mark.usefixtures("small_vocabulary")
def test_install_prefers_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "download", lambda: CONTENT)
    monkeypatch.setattr(vocabulary, "extract_from_package", unexpected)
    assert "from: download" in install(tmp_path / "new")
    assert is_intact(tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == [FILE_NAME]


@pytest.mark.usefixtures("small_vocabulary")
@pytest.mark.parametrize("downloaded", [None, b"<html>Please sign in</html>"])
def test_install_takes_the_package_when_the_download_fails_or_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, downloaded: bytes | None
) -> None:
    monkeypatch.setattr(
        vocabulary, "download", refuse if downloaded is None else lambda: downloaded
    )
    monkeypatch.setattr(vocabulary, "extract_from_package", lambda: CONTENT)
    assert "llama-index-core" in install(tmp_path)
    assert is_intact(tmp_path)


@pytest.mark.usefixtures("small_vocabulary")
def test_install_does_nothing_when_the_file_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE_NAME).write_bytes(CONTENT)
    monkeypatch.setattr(vocabulary, "download", unexpected)
    assert "already" in install(tmp_path)


@pytest.mark.usefixtures("small_vocabulary")
def test_install_replaces_a_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE_NAME).write_bytes(CONTENT[:5])
    monkeypatch.setattr(vocabulary, "download", lambda: CONTENT)
    install(tmp_path)
    assert is_intact(tmp_path)


def test_install_says_that_counts_are_estimated_when_there_is_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "download", refuse)
    monkeypatch.setattr(vocabulary, "extract_from_package", refuse)
    said = install(tmp_path)
    assert "estimated from bytes" in said
    assert "connection refused" in said
    assert not list(tmp_path.iterdir())


def test_command_reports_in_one_line_and_succeeds_without_a_source(tmp_path: Path) -> None:
    closed = {
        **os.environ,
        "https_proxy": "http://127.0.0.1:9",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "agent.vocabulary", str(tmp_path / "vocabulary")],
        env=closed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "estimated from bytes" in done.stdout
    assert done.stdout.count("\n") == 1
    assert not done.stderr


def test_read_wheel_takes_the_one_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "package.whl", "w") as wheel:
        wheel.writestr(PACKAGE_PATH, CONTENT)
    assert read_wheel(tmp_path / "package.whl") == CONTENT


def test_read_wheel_refuses_a_wheel_without_it(tmp_path: Path) -> None:
    zipfile.ZipFile(tmp_path / "package.whl", "w").close()
    with pytest.raises(VocabularyUnavailable, match="does not contain it"):
        read_wheel(tmp_path / "package.whl")


@pytest.mark.parametrize("content", [None, b"", b"damaged"])
def test_load_encoding_gives_none_without_an_intact_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / FILE_NAME).write_bytes(content)
    monkeypatch.setattr(tiktoken, "Encoding", unexpected)
    assert load_encoding(tmp_path) is None


def test_load_encoding_never_downloads(vocabulary_directory: Path) -> None:
    """In a process of its own, since what was loaded is kept."""
    program = (
        "import pathlib, socket, sys\n"
        "from agent.vocabulary import load_encoding\n"
        "def refuse(*arguments): raise AssertionError('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "encoding = load_encoding(pathlib.Path(sys.argv[1]))\n"
        "assert encoding.encode_ordinary('hello world') == [15339, 1917]\n"
    )
    subprocess.run([sys.executable, "-c", program, str(vocabulary_directory)], check=True)
