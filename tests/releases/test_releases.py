"""What a release left is carried on by this code: its migrations, and databases of both engines."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from config.version import VERSION
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.factories import MODEL, PASSWORD, make_user
from tests.releases import dumps, fill
from tests.releases.make import (
    FILES,
    MIGRATIONS,
    POSTGRES,
    RELEASES,
    SECRET_KEY,
    SQLITE,
    sum_migrations,
)
from tests.services.browsers import Person
from tests.support.server import ROOT, EverlongProcess, manage, sqlite_url
from tests.support.services import PostgresServer

RELEASED = sorted(path.parent for path in RELEASES.glob(f"*/{MIGRATIONS}"))
released = pytest.mark.parametrize("release", RELEASED, ids=lambda path: path.name)
ENGINES = [
    SQLITE,
    pytest.param(POSTGRES, marks=pytest.mark.services),
]
CHANGED = (
    "{} was changed after release {}: databases that have applied it would not get the change. "
    "Put it back (git checkout), and add a migration: `manage.py makemigrations`."
)
# Both in one process: each would load the site anew.
MIGRATE_AND_CHECK = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from chat.services.site.backups import find_damage
found = find_damage()
assert not found, found
"""


@released
def test_a_released_migration_is_never_changed(release: Path) -> None:
    found = sum_migrations()
    for path, expected in json.loads((release / MIGRATIONS).read_text()).items():
        assert found.get(path) == expected, CHANGED.format(path, release.name)


def test_this_release_is_kept_and_described() -> None:
    """By a section of the changelog with its date."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(VERSION)} - \d{{4}}-\d\d-\d\d$", changelog, re.M)
    assert RELEASES / VERSION in RELEASED


@released
@pytest.mark.parametrize("dump", [SQLITE, POSTGRES])
def test_a_released_database_has_rows_in_each_table(release: Path, dump: str) -> None:
    rows = dumps.list_rows_by_table((release / dump).read_text())
    assert len(rows) > 20
    assert [table for table, number in rows.items() if not number] == []


@pytest.mark.django_db
def test_the_maker_names_what_a_database_lacks() -> None:
    make_user()
    missing = set(fill.list_missing())
    assert {"rows of chat.Turn", "accounts.User.first_name"} <= missing
    assert "accounts.User.username" not in missing


# --- Brought to the tables of now -----------------------------------------------------------------


@pytest.fixture
def model() -> Iterator[DemoServer]:
    with DemoServer(models=[ListedModel(id=MODEL, window=200_000)]) as server:
        server.script.reply("I know.", always=True)
        yield server
        server.script.assert_done()


@pytest.fixture
def open_release(
    tmp_path: Path,
    site: Path,
    model: DemoServer,
    request: pytest.FixtureRequest,
    supervise: Callable[[Any], Any],
) -> Callable[[Path, str], EverlongProcess]:
    """A running site on the migrated database of a release, whose files are there and whose keys
    can be read."""

    def start(release: Path, dump: str) -> EverlongProcess:
        data = tmp_path / "data"
        shutil.copytree(site, data)
        shutil.unpack_archive(release / FILES, data / "media")
        text = (release / dump).read_text()
        url = sqlite_url(data)
        if dump == SQLITE:
            for path in data.glob("everlong.sqlite3*"):
                path.unlink()
            dumps.load_sqlite(text, data / "everlong.sqlite3")
        else:
            server: PostgresServer = request.getfixturevalue("postgres_server")
            url = server.fresh_database()
            dumps.load_postgres(text, url)
        environment = {
            "DATA_DIR": str(data),
            "DATABASE_URL": url,
            "SECRET_KEY": SECRET_KEY,
            "ANTHROPIC_BASE_URL": model.base_url,
            "DEFAULT_MODEL": MODEL,
        }
        process = supervise(EverlongProcess(tmp_path, site, **environment))
        manage(process.environment, "shell", "-c", MIGRATE_AND_CHECK)
        return process.start()

    return start


@released
@pytest.mark.parametrize("dump", ENGINES)
async def test_a_released_database_is_carried_on(
    release: Path, dump: str, open_release: Callable[[Path, str], EverlongProcess]
) -> None:
    server = open_release(release, dump)
    assert f"Everlong {VERSION}: {server.url}\n" in server.log
    async with Person() as ada:
        await ada.post(server, "/account/login/", login="ada", password=PASSWORD)
        await open_administration(ada, server, (release / dump).read_text())
        for page in ("/projects/", "/memories/"):
            await ada.get(server, page)
        paths = find_links(await ada.get(server, "/"), r"/c/[\w-]{36}/")
        assert len(paths) > 15
        for path in paths:
            await open_conversation(ada, server, path)
            await go_on(ada, server, path)
        (project,) = find_links(await ada.get(server, "/projects/"), r"/projects/[\w-]{36}/")
        await ada.get(server, project)


WITHOUT_PAGES = {"account_emailaddress"}


async def open_administration(admin: Person, server: EverlongProcess, dump: str) -> None:
    """Each list, and the form of the first row in it. Of other lists the tables are empty, as the
    release did not have them, or their rows have no page."""
    lists = find_links(await admin.get(server, "/admin/"), r"/admin/\w+/\w+/")
    assert len(lists) > 8
    for path in lists:
        rows = find_links(await admin.get(server, path), rf"{path}[\w-]+/change/")
        if rows:
            await admin.get(server, rows[0])
        else:
            table = "_".join(path.split("/")[2:4])
            assert table not in dump or table in WITHOUT_PAGES, path


async def open_conversation(person: Person, server: EverlongProcess, path: str) -> None:
    """Its page, what opens from there, and its exports."""
    exported = json.loads(await person.get(server, f"{path}export.json"))
    assert exported["messages"]
    summary = ["summary/"] if exported["compaction"] else []
    for part in ("", "outline/", "usage/", "export.md", *summary):
        await person.get(server, path + part)


async def go_on(person: Person, server: EverlongProcess, path: str) -> None:
    """Send a message; a turn that a process of that time left behind has to end before."""
    tab = await person.open(server, UUID(path.split("/")[2]))
    if tab.all("snapshot")[0]["turn"]:
        await tab.next("turn.finished")
    tab.say("And then?")
    ended = await tab.next("turn.finished")
    assert ended["status"] == "completed", ended
    await tab.close()


def find_links(page: str, pattern: str) -> list[str]:
    """The addresses of a page that are of this form, each once."""
    return list(dict.fromkeys(re.findall(rf'href="({pattern})"', page)))
