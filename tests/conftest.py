"""The environment of every test: nothing of the developer's own, nothing real.

The settings read the environment once, so it is put in place before Django loads. With `--services`
the same tests run on PostgreSQL and Redis instead of SQLite and the in-process layers.
"""

import fcntl
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import django
import hypothesis
import pytest

from agent.vocabulary import install, is_intact
from config.compaction_policy import VARIABLES as COMPACTION_VARIABLES
from tests.support import server
from tests.support.emptying import empty_quickly
from tests.support.launcher import LAUNCHER
from tests.support.patience import PATIENCE
from tests.support.programs import BROWSER, CHROMIUM_ARGUMENTS, require
from tests.support.server import CeleryProcess, EverlongProcess, LoggedProcess
from tests.support.services import (
    PostgresServer,
    RedisServer,
    ServiceUnavailable,
    start_postgres,
    start_redis,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "config" / "settings.py"
RECORDED = ROOT / "tests" / "data"
FAULTS = ROOT / "tests" / "faults"
REAL_MODEL = ROOT / "tests" / "model"
BROWSERS = ROOT / "tests" / "browsers"
VOCABULARY = ROOT / "var" / "tiktoken"
FAILURES = ROOT / "var" / "test-failures"

hypothesis.settings.register_profile("patient", deadline=None)  # nothing counts on speed
hypothesis.settings.load_profile("patient")

Process = TypeVar("Process", bound=LoggedProcess)

temporary = pytest.StashKey[Path]()
servers = pytest.StashKey[tuple[PostgresServer, RedisServer]]()
processes = pytest.StashKey[list[LoggedProcess]]()
failed = pytest.StashKey[bool]()
other_parts = pytest.StashKey[set[Path]]()


# --- Environment ----------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--services", action="store_true", help="run on PostgreSQL and Redis instead of SQLite"
    )
    parser.addoption(
        "--data", type=Path, metavar="DIR", help="recorded conversations, for tests/data"
    )
    parser.addoption(
        "--shared", type=Path, metavar="DIR", help="where several runs find the site of one of them"
    )
    parser.addoption("--part", default="1/1", metavar="N/M", help="only part N of M")
    parser.addoption("--faults", action="store_true", help="tests/faults may be run")
    parser.addoption("--model", action="store_true", help="tests/model may be run")
    parser.addoption("--browsers", action="store_true", help="tests/browsers may be run")


def pytest_configure(config: pytest.Config) -> None:
    """Loads Django, before pytest-django's own hook, which then finds it loaded."""
    shared: Path | None = config.getoption("--shared")
    if shared and (shared / LAUNCHER).exists():
        server.launcher = shared / LAUNCHER
    directory = Path(tempfile.mkdtemp(prefix="everlong-tests-"))
    config.stash[temporary] = directory
    (directory / "static").mkdir()  # WhiteNoise warns where there is none
    read = re.findall(r'(?:env\.\w+\(|read_secret\(env,)\s*"(\w+)"', SETTINGS.read_text())
    for name in [*read, *COMPACTION_VARIABLES.values()]:
        os.environ.pop(name, None)
    environment = {
        "ENV_FILE": os.devnull,
        "DATA_DIR": str(directory),
        "DATABASE_URL": f"sqlite:///{directory / 'everlong.sqlite3'}",
        "REDIS_URL": "",
        # A closed port and a dummy key: a test that forgets its scripted server fails at once.
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_API_KEY": "test-key",
        "SECRET_KEY": "only-for-tests",
        "ALLOWED_HOSTS": "127.0.0.1,localhost,testserver",
    }
    if config.getoption("--services"):
        try:
            postgres = start_postgres()
            config.add_cleanup(postgres.stop)
            redis = start_redis()
            config.add_cleanup(redis.stop)
        except ServiceUnavailable as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[servers] = (postgres, redis)
        environment |= {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
    # Whatever proxy the shell names: the tests' own helpers read these variables too.
    for name in ("no_proxy", "NO_PROXY"):
        loopback = "127.0.0.1,localhost,::1"
        environment[name] = ",".join(filter(None, (os.environ.get(name), loopback)))
    os.environ.update(environment)
    # Not in pyproject.toml: named there, the settings would load before any conftest.
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    gc.set_threshold(50_000, 20, 20)  # a twentieth less time than with Python's 700
    django.setup()
    config.stash[other_parts] = files_of_other_parts(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[temporary], ignore_errors=True)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [
        f"database: {'PostgreSQL and Redis' if config.getoption('--services') else 'SQLite'}",
        f"recorded data: {config.getoption('--data') or 'not given (--data DIR): no tests/data'}",
    ]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """tests/data needs its data: `make test-data DATA=directory`. tests/faults takes minutes: `make
    faults`; tests/model too, and a real model: `make test-model`; tests/browsers needs Firefox and
    WebKitGTK: `make test-browsers`. Files of other parts are not even imported."""
    unwanted = {
        RECORDED: not config.getoption("--data"),
        FAULTS: not config.getoption("--faults"),
        REAL_MODEL: not config.getoption("--model"),
        BROWSERS: not config.getoption("--browsers"),
    }
    others: set[Path] = config.stash[other_parts]
    unwanted |= dict.fromkeys(others, True)
    return True if unwanted.get(collection_path) else None


def files_of_other_parts(config: pytest.Config) -> set[Path]:
    """What `--part` leaves to other runs."""
    number, parts = map(int, config.getoption("--part").split("/"))
    ignored = [RECORDED, FAULTS, REAL_MODEL, BROWSERS, *map(Path, config.getoption("ignore") or ())]
    files = [
        path
        for directory in config.args
        for path in Path(directory).resolve().rglob("test_*.py")
        if not any(path.is_relative_to(each.resolve()) for each in ignored)
    ]
    marks = config.getoption("markexpr").split(" or ")
    wanted = files
    if all(map(str.isidentifier, marks)):  # a file without the words has no such tests
        wanted = [path for path in files if any(mark in path.read_text() for mark in marks)]
    mine = parted(wanted, parts)[number - 1]
    return set(files) - mine


def parted(files: Iterable[Path], parts: int) -> list[set[Path]]:
    """Files in parts of about as much text each: a long file is a long walk."""
    size = {path: path.stat().st_size for path in files}
    made: list[set[Path]] = [set() for _ in range(parts)]
    for path in sorted(size, key=lambda path: (-size[path], path)):
        min(made, key=lambda part: sum(size[each] for each in part)).add(path)
    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's tests last: Playwright's synchronous interface leaves an event loop running,
    in which asynchronous tests cannot start theirs."""
    items.sort(key=lambda item: item.get_closest_marker("e2e") is not None)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # what is loaded now stays


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the logs of a failed test's processes with the failure."""
    report = yield
    if report.failed:
        item.stash[failed] = True
        for process in item.stash.get(processes, []):
            report.sections.append((f"log of {process.name}", process.log[-20_000:]))
    return report


@pytest.fixture(scope="session")
def data_directory(pytestconfig: pytest.Config) -> Path:
    """The directory given with `--data`."""
    directory: Path = pytestconfig.getoption("--data")
    if not directory.is_dir():
        pytest.fail(f"--data {directory} is not a directory")
    return directory.resolve()


@pytest.fixture(scope="session", autouse=True)
def quick_settings() -> Iterator[None]:
    """In this process: static files without the manifest, passwords without the cost."""
    from django.conf import settings
    from django.test import override_settings

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(
        STORAGES={**settings.STORAGES, "staticfiles": plain},
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ):
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_emptying() -> Iterator[None]:
    """See `empty_quickly`."""
    with empty_quickly():
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(pytestconfig: pytest.Config) -> None:
    """SQLite in a file: threads and other processes must see the same database."""
    from django.db import connections

    settings = connections["default"].settings_dict
    if settings["ENGINE"].endswith("sqlite3"):
        settings["TEST"]["NAME"] = str(pytestconfig.stash[temporary] / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_keepdb(pytestconfig: pytest.Config) -> bool:
    """PostgreSQL is thrown away with its databases; dropping one would fail if a thread of the
    last test still held a connection."""
    return bool(pytestconfig.getoption("--services"))


# --- Servers --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """A running PostgreSQL: the one of `--services`, else started for the tests that ask."""
    if running := pytestconfig.stash.get(servers, None):
        yield running[0]
        return
    server = start_postgres()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_server(pytestconfig: pytest.Config) -> Iterator[RedisServer]:
    """A running Redis: the one of `--services`, else started for the tests that ask."""
    if running := pytestconfig.stash.get(servers, None):
        yield running[1]
        return
    server = start_redis()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def migrated_database(postgres_server: PostgresServer) -> str:
    """See `migrate_fresh`."""
    return server.migrate_fresh(postgres_server)


@pytest.fixture
def scaled_environment(
    postgres_server: PostgresServer, redis_server: RedisServer, migrated_database: str
) -> dict[str, str]:
    """The environment of a site on PostgreSQL and Redis: a migrated database and an empty one."""
    return {
        "DATABASE_URL": postgres_server.fresh_database(migrated_database),
        "REDIS_URL": redis_server.fresh_database(),
    }


@pytest.fixture(scope="session")
def vocabulary_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the real vocabulary: set-up's, else fetched. Fails if it cannot be had.

    Without this fixture tokens are estimated from bytes, the same on every machine.
    """
    if is_intact(VOCABULARY):
        return VOCABULARY
    directory = tmp_path_factory.mktemp("vocabulary")
    said = install(directory)
    assert is_intact(directory), said
    return directory


@pytest.fixture(scope="session")
def site(
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
    vocabulary_directory: Path,
) -> Path:
    """A data directory to copy: database, static files, vocabulary, as `make setup` leaves it. Of
    the runs that share a directory the first builds it, and the others wait."""
    shared: Path = pytestconfig.getoption("--shared") or tmp_path_factory.mktemp("site")
    complete = shared / "site"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            directory = server.build_site(Path(tempfile.mkdtemp(dir=shared)) / "data")
            shutil.copytree(vocabulary_directory, directory / "tiktoken")
            directory.rename(complete)
    return complete


@pytest.fixture
def supervise(request: pytest.FixtureRequest) -> Iterator[Callable[[Process], Process]]:
    """Register a process: its log is shown if the test fails, and it does not outlive the test."""
    started = request.node.stash.setdefault(processes, [])

    def register(process: Process) -> Process:
        started.append(process)
        return process

    yield register
    for process in started:
        process.kill()


@pytest.fixture
def start_everlong(
    tmp_path: Path, site: Path, supervise: Callable[[EverlongProcess], EverlongProcess]
) -> Callable[..., EverlongProcess]:
    """`start_everlong(*arguments, **environment)`: a healthy `manage.py serve` of its own."""

    def start(*arguments: str, **environment: str) -> EverlongProcess:
        return supervise(EverlongProcess(tmp_path, site, *arguments, **environment)).start()

    return start


@pytest.fixture
def start_worker(
    tmp_path: Path, supervise: Callable[[CeleryProcess], CeleryProcess]
) -> Callable[..., CeleryProcess]:
    """`start_worker(server, **environment)`: a Celery worker on a server's database and broker."""

    def start(server: EverlongProcess, **environment: str) -> CeleryProcess:
        return supervise(CeleryProcess(tmp_path, **{**server.environment, **environment})).start()

    return start


# --- Browser --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium. Raises ProgramUnavailable: a test that needs it fails, and says why."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE * 1_000)
    executable = require(*BROWSER)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        yield launched
        launched.close()


def new_profile(browser: "Browser") -> "BrowserContext":
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(PATIENCE * 1_000)
    return made


@pytest.fixture
def context(browser: "Browser") -> Iterator["BrowserContext"]:
    """A browser profile of its own: its pages are one person's tabs."""
    made = new_profile(browser)
    yield made
    made.close()


@pytest.fixture
def page(context: "BrowserContext", request: pytest.FixtureRequest) -> Iterator["Page"]:
    """A tab. If the test fails, a picture of it is left in var/test-failures/."""
    tab = context.new_page()
    yield tab
    if request.node.stash.get(failed, False) and not tab.is_closed():
        tab.screenshot(path=FAILURES / f"{request.node.name}.png", full_page=True)
