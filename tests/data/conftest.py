"""What tests/data reports at the end: tables and counts, one section each."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter
from django.core.cache import cache

from agent.model.client import Client
from tests.chat.conftest import (  # noqa: F401
    chat,
    model_port,
    model_server,
    signed_in,
    user,
    worker_done,
)
from tests.data import corpus
from tests.data.corpus import Corpus
from tests.data.recordings import Record, load
from tests.data.replay import Canned, Played, Table, play, replay_server

SHOWN_TAGS = ("status", "transport", "stop_reason", "res", "delta", "sse", "error", "res_citation")

PARTS = ("anthropic_cassettes", "chat_exports", "long_sessions", *corpus.FOLDERS)

reports = pytest.StashKey[dict[str, list[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[reports] = {}


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    for title, lines in config.stash.get(reports, {}).items():
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    """Rendered messages are cached by their ids, which every test gives anew."""
    cache.clear()


@pytest.fixture(autouse=True)
def unlimited(settings: Any) -> None:
    """What was recorded over weeks is replayed in a minute."""
    settings.MESSAGES_PER_MINUTE = settings.TURNS_AT_ONCE = 10**9


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> dict[str, list[str]]:
    """Sections for the end of the run: title to lines."""
    return pytestconfig.stash.setdefault(reports, {})


@pytest.fixture(scope="session", autouse=True)
def absent(data_directory: Path, report: dict[str, list[str]]) -> None:
    """The end of the run names the parts that the directory lacks; their tests are skipped. A part
    that is there and cannot be read fails."""
    if lacking := [name for name in PARTS if not (data_directory / name).is_dir()]:
        report["absent from the data, so not replayed"] = lacking


def part(directory: Path, *names: str) -> Path:
    """The directory, if it has any of these parts."""
    if not any((directory / name).is_dir() for name in names):
        pytest.skip(f"the data has no {' and no '.join(names)}")
    return directory


@pytest.fixture(scope="session")
def recordings(data_directory: Path) -> list[Record]:
    """All recorded answers to `messages` calls."""
    return load(part(data_directory, "anthropic_cassettes"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of a long session runs once for each that the data has."""
    if "session_file" in metafunc.fixturenames:
        found = sorted((metafunc.config.getoption("--data") / "long_sessions").glob("*.jsonl"))
        names = [path.stem for path in found]
        metafunc.parametrize("session_file", found or [None], ids=names or ["none"])


@pytest.fixture
def session_path(session_file: Path | None, data_directory: Path) -> Path:
    """The file of a long session."""
    part(data_directory, "long_sessions")
    assert session_file, "long_sessions/ holds no session"
    return session_file.resolve()


@pytest.fixture(scope="session")
def played(recordings: list[Record], report: dict[str, list[str]]) -> dict[str, Played]:
    """Every recording through our client, once; plain answers as the same reply in events."""
    ends = asyncio.run(_play_all(recordings))
    table = Table()
    for record in recordings:
        tags = [tag for tag in record.tags if tag.partition(":")[0] in SHOWN_TAGS]
        table.count(tags, ends[record.id].end)
    report["recorded answers by tag: how each ended"] = table.lines()
    return ends


async def _play_all(recordings: list[Record]) -> dict[str, Played]:
    streamed = {"content-type": "text/event-stream"}
    answers = {
        r.id: Canned(r.status, r.headers | (streamed if r.is_message else {}), r.wire)
        for r in recordings
    }
    async with replay_server(answers) as url:
        client = Client(api_key="test", base_url=url, retries=0)
        ends = {record.id: await play(client, record.id) for record in recordings}
        await client.close()
    return ends


@pytest.fixture(scope="session")
def hostile(data_directory: Path) -> Corpus:
    """All of xss/, markdown/ and unicode/."""
    return corpus.load(part(data_directory, *corpus.FOLDERS))
