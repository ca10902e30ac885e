"""Backup and restore as docs/operations.md says it, and the way from SQLite to PostgreSQL."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg
import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from chat.management.commands import restore
from chat.services.library import projects
from chat.services.site import backups
from tests.chat.factories import make_provider
from tests.support.server import ROOT, EverlongProcess, ProcessFailed, manage, sqlite_url
from tests.support.services import PostgresServer

Site = dict[str, str]  # the environment of its processes
SECRET = "the-key-of-the-library"
FILL = f"""
import json
from django.contrib.auth.models import Group, Permission
from tests.chat import factories
from tests.data import seed
from accounts.models import User
from chat.models import Project
from chat.services.library import projects
made = seed.account("ada", "Ada", [f"Wombat {{n}}: 3 €\\U0001f43e" for n in range(40)])
user = User.objects.get(username="ada")
group = Group.objects.create(name="readers")
group.permissions.set(Permission.objects.order_by("-pk")[:3])
user.groups.add(group)
factories.make_provider("library", "http://127.0.0.1:9", key="{SECRET}")
project = projects.create_project(user, "Burrows")
projects.add_file(project, "notes.txt", b"A line of notes. " * 100)
User.objects.update(date_joined="2020-02-02T02:02:02.000002Z")
Project.objects.update(changed_at="2020-02-02T02:02:02.000002Z")
print(json.dumps(made))
"""
# Every row of every table, as Django's own command tells it; then whether keys can be read, and
# whether numbers go on after those that were copied.
LOOK = f"""
from django.core.management import call_command
call_command("dumpdata", "--all")
from accounts.models import User
from chat.models import Message, Provider
from chat.engine.providers import read_endpoint
from tests.chat import factories
assert read_endpoint(Provider.objects.get()).key == "{SECRET}"
newest = Message.objects.order_by("-pk")[0].pk
conversation = factories.make_conversation(User.objects.get(username="ada"), messages=["Next"])
assert conversation.messages.get().pk > newest
conversation.delete()
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Site:
    """A site with rows of every kind and a file, which tests only copy; `SESSION` is that of its
    administrator."""
    data = Path(shutil.copytree(site, tmp_path_factory.mktemp("sites") / "old"))
    environment = {**os.environ, "DATA_DIR": str(data), "DATABASE_URL": sqlite_url(data)}
    environment |= {"REDIS_URL": "", "SECRET_KEY": ""}  # so that it makes one
    made = read_last_line(manage(environment, "shell", "-c", FILL))
    return environment | {"SESSION": made["session"]}


@pytest.fixture(scope="module")
def rows(old: Site) -> list[Any]:
    return look(old)


def look(environment: Site) -> list[Any]:
    """Every row of every table. Raises AssertionError where the site cannot go on with them."""
    found: list[Any] = read_last_line(manage(environment, "shell", "-c", LOOK))
    return found


def read_last_line(said: str) -> Any:
    """What it prints in the end, as JSON; logs come before."""
    return json.loads(said.splitlines()[-1])


def read_steps(heading: str, **places: str) -> str:
    """The shell commands below a line of the document, with other places in them."""
    text = (ROOT / "docs" / "operations.md").read_text()
    found = re.search(re.escape(heading) + r".*?```sh\n(.*?)```", text, re.S)
    assert found, heading
    steps = found[1]
    for theirs, ours in places.items():
        assert theirs in steps
        steps = steps.replace(theirs, ours)
    return steps


def do(steps: str, environment: Site) -> str:
    command = ["bash", "-euc", steps.replace("make run", "")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_site_is_restored_in_another_directory_by_the_documents_steps(
    old: Site, rows: list[Any], tmp_path: Path, start_everlong: Callable[..., EverlongProcess]
) -> None:
    new = tmp_path / "new home"
    kept = {"/backups/": f"{tmp_path}/backups/", "/safe/": f"{tmp_path}/safe/"}
    (tmp_path / "safe").mkdir()
    said = do(read_steps("**Embedded profile.**", **kept | {"var/": f"{old['DATA_DIR']}/"}), old)
    assert f"{old['DATA_DIR']}/secret_key" in said

    environment = {key: value for key, value in old.items() if key != "DATABASE_URL"}
    steps = read_steps("**Restore.**", **kept, **{"/srv/everlong": f"'{new}'"})
    assert "Checked: every file is whole" in do(steps, environment)
    restored = environment | {"DATA_DIR": str(new)}
    assert look(restored) == rows

    shutil.copytree(Path(old["DATA_DIR"]) / "static", new / "static")
    database = sqlite_url(new).replace(" ", "%20")
    server = start_everlong(DATA_DIR=str(new), DATABASE_URL=database, SECRET_KEY="")
    session = f"{server.cookie('session')}={old['SESSION']}"
    with urlopen(Request(server.url, headers={"Cookie": session})) as page:
        assert "Wombat" in page.read().decode()


def test_a_restore_says_what_cannot_be_used(
    user: User, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = settings.MEDIA_ROOT = tmp_path
    project = projects.create_project(user, "Burrows")
    kept = [projects.add_file(project, name, b"Notes. " * 9) for name in ("a", "b", "c")]
    tmp_path.joinpath(kept[0].file.name).write_text("cut")
    tmp_path.joinpath(kept[1].file.name).unlink()
    make_provider("library", "http://127.0.0.1:9", key=SECRET)
    settings.SECRET_KEY = "one that was made in the new directory"
    monkeypatch.setattr(restore, "claim_data", lambda address: None)
    monkeypatch.setattr(backups, "restore_backup", lambda directory, report: {})
    with pytest.raises(CommandError) as told:
        call_command("restore", "backup")
    lines = str(told.value).splitlines()
    assert {line.partition(":")[0] for line in lines[1:3]} == {
        f"The file of “{name}” is missing or not whole" for name in ("a", "b")
    }
    assert lines[3].startswith("The key of the provider “library” cannot be decrypted. Put back")
    assert len(lines) == 4


@pytest.mark.services
def test_sqlite_becomes_postgresql_and_comes_back(
    old: Site, rows: list[Any], tmp_path: Path, postgres_server: PostgresServer
) -> None:
    address = postgres_server.fresh_database()
    manage(old, "copy_database", address)
    moved = old | {"DATABASE_URL": address}
    assert look(moved) == rows
    with psycopg.connect(address) as connection:
        found = connection.execute(
            "SELECT count(*), count(vector) FROM chat_searchentry WHERE vector IS NOT NULL"
        ).fetchone()
    assert found
    assert found[0] == len([row for row in rows if row["model"] == "chat.searchentry"]) > 0

    with pytest.raises(ProcessFailed, match=r"Nothing was copied\. The target is not empty"):
        manage(old, "copy_database", address)
    with pytest.raises(ProcessFailed, match="This is the database itself"):
        manage(moved, "copy_database", address)

    manage(moved, "backup", str(tmp_path / "backup"))
    back = old | {"DATABASE_URL": f"sqlite:///{tmp_path}/back.sqlite3"}
    manage(back, "restore", str(tmp_path / "backup"))
    assert look(back) == rows
