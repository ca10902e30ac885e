"""SIGSTOP for longer than a lease, and SIGCONT: starvation as it is at its worst."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from demo.api.script import is_chat
from tests.faults.conftest import PROFILES, Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site
from tests.faults.texts import LONG, WORDS, compact, compact_halfway, talk
from tests.faults.visitors import Visitor
from tests.support.server import LoggedProcess

FROZEN = LEASE + 3.0


def signal_all(processes: Sequence[LoggedProcess], number: int) -> None:
    for each in processes:
        assert each.process is not None
        each.process.send_signal(number)


@asynccontextmanager
async def frozen(*processes: LoggedProcess) -> AsyncIterator[None]:
    signal_all(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_all(processes, signal.SIGCONT)


def everything(site: Site) -> list[LoggedProcess]:
    return [*site.webs, *([site.worker] if site.worker else [])]


@PROFILES
async def test_a_site_that_was_frozen_goes_on_with_its_answer(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile, webs=2)
    conversation, tab = await talk(site, person)
    gate = site.model.script.stall(WORDS[0], then="".join(WORDS[1:20]), when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads(WORDS[0])
    async with frozen(*everything(site)):
        await asyncio.sleep(FROZEN)
    thawed_at = time.monotonic()
    await asyncio.sleep(SLACK)  # whoever looks for expired leases has looked
    gate.release()
    finished = await tab.finished()
    assert finished["status"] == "completed", finished["error"]
    assert site.messages(conversation)[-1]["text"] == "".join(WORDS[:20])
    await goes_on(site, tab)
    check(site, person)
    seen(f"frozen for {FROZEN:.0f} s, whole {time.monotonic() - thawed_at:.1f} s after")


@PROFILES
async def test_a_site_that_was_frozen_goes_on_with_its_compaction(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile)
    conversation, tab = await talk(site, person, LONG, "short", "short")
    gate = await compact_halfway(site, tab)
    async with frozen(*everything(site)):
        await asyncio.sleep(FROZEN)
    await asyncio.sleep(SLACK)
    gate.release()
    completed = await tab.next("CompressionCompleted")
    assert completed["success"], completed["error"]
    await tab.finished(kind="compact", status="completed")
    await goes_on(site, tab)
    check(site, person)
    seen(f"frozen for {FROZEN:.0f} s, {len(site.compactions(conversation))} compaction, stored")


async def test_a_worker_that_was_given_up_overwrites_nothing(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    before = site.compressed(conversation)
    gate = await compact_halfway(site, tab)
    frozen_at = time.monotonic()
    async with frozen(site.compactor):
        completed = await tab.next("CompressionCompleted", success=False)
        took = time.monotonic() - frozen_at
        assert "not been heard of" in completed["error"]
        assert "stopped" not in completed["error"]
        await tab.finished(kind="compact", status="failed")
        gate.release()  # the summary lies in the worker's socket
    await asyncio.to_thread(site.compactor.wait_for_log, "was ended elsewhere|compaction charged")
    assert site.compressed(conversation) == before
    assert [row["status"] for row in site.compactions(conversation)] == ["failed"]
    await compact(site, tab)
    await goes_on(site, tab)
    check(site, person)
    seen(f"given up after {took:.1f} s, and told so; what it wrote afterwards is left out")
    assert took < LEASE + SLACK
