"""SQLite is locked by somebody else, and the disk is full."""

import asyncio
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from demo.api.script import is_chat
from tests.faults.conftest import Seen
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site
from tests.faults.texts import WORDS, talk
from tests.faults.visitors import Visitor

LOCKED = 10.0  # seconds: less than the database's timeout of 30
FULL = 6.0  # seconds
PAGE = 5.0  # in which a page opens meanwhile
# What the log may still grow by; the database's log of writes is longer than that or soon will be.
ROOM = 32 * 1024


def database(site: Site) -> Path:
    return Path(site.web.environment["DATA_DIR"]) / "everlong.sqlite3"


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """Another process has the database for itself: as a backup or a curious administrator may."""
    with closing(sqlite3.connect(database(site), timeout=5, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full_disk(site: Site) -> Iterator[None]:
    """No file of the server can grow: every write past the limit fails, for root too and without a
    mount. (The kernel says EFBIG where a full disk says ENOSPC.)"""
    size = len(site.web.log.encode()) + ROOM
    _, hard = resource.prlimit(site.web.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        if site.web.running:
            resource.prlimit(site.web.pid, resource.RLIMIT_FSIZE, (hard, hard))


async def test_sqlite_locked_for_ten_seconds_in_mid_stream(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("embedded")
    await person.set_up(site.other)
    other, other_tab = await talk(site, person)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS[:150], 0.1, when=is_chat)
    site.model.script.reply("At last.", when=lambda r: "Are you there?" in r.last_user_text)
    tab.say("Tell me a story.")
    await tab.reads("word10 ")
    with locked(site):
        locked_at = time.monotonic()
        other_tab.say("Are you there?")
        await person.opens_within(site.web, f"/c/{conversation}/", PAGE)
        await tab.reads("word90 ")
        await asyncio.sleep(max(0.0, locked_at + LOCKED - time.monotonic()))
    free_at = time.monotonic()
    await other_tab.finished(status="completed")
    took = time.monotonic() - free_at
    await tab.finished(status="completed")
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person)
    assert not person.told[other].errors
    assert not person.told[conversation].errors
    seen(f"the answer streams on, pages open, a message waits: {took:.1f} s after")


async def test_disk_full_in_mid_stream(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("embedded")
    await person.set_up(site.other)
    other, other_tab = await talk(site, person)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS[:150], 0.1, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads("word10 ")
    with full_disk(site):
        full_at = time.monotonic()
        client_id = other_tab.say("Are you there?")
        refused = await other_tab.next("error", client_id=client_id)
        opened = await person.opens_within(site.web, f"/c/{conversation}/", PAGE)
        await tab.reads("word50 ")
        await asyncio.sleep(max(0.0, full_at + FULL - time.monotonic()))
    finished = await tab.finished()
    assert finished["status"] == "completed", finished["error"]
    assert site.messages(conversation)[-1]["text"] == "".join(WORDS[:150])
    site.model.script.reply("Gladly.", when=is_chat).reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    await goes_on(other_tab, "Are you there?")
    seen(f"the answer is whole, pages open ({opened:.1f} s), a message: {refused['message']}")
    assert "disk" in refused["message"]
    check(site, person)


async def test_disk_full_when_an_answer_ends(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("embedded")
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS[:50], 0.1, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads("word10 ")
    with full_disk(site):
        await tab.reads("word49 ")
        await asyncio.sleep(FULL / 2)
    room_at = time.monotonic()
    took = await site.free(conversation, room_at)
    last = site.messages(conversation)[-1]
    seen(f"free {took:.1f} s after there was room, the answer {last['status']}")
    assert last["text"] == "".join(WORDS[:50]), "what was seen is kept"
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person)
    assert last["status"] == "complete"
    assert took < LEASE + SLACK
