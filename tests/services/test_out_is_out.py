"""Who is put out at one web process is out at the others: what streams there stops, what is open
there closes, and nothing more is answered, listed or downloaded."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from chat.engine.rights import NOT_OFFERED
from demo.api.script import is_chat, is_title
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.sockets import PATIENCE
from tests.services.browsers import PASSWORD, Person, RemoteTab
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.services

SIGNED_OUT = 4401


@pytest.fixture
def model() -> Any:
    listed = [ListedModel(id="test-model", window=16_000, max_output=1_024)]
    with DemoServer(models=listed) as server:
        server.script.reply("A title", when=is_title, always=True)
        yield server
        server.script.assert_done()


@dataclass
class Site:
    """Two web processes; an administrator at B, and at A somebody who is being answered."""

    a: EverlongProcess
    b: EverlongProcess
    root: Person
    bob: Person
    conversation: UUID
    tab: RemoteTab
    bob_id: str

    async def is_out(self, path: str) -> bool:
        """Whether A shows them the sign-in in place of a page of theirs."""
        async with self.bob.http.get(self.a.url + path, allow_redirects=False) as answer:
            return answer.status == 302 and "/account/login/" in answer.headers["location"]

    async def account_page(self, **changed: str) -> None:
        """Save Bob's account at B."""
        form = {"username": "bob", "is_active": "on", "role": "user"}
        form |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", **changed}
        path = f"/admin/accounts/user/{self.bob_id}/change/"
        await self.root.post(self.b, path, **{name: text for name, text in form.items() if text})


@pytest.fixture
async def site(
    start_everlong: Callable[..., EverlongProcess],
    scaled_environment: dict[str, str],
    model: DemoServer,
) -> AsyncIterator[Site]:
    environment = scaled_environment | {
        "ANTHROPIC_BASE_URL": model.base_url,
        "DEFAULT_MODEL": "test-model",
        "MODEL_WINDOWS": "test-model=16000",
        "MODEL_RETRIES": "0",
    }
    a = start_everlong("--no-worker", **environment)
    b = start_everlong("--no-worker", **environment)
    async with Person() as root, Person() as bob:
        await root.set_up(b)
        new = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD}
        place = await root.post(b, "/admin/accounts/user/add/", usable_password="true", **new)
        await bob.post(a, "/account/login/", login="bob", password=PASSWORD)
        gate = model.script.stall("What I had said so far", when=is_chat)
        conversation = await bob.begin(a, "Tell me")
        await gate.wait_reached()
        tab = await bob.open(a, conversation)
        yield Site(a, b, root, bob, conversation, tab, place.split("/")[-3])
        await tab.close()


async def disable(site: Site) -> None:
    await site.account_page(is_active="")


async def delete(site: Site) -> None:
    await site.root.post(site.b, f"/admin/accounts/user/{site.bob_id}/delete/", post="yes")


@pytest.mark.parametrize("put_out", [disable, delete])
async def test_somebody_whose_account_ends_is_out_at_every_process(
    site: Site, model: DemoServer, put_out: Callable[[Site], Any]
) -> None:
    assert not await site.is_out(f"/c/{site.conversation}/export.md")
    await put_out(site)
    await asyncio.to_thread(model.script.wait_for_disconnects, 1, PATIENCE)
    await site.tab.until(lambda: site.tab.closed_with)
    assert site.tab.closed_with == SIGNED_OUT
    for path in ("/", f"/c/{site.conversation}/", f"/c/{site.conversation}/export.md"):
        assert await site.is_out(path)


async def test_who_signs_out_at_one_process_is_signed_out_at_the_other(
    site: Site, model: DemoServer
) -> None:
    await site.bob.post(site.b, "/account/logout/")
    await site.tab.until(lambda: site.tab.closed_with)
    assert site.tab.closed_with == SIGNED_OUT
    assert await site.is_out(f"/c/{site.conversation}/")


async def test_who_leaves_a_group_is_not_answered_by_its_models_at_any_process(
    site: Site, model: DemoServer, scaled_environment: dict[str, str]
) -> None:
    """Also what streams stops."""
    everything = {"model_names": "*", "tool_groups": "*", "mcp_servers": "*"}
    for name, allowed in (("all", everything), ("none", {})):
        policy = {"name": name, "has_policy": "on", **allowed}
        await site.root.post(site.b, "/admin/auth/group/add/", **policy)
    with psycopg.connect(scaled_environment["DATABASE_URL"]) as database:
        ids = dict(database.execute("SELECT name, id FROM auth_group").fetchall())
        membership = "INSERT INTO accounts_user_groups (user_id, group_id) VALUES (%s, %s)"
        for group in ids.values():
            database.execute(membership, [site.bob_id, group])
    await site.account_page(groups=str(ids["none"]))
    await asyncio.to_thread(model.script.wait_for_disconnects, 1, PATIENCE)
    await site.tab.next("turn.finished", status="cancelled")
    site.tab.say("And now?")
    refused = await site.tab.next("error")
    assert (refused["code"], refused["message"]) == ("model_off", NOT_OFFERED)
    assert "ask an administrator" in (await site.bob.get(site.a, "/")).lower()
