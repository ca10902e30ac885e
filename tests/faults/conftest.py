"""Sites to break: `make faults`. One line a scenario, with what was seen.

Visitors are imported inside: pytest loads this file before Django is set up.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from demo.api.script import is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.faults.sites import SETTINGS, WINDOW, Site
from tests.support.lines import Lines, Seen, pytest_report_teststatus, seen
from tests.support.server import migrate_fresh
from tests.support.services import PostgresServer, RedisServer, start_own_postgres, start_own_redis

if TYPE_CHECKING:
    from tests.faults.visitors import Visitor

Start = Callable[..., Awaitable[Site]]
PROFILES = pytest.mark.parametrize("profile", ["embedded", "scaled"])

__all__ = ["PROFILES", "Seen", "Start", "pytest_report_teststatus", "seen"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Lines(config), "lines")


# --- Sites ----------------------------------------------------------------------------------------


@pytest.fixture
def model() -> Iterator[DemoServer]:
    """The scripted provider. Each scenario says what it answers; titles it has at hand."""
    listed = [ListedModel(id="test-model", window=WINDOW, max_output=1_024)]
    with DemoServer(models=listed) as server:
        server.script.reply("A title", when=is_title, always=True)
        yield server


@pytest.fixture(scope="session")
def breakable_postgres() -> Iterator[PostgresServer]:
    server = start_own_postgres()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def migrated(breakable_postgres: PostgresServer) -> str:
    """See `migrate_fresh`."""
    return migrate_fresh(breakable_postgres)


@pytest.fixture(scope="session")
def breakable_redis() -> Iterator[RedisServer]:
    server = start_own_redis()
    yield server
    server.stop()


@pytest.fixture
def build(
    request: pytest.FixtureRequest, tmp_path: Path, site: Path, supervise: Any, model: DemoServer
) -> Iterator[Callable[..., Site]]:
    """`build(profile, webs=1, **settings)`: a site that runs; `webs` are its web processes where it
    is scaled. Servers that a failed scenario has left dead are started again for the next one."""
    sites: list[Site] = []

    def make(profile: str, *, webs: int = 1, **settings: str) -> Site:
        environment = {**SETTINGS, "ANTHROPIC_BASE_URL": model.base_url, **settings}
        made = Site(model, environment, supervise, tmp_path, site)
        sites.append(made)
        if profile == "scaled":
            made.postgres = request.getfixturevalue("breakable_postgres")
            made.redis = request.getfixturevalue("breakable_redis")
            copied = request.getfixturevalue("migrated")
            environment["DATABASE_URL"] = made.postgres.fresh_database(copied)
            environment["REDIS_URL"] = made.redis.fresh_database()
        for _ in range(webs if made.scaled else 1):
            made.start_web()
        if made.scaled:
            made.start_worker()
        return made

    yield make
    for server in [server for made in sites for server in (made.postgres, made.redis) if server]:
        if server.owned is not None and not server.owned.running:
            server.restart()


@pytest.fixture
def start(build: Callable[..., Site], person: "Visitor") -> Start:
    """`await start(profile, webs=1, **settings)`: a site that runs, and that the person has set
    up."""

    async def make(profile: str, **options: Any) -> Site:
        site = build(profile, **options)
        await person.set_up(site.other)
        return site

    return make


@pytest.fixture
async def person() -> "AsyncIterator[Visitor]":
    from tests.faults.visitors import Visitor

    async with Visitor() as visitor:
        yield visitor
