"""SIGKILL to the process that writes a summary, in each phase: a worker in the scaled profile, the
whole site in the embedded one."""

import time
from collections.abc import Callable

import pytest

from demo.api.answer import Gate
from demo.api.script import is_chat, is_summary, is_title
from tests.faults.conftest import PROFILES, Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site, eventually, start_again
from tests.faults.texts import LONG, SUMMARY, compact, hold_summary, talk
from tests.faults.visitors import KeepingTab, Visitor

PICKUP = 10.0  # COMPACTION_PICKUP_SECONDS as it is shipped
EMBEDDED_THREADS = 4  # of the embedded worker


def hold_correction(site: Site) -> Gate:
    """The first summary was refused by verification, the corrective retry is being written."""
    site.model.script.reply("Nothing with a heading.", when=is_summary)
    return hold_summary(site)


def hold_commit(site: Site) -> Gate:
    """The summary is written and verified; its context is being counted, then it is stored."""
    site.model.script.reply(SUMMARY, when=is_summary)
    return site.model.script.stall(endpoint="count_tokens")


PHASES = pytest.mark.parametrize(
    "hold", [hold_summary, hold_correction, hold_commit], ids=["writing", "retry", "commit"]
)


async def compacts_and_goes_on(site: Site, tab: KeepingTab) -> None:
    """The next message is answered after a compaction: one request has no room for three long
    texts, so three write records that cite their own messages, and a fourth merges them."""
    for number in (3, 5, 7):
        site.model.script.reply(SUMMARY.replace("[#1 #3]", f"[#{number}]"), when=is_summary)
    site.model.script.reply(SUMMARY, when=is_summary)
    await goes_on(site, tab)


@PHASES
@PROFILES
async def test_killed_in_a_compaction_that_the_user_asked_for(
    start: Start,
    person: Visitor,
    profile: str,
    hold: Callable[[Site], Gate],
    seen: Seen,
) -> None:
    site = await start(profile)
    conversation, tab = await talk(site, person, LONG, "short", "short")
    before, originals = site.compressed(conversation), site.messages(conversation)
    gate = hold(site)
    tab.send("compact")
    await tab.next("CompressionStarted")
    await gate.wait_reached()
    site.compactor.kill()
    killed_at = time.monotonic()
    if site.scaled:
        site.model.script.reply("Of course.", when=is_chat)
        elsewhere = await person.begin(site.web, "Elsewhere?")
        await eventually(lambda: not site.locked(elsewhere), "the other conversation is answered")
        completed = await tab.next("CompressionCompleted")
        assert not completed["success"]
        assert "Nothing was lost" in completed["error"]
        await tab.finished(kind="compact", status="failed")
        took = time.monotonic() - killed_at
        gate.release()
        await start_again(site.compactor)
    else:
        gate.release()
        await start_again(site.compactor)
        took = await site.free(conversation, killed_at)
        tab = await person.open(site.web, conversation)
        assert tab.all("snapshot")[0]["compaction"] is None
    assert site.compressed(conversation) == before
    assert site.messages(conversation) == originals
    await compact(site, tab)
    await goes_on(site, tab)
    check(site, person, killed_at=killed_at)
    seen(f"free after {took:.1f} s, the old state is kept")
    assert took < LEASE + SLACK


@PHASES
async def test_worker_killed_in_a_compaction_before_an_answer(
    start: Start, person: Visitor, hold: Callable[[Site], Gate], seen: Seen
) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, LONG)
    originals = site.messages(conversation)
    gate = hold(site)
    site.model.script.reply("Without the oldest.", when=is_chat)
    tab.say(f"Now {LONG}")
    await tab.next("CompressionStarted", trigger="auto")
    await gate.wait_reached()
    site.compactor.kill()
    killed_at = time.monotonic()
    completed = await tab.next("CompressionCompleted")
    took = time.monotonic() - killed_at
    assert not completed["success"]
    finished = await tab.finished()
    assert finished["status"] == "completed", finished["error"]
    gate.release()
    await start_again(site.compactor)
    assert site.messages(conversation)[: len(originals)] == originals
    await compacts_and_goes_on(site, tab)
    check(site, person, killed_at=killed_at)
    assert site.compressed(conversation)["compressed_context"]
    seen(f"the answer went on after {took:.1f} s")
    assert took < LEASE + SLACK


async def test_worker_killed_before_it_takes_a_compaction_up(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, LONG)
    site.compactor.kill()
    site.model.script.reply("Without the oldest.", when=is_chat)
    tab.say(f"Now {LONG}")
    await tab.next("CompressionStarted", trigger="auto")
    started_at = time.monotonic()
    completed = await tab.next("CompressionCompleted", success=False)
    took = time.monotonic() - started_at
    assert "worker" in completed["error"]
    finished = await tab.finished()
    assert finished["status"] == "completed", finished["error"]
    # The one that nobody wants any more lies in the broker still: the worker must leave it alone.
    await start_again(site.compactor)
    await compacts_and_goes_on(site, tab)
    check(site, person)
    statuses = [row["status"] for row in site.compactions(conversation)]
    assert statuses == ["failed", "completed"]
    seen(f"the answer went on after {took:.1f} s")
    assert took < PICKUP + SLACK


async def test_embedded_site_killed_before_a_compaction_is_taken_up(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("embedded")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    gates = []
    for n in range(EMBEDDED_THREADS):  # every thread is busy with a title
        site.model.script.reply("Noted.", when=is_chat)
        gates.append(site.model.script.stall(when=is_title))
        await person.begin(site.web, f"Other conversation {n}")
    for gate in gates:
        await gate.wait_reached()
    before, originals = site.compressed(conversation), site.messages(conversation)
    tab.send("compact")
    await tab.next("CompressionStarted")
    site.web.kill()
    killed_at = time.monotonic()
    for gate in gates:
        gate.release()
    await start_again(site.compactor)
    took = await site.free(conversation, killed_at)
    assert site.compressed(conversation) == before
    assert site.messages(conversation) == originals
    tab = await person.open(site.web, conversation)
    assert tab.all("snapshot")[0]["compaction"] is None
    await compact(site, tab)
    check(site, person, killed_at=killed_at)
    seen(f"free after {took:.1f} s, the old state is kept")
    assert took < LEASE + SLACK
