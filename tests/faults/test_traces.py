"""What is deleted leaves no trace: database, files, cache, queue, log."""

import asyncio
import json
from io import BytesIO
from pathlib import Path
from uuid import UUID

import psycopg
import redis

from demo.api.protocol import ScriptedReply, text, tool_use
from demo.api.script import is_chat, is_summary
from tests.faults.conftest import PROFILES, Seen, Start
from tests.faults.sites import Site, eventually
from tests.faults.texts import LONG, SUMMARY
from tests.faults.visitors import KeepingTab, Visitor
from tests.services.browsers import PASSWORD
from tests.support.server import manage

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def find(site: Site, marker: str) -> set[str]:
    """Where a word stands, in any case of its letters: the names of files, tables, keys, logs."""
    word = marker.lower().encode()
    data = Path(site.web.environment["DATA_DIR"])
    found = {
        path.relative_to(data).as_posix()
        for path in data.rglob("*")
        if path.is_file() and (word in path.name.lower().encode() or word in _read(path))
    }
    found |= {
        f"log of {process.name}"
        for process in [*site.webs, *filter(None, [site.worker])]
        if word in process.log.lower().encode()
    }
    if site.scaled:
        found |= _find_in_postgres(site, marker) | _find_in_redis(site, word)
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes().lower()
    except FileNotFoundError:  # deleted meanwhile
        return b""


def _find_in_postgres(site: Site, marker: str) -> set[str]:
    """Every table, each row as text, as a dump would have it."""
    with psycopg.connect(site.environment["DATABASE_URL"], connect_timeout=5) as connection:
        tables = [name for (name,) in connection.execute(TABLES).fetchall()]
        return {
            f"table {name}"
            for name in tables
            if connection.execute(
                f'SELECT 1 FROM "{name}" AS t WHERE t::text ILIKE %s LIMIT 1'.encode(),
                [f"%{marker}%"],
            ).fetchone()
        }


def _find_in_redis(site: Site, word: bytes) -> set[str]:
    """Keys, and the values of whatever kind."""
    with redis.Redis.from_url(site.environment["REDIS_URL"]) as client:
        read = {
            b"string": client.get,
            b"list": lambda key: client.lrange(key, 0, -1),
            b"set": client.smembers,
            b"hash": client.hgetall,
            b"zset": lambda key: client.zrange(key, 0, -1),
            b"none": lambda key: None,
        }
        return {
            f"key {key!r}"
            for key in client.scan_iter()
            if word in repr((key, read[client.type(key)](key))).lower().encode()
        }


async def fill(site: Site, person: Visitor, marker: str) -> UUID:
    """A conversation with the word in every place that it has: title, messages, a file and its
    name, a tool's result, a focus, a summary. It is shown, so that its HTML is kept."""
    script = site.model.script
    script.reply(f"Answer {marker}.", when=is_chat)
    conversation = await person.begin(site.web, f"Question {marker}.")
    tab = await person.open(site.web, conversation)
    if tab.all("snapshot")[0]["turn"]:
        await tab.next("turn.finished", status="completed")
    file = BytesIO(f"content {marker}".encode())
    file.name = f"{marker}.txt"
    async with person._posting(site.web, "/attachments/", {"file": file}) as answer:
        attached = json.loads(await answer.text())["id"]
    script.reply("Noted.", when=is_chat)
    tab.say(f"Read it. {LONG}", attachments=[attached])
    await tab.finished(status="completed")
    search = (text("I look it up."), tool_use("search_history", {"query": f"question {marker}"}))
    script.reply(ScriptedReply(search), when=is_chat)
    script.reply("Found.", when=is_chat)
    tab.say("What did I ask?")
    await tab.finished(status="completed")
    await compact(site, tab, marker)
    await person.post(site.web, f"/c/{conversation}/rename/", title=f"Title {marker}")
    assert marker in await person.get(site.web, f"/c/{conversation}/")
    return conversation


async def compact(site: Site, tab: KeepingTab, marker: str) -> None:
    site.model.script.reply(SUMMARY.replace("Lorem", f"Lorem {marker}"), when=is_summary)
    tab.send("compact", focus=f"focus {marker}")
    await tab.next("CompressionCompleted", success=True)
    await tab.finished(kind="compact", status="completed")


async def come_in(site: Site, administrator: Visitor, newcomer: Visitor, name: str) -> None:
    """An account that the administrator makes, with an address; its person signs in."""
    twice = {"password1": PASSWORD, "password2": PASSWORD}
    form = {"username": name, "usable_password": "true", **twice}
    page = await administrator.post(site.web, "/admin/accounts/user/add/", **form)
    address = {"username": name, "email": f"{name}@example.org", "is_active": "on"}
    await administrator.post(site.web, page, **address)
    await newcomer.post(site.web, "/account/login/", login=name, password=PASSWORD)


@PROFILES
async def test_what_is_deleted_leaves_no_trace(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile)
    name, talk, other = "zqxname", "zqxtalk", "zqxother"
    async with Visitor() as newcomer:
        await come_in(site, person, newcomer, name)
        conversation = await fill(site, newcomer, talk)
        await fill(site, newcomer, other)
        await newcomer.post(site.web, "/memories/", text=f"Fact {other}")
        project = await newcomer.post(site.web, "/projects/", name=f"Project {other}")
        file = BytesIO(f"plan {other}".encode())
        file.name = f"{other}-plan.txt"
        async with newcomer._posting(site.web, f"{project}files/", {"file": file}) as answer:
            assert answer.status == 302
        before = {marker: find(site, marker) for marker in (name, talk, other)}
        assert all(before.values()), before

        await newcomer.post(site.web, "/c/change/", id=str(conversation), deleted="1")
        where = f"id = '{conversation.hex}'"
        await eventually(
            lambda: not site.rows(f"SELECT id FROM chat_conversation WHERE {where}"), "it is gone"
        )
        await clean(site)
        assert find(site, talk) == set()
        assert find(site, other)

        await newcomer.post(site.web, "/account/reauthenticate/", password=PASSWORD)
        await newcomer.post(site.web, "/account/delete/", name=name)
    await clean(site)
    assert {marker: find(site, marker) for marker in (name, talk, other)} == {
        name: set(),
        talk: set(),
        other: set(),
    }
    (left,) = site.rows("SELECT count(*) AS people FROM accounts_user")
    assert left["people"] == 1
    seen(f"found in {len(set().union(*before.values()))} places before, in none after")


async def clean(site: Site) -> None:
    """What the sweep does within some minutes."""
    await asyncio.to_thread(manage, {**site.web.environment, **site.environment}, "scrub")
