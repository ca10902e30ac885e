"""Who is put out at one web process is out at the others: what streams there stops, what is open
there closes, and nothing more is answered, listed or downloaded."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from chat.engine.rights import NOT_OFFERED
from demo.api.script import is_chat, is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.sockets import PATIENCE
from tests.conftest import processes
from tests.services.browsers import PASSWORD, Person, RemoteTab
from tests.support.server import EverlongProcess
from tests.support.services import PostgresServer, RedisServer

pytestmark = pytest.mark.services

SIGNED_OUT = 4401
numbers = count(1)


@pytest.fixture(scope="module")
def model() -> Iterator[DemoServer]:
    listed = [ListedModel(id="test-model", window=16_000, max_output=1_024)]
    with DemoServer(models=listed) as server:
        yield server


@pytest.fixture(scope="module")
def webs(
    tmp_path_factory: pytest.TempPathFactory,
    site: Path,
    postgres_server: PostgresServer,
    redis_server: RedisServer,
    migrated_database: str,
    model: DemoServer,
) -> Iterator[list[EverlongProcess]]:
    """Two web processes of a site with an administrator, for all tests: to start them takes
    seconds."""
    environment = {
        "DATABASE_URL": postgres_server.fresh_database(migrated_database),
        "REDIS_URL": redis_server.fresh_database(),
        "ANTHROPIC_BASE_URL": model.base_url,
        "DEFAULT_MODEL": "test-model",
        "MODEL_WINDOWS": "test-model=16000",
        "MODEL_RETRIES": "0",
    }
    directory = tmp_path_factory.mktemp("webs")
    started = [
        EverlongProcess(directory, site, "--no-worker", **environment).start() for _ in range(2)
    ]

    async def set_up() -> None:
        async with Person() as root:
            await root.set_up(started[0])

    asyncio.run(set_up())
    yield started
    for each in started:
        each.kill()


@dataclass
class Scene:
    """Two web processes; an administrator at B, and at A somebody who is being answered."""

    a: EverlongProcess
    b: EverlongProcess
    root: Person
    bob: Person
    conversation: UUID
    tab: RemoteTab
    bob_id: str
    name: str

    async def is_out(self, path: str) -> bool:
        """Whether A shows them the sign-in in place of a page of theirs."""
        async with self.bob.http.get(self.a.url + path, allow_redirects=False) as answer:
            return answer.status == 302 and "/account/login/" in answer.headers["location"]

    async def account_page(self, **changed: str) -> None:
        """Save Bob's account at B."""
        form = {"username": self.name, "is_active": "on", "role": "user"}
        form |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", **changed}
        path = f"/admin/accounts/user/{self.bob_id}/change/"
        await self.root.post(self.b, path, **{name: text for name, text in form.items() if text})


@pytest.fixture
async def scene(
    webs: list[EverlongProcess], model: DemoServer, request: pytest.FixtureRequest
) -> AsyncIterator[Scene]:
    request.node.stash.setdefault(processes, []).extend(webs)  # their logs, if the test fails
    model.script.clear()
    model.script.reply("A title", when=is_title, always=True)
    a, b = webs
    async with Person() as root, Person() as bob:
        await root.post(b, "/account/login/", login="ada", password=PASSWORD)
        name = f"bob{next(numbers)}"
        new = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
        place = await root.post(b, "/admin/accounts/user/add/", usable_password="true", **new)
        await bob.post(a, "/account/login/", login=name, password=PASSWORD)
        gate = model.script.stall("What I had said so far", when=is_chat)
        conversation = await bob.begin(a, "Tell me")
        await gate.wait_reached()
        tab = await bob.open(a, conversation)
        yield Scene(a, b, root, bob, conversation, tab, place.split("/")[-3], name)
        await tab.close()
        gate.release()  # where it was not stopped: no later test takes its end for another's
    model.script.assert_done()


async def disable(scene: Scene) -> None:
    await scene.account_page(is_active="")


async def delete(scene: Scene) -> None:
    await scene.root.post(scene.b, f"/admin/accounts/user/{scene.bob_id}/delete/", post="yes")


@pytest.mark.parametrize("put_out", [disable, delete])
async def test_somebody_whose_account_ends_is_out_at_every_process(
    scene: Scene, model: DemoServer, put_out: Callable[[Scene], Any]
) -> None:
    assert not await scene.is_out(f"/c/{scene.conversation}/export.md")
    await put_out(scene)
    await asyncio.to_thread(model.script.wait_for_disconnects, 1, PATIENCE)
    await scene.tab.until(lambda: scene.tab.closed_with)
    assert scene.tab.closed_with == SIGNED_OUT
    for path in ("/", f"/c/{scene.conversation}/", f"/c/{scene.conversation}/export.md"):
        assert await scene.is_out(path)


async def test_who_signs_out_at_one_process_is_signed_out_at_the_other(
    scene: Scene, model: DemoServer
) -> None:
    await scene.bob.post(scene.b, "/account/logout/")
    await scene.tab.until(lambda: scene.tab.closed_with)
    assert scene.tab.closed_with == SIGNED_OUT
    assert await scene.is_out(f"/c/{scene.conversation}/")


async def test_who_leaves_a_group_is_not_answered_by_its_models_at_any_process(
    scene: Scene, model: DemoServer
) -> None:
    """Also what streams stops."""
    everything = {"model_names": "*", "tool_groups": "*", "mcp_servers": "*"}
    for name, allowed in (("all", everything), ("none", {})):
        policy = {"name": name, "has_policy": "on", **allowed}
        await scene.root.post(scene.b, "/admin/auth/group/add/", **policy)
    with psycopg.connect(scene.a.environment["DATABASE_URL"]) as database:
        ids = dict(database.execute("SELECT name, id FROM auth_group").fetchall())
        membership = "INSERT INTO accounts_user_groups (user_id, group_id) VALUES (%s, %s)"
        for group in ids.values():
            database.execute(membership, [scene.bob_id, group])
    await scene.account_page(groups=str(ids["none"]))
    await asyncio.to_thread(model.script.wait_for_disconnects, 1, PATIENCE)
    await scene.tab.next("turn.finished", status="cancelled")
    scene.tab.say("And now?")
    refused = await scene.tab.next("error")
    assert (refused["code"], refused["message"]) == ("model_off", NOT_OFFERED)
    assert "ask an administrator" in (await scene.bob.get(scene.a, "/")).lower()
