"""PostgreSQL is shut down at once, without a word to its clients, and comes back soon after."""

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from demo.api.script import is_chat, is_summary
from tests.faults.conftest import Seen
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site, eventually
from tests.faults.texts import LONG, SUMMARY, WORDS, returned, talk
from tests.faults.visitors import Visitor

AWAY = 6.0  # seconds: less than a lease


def kill_postgres(site: Site) -> None:
    assert site.postgres is not None
    assert site.postgres.owned is not None
    site.postgres.owned.kill()


async def revive_postgres(site: Site) -> float:
    """Start it again on the same data; when it answers, monotonic."""
    assert site.postgres is not None
    await asyncio.to_thread(site.postgres.restart)
    return time.monotonic()


def readiness(site: Site) -> int:
    try:
        with urllib.request.urlopen(f"{site.web.url}/readyz", timeout=15) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


async def test_postgresql_away_in_mid_stream(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("scaled")
    await person.set_up(site.other)
    other, other_tab = await talk(site, person)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS[:150], 0.1, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads("word20 ")
    kill_postgres(site)
    await tab.reads("word50 ")  # it reads on: the text is in the process
    client_id = other_tab.say("Are you there?")
    ready = await asyncio.to_thread(readiness, site)
    refused = await other_tab.next("error", client_id=client_id)
    assert refused["retryable"]
    await revive_postgres(site)
    finished = await tab.finished()
    assert finished["status"] == "completed", finished["error"]
    assert site.messages(conversation)[-1]["text"] == "".join(WORDS[:150])
    site.model.script.reply("Gladly.", when=is_chat).reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    await goes_on(other_tab, "Are you there?")
    check(site, person)
    seen(f"the answer streams on and is whole; a message meanwhile: {refused['code']}")
    assert ready == 503


async def test_postgresql_away_when_an_answer_ends(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("scaled")
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS[:50], 0.1, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads("word20 ")
    kill_postgres(site)
    await tab.reads("word49 ")
    await asyncio.sleep(1.0)  # the answer is over, and cannot be stored
    back_at = await revive_postgres(site)
    took = await site.free(conversation, back_at)
    last = site.messages(conversation)[-1]
    assert last["text"] == "".join(WORDS[:50]), "what was seen is kept"
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(
        tab if tab.closed_with is None else await person.open(site.web, conversation), "?"
    )
    check(site, person)
    seen(f"stored {took:.1f} s after PostgreSQL was back")
    assert last["status"] == "complete"
    assert took < LEASE + SLACK


async def test_postgresql_away_in_a_compaction(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = build("scaled")
    await person.set_up(site.other)
    conversation, tab = await talk(site, person, LONG, "short", "short")
    originals = site.messages(conversation)
    gate = site.model.script.stall(SUMMARY[:200], then=SUMMARY[200:], when=is_summary)
    tab.send("compact")
    await gate.wait_reached()
    kill_postgres(site)
    await asyncio.sleep(AWAY / 2)
    gate.release()
    await asyncio.sleep(AWAY / 2)
    back_at = await revive_postgres(site)
    took = await site.free(conversation, back_at)
    await eventually(
        lambda: site.compactions(conversation)[-1]["status"] != "running", "the compaction ends"
    )
    assert site.messages(conversation) == originals
    ended = site.compactions(conversation)[-1]["status"]
    tab = await returned(site, person, tab)
    if ended != "completed":
        site.model.script.reply(SUMMARY, when=is_summary)
        tab.send("compact")
        await tab.finished(kind="compact", status="completed")
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person)
    seen(f"free {took:.1f} s after PostgreSQL was back, the compaction {ended}")
    assert took < LEASE + SLACK
