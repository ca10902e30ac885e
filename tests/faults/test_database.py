"""For some seconds nothing can be stored: PostgreSQL is shut down at once, without a word to its
clients, the disk is full, or somebody else has locked SQLite."""

import asyncio
import resource
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.faults.conftest import Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site, eventually
from tests.faults.texts import (
    LONG,
    WORDS,
    begin_story,
    compact,
    compact_halfway,
    returned,
    talk,
)
from tests.faults.visitors import Visitor

AWAY = 6.0  # seconds: less than a lease
LOCKED = 10.0  # seconds: less than the database's timeout of 30
PAGE = 5.0  # in which a page opens meanwhile
# What the log may still grow by; the database's log of writes is longer than that or soon will be.
ROOM = 32 * 1024

Outage = Callable[[Site], AbstractAsyncContextManager[None]]


async def sleep_until(moment: float) -> None:
    """`moment` is monotonic, and may have passed."""
    await asyncio.sleep(max(0.0, moment - time.monotonic()))


@asynccontextmanager
async def postgres_away(site: Site) -> AsyncIterator[None]:
    """For as long as the block takes."""
    assert site.postgres is not None
    site.postgres.kill()
    yield
    await asyncio.to_thread(site.postgres.restart)


@asynccontextmanager
async def disk_full(site: Site) -> AsyncIterator[None]:
    """No file of the server can grow: every write past the limit fails, for root too and without a
    mount. (The kernel says EFBIG where a full disk says ENOSPC.)"""
    size = len(site.web.log.encode()) + ROOM
    _, hard = resource.prlimit(site.web.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        if site.web.running:
            resource.prlimit(site.web.pid, resource.RLIMIT_FSIZE, (hard, hard))


@asynccontextmanager
async def locked(site: Site) -> AsyncIterator[None]:
    """Another process has the database for itself: as a backup or a curious administrator may."""
    path = Path(site.web.environment["DATA_DIR"]) / "everlong.sqlite3"
    with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def read_readiness(site: Site) -> int:
    try:
        with urllib.request.urlopen(f"{site.web.url}/readyz", timeout=15) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


OUTAGES = pytest.mark.parametrize(
    ("profile", "outage"),
    [
        pytest.param("scaled", postgres_away, id="postgres"),
        pytest.param("embedded", disk_full, id="disk_full"),
    ],
)


@OUTAGES
async def test_nothing_can_be_stored_in_mid_stream(
    start: Start, person: Visitor, profile: str, outage: Outage, seen: Seen
) -> None:
    site = await start(profile)
    _, other_tab = await talk(site, person)
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, WORDS[:150], until="word20 ")
    async with outage(site):
        began_at = time.monotonic()
        client_id = other_tab.say("Are you there?")
        refused = await other_tab.next("error", client_id=client_id)
        assert refused["retryable"]
        if outage is postgres_away:
            assert await asyncio.to_thread(read_readiness, site) == 503
        else:
            assert "disk" in refused["message"]
            await person.opens_within(site.web, f"/c/{conversation}/", PAGE)
        await tab.reads("word50 ")  # it reads on: the text is in the process
        await sleep_until(began_at + AWAY)
    await tab.finished(status="completed")
    assert site.messages(conversation)[-1]["text"] == "".join(WORDS[:150])
    await goes_on(site, tab)
    await goes_on(site, other_tab, "Are you there?")
    check(site, person)
    seen(f"the answer streams on and is whole; a message meanwhile: {refused['message']}")


@OUTAGES
async def test_nothing_can_be_stored_when_an_answer_ends(
    start: Start, person: Visitor, profile: str, outage: Outage, seen: Seen
) -> None:
    site = await start(profile)
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, WORDS[:50], until="word20 ")
    async with outage(site):
        await tab.reads("word49 ")
        await asyncio.sleep(AWAY / 2)  # the answer is over, and cannot be stored
    back_at = time.monotonic()
    took = await site.free(conversation, back_at)
    last = site.messages(conversation)[-1]
    assert last["text"] == "".join(WORDS[:50]), "what was seen is kept"
    assert last["status"] == "complete"
    await goes_on(site, await returned(site, person, tab))
    check(site, person)
    seen(f"stored {took:.1f} s after it was over")
    assert took < LEASE + SLACK


async def test_postgresql_away_in_a_compaction(start: Start, person: Visitor, seen: Seen) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    originals = site.messages(conversation)
    gate = await compact_halfway(site, tab)
    async with postgres_away(site):
        await asyncio.sleep(AWAY / 2)
        gate.release()
        await asyncio.sleep(AWAY / 2)
    took = await site.free(conversation, time.monotonic())
    await eventually(
        lambda: site.compactions(conversation)[-1]["status"] != "running", "the compaction ends"
    )
    assert site.messages(conversation) == originals
    ended = site.compactions(conversation)[-1]["status"]
    tab = await returned(site, person, tab)
    if ended != "completed":
        await compact(site, tab)
    await goes_on(site, tab)
    check(site, person)
    seen(f"free {took:.1f} s after PostgreSQL was back, the compaction {ended}")
    assert took < LEASE + SLACK


async def test_sqlite_locked_for_ten_seconds_in_mid_stream(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("embedded")
    other, other_tab = await talk(site, person)
    conversation, tab = await talk(site, person)
    site.model.script.reply("At last.", when=lambda r: "Are you there?" in r.last_user_text)
    await begin_story(site, tab, WORDS[:150], until="word10 ")
    async with locked(site):
        locked_at = time.monotonic()
        other_tab.say("Are you there?")
        await person.opens_within(site.web, f"/c/{conversation}/", PAGE)
        await tab.reads("word90 ")
        await sleep_until(locked_at + LOCKED)
    free_at = time.monotonic()
    await other_tab.finished(status="completed")
    took = time.monotonic() - free_at
    await tab.finished(status="completed")
    await goes_on(site, tab)
    check(site, person)
    assert not person.told[other].errors
    assert not person.told[conversation].errors
    seen(f"the answer streams on, pages open, a message waits: {took:.1f} s after")
