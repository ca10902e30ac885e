"""SIGTERM: to a web process in a turn, once and twice, to a worker, and to one process after the
other."""

import asyncio
import itertools
import signal
import time
from uuid import UUID

from demo.api.script import is_title
from tests.chat.sockets import Event
from tests.faults.conftest import PROFILES, Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site, start_again
from tests.faults.texts import LONG, WORDS, begin_story, compact_halfway, talk
from tests.faults.visitors import KeepingTab, Visitor
from tests.support.server import LoggedProcess

DRAIN = 20.0  # seconds that running answers get
ENDING = 5.0  # in which a process stores the rest and leaves
AT_ONCE = 3.0


def terminate(process: LoggedProcess) -> float:
    """SIGTERM; when, monotonic."""
    assert process.process is not None
    process.process.send_signal(signal.SIGTERM)
    return time.monotonic()


async def ended(process: LoggedProcess) -> int:
    """Wait for the end of a process; its exit code. TimeoutExpired."""
    assert process.process is not None
    return await asyncio.to_thread(process.process.wait, DRAIN + ENDING + SLACK)


@PROFILES
async def test_sigterm_lets_an_answer_finish(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile)
    other, other_tab = await talk(site, person)
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, WORDS[:60], until="word20 ")
    stopped_at = terminate(site.web)
    site.web.wait_for_log("waiting for running answers")
    client_id = other_tab.say("Too late?")
    refused = await other_tab.next("error", client_id=client_id)
    assert refused["code"] == "shutting_down"
    assert refused["retryable"]
    assert "kept" in refused["message"]
    await tab.finished(status="completed")
    assert await ended(site.web) == 0
    took = time.monotonic() - stopped_at
    assert site.messages(conversation)[-1]["text"] == "".join(WORDS[:60])
    assert not site.locked(conversation)

    await start_again(site.web)
    await goes_on(site, await person.open(site.web, conversation))
    await goes_on(site, await person.open(site.web, other), "Too late?")
    check(site, person)
    seen(f"the answer is whole, gone after {took:.1f} s")
    assert took < DRAIN


async def test_sigterm_keeps_the_text_of_an_answer_that_takes_longer_than_the_drain(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("embedded")
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, until="word10 ", pause=0.2)
    stopped_at = terminate(site.web)
    finished = await tab.finished(status="interrupted")
    assert 'data-action="retry"' in finished["html"]
    assert await ended(site.web) == 0
    took = time.monotonic() - stopped_at
    assert not site.locked(conversation)
    assert site.messages(conversation)[-1]["status"] == "interrupted"
    await start_again(site.web)
    await goes_on(site, await person.open(site.web, conversation))
    check(site, person)
    seen(f"interrupted after {took:.1f} s, no text lost")
    assert took < DRAIN + ENDING + SLACK


@PROFILES
async def test_second_sigterm_stops_at_once(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile, webs=2)
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, until="word30 ")
    terminate(site.web)
    site.web.wait_for_log("waiting for running answers")
    again_at = terminate(site.web)
    await ended(site.web)
    gone = time.monotonic() - again_at
    if not site.scaled:
        await start_again(site.web)
    free = await site.free(conversation, again_at)
    await goes_on(site, await person.open(site.other, conversation))
    lost = check(site, person, killed_at=again_at)
    seen(f"gone after {gone:.1f} s, free after {free:.1f} s, {lost:.1f} s of text lost")
    assert gone < AT_ONCE
    assert free < LEASE + SLACK


async def test_sigterm_waits_for_no_task_of_the_worker_within(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("embedded")
    gate = site.model.script.stall("A ti", then="tle", when=is_title)
    conversation, _ = await talk(site, person)
    await gate.wait_reached()
    stopped_at = terminate(site.web)
    assert await ended(site.web) == 0
    took = time.monotonic() - stopped_at
    await start_again(site.web)
    await goes_on(site, await person.open(site.web, conversation))
    check(site, person)
    seen(f"gone after {took:.1f} s")
    assert took < AT_ONCE


async def test_sigterm_lets_a_worker_finish_a_compaction(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    gate = await compact_halfway(site, tab)
    terminate(site.compactor)
    site.compactor.wait_for_log("[Ss]hutdown")
    gate.release()
    completed = await tab.next("CompressionCompleted")
    assert completed["success"], completed["error"]
    await tab.finished(kind="compact", status="completed")
    await ended(site.compactor)
    await goes_on(site, tab)
    check(site, person)
    seen("the summary is stored")


async def test_sigterm_ends_a_compaction_of_the_embedded_site(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("embedded")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    before, originals = site.compressed(conversation), site.messages(conversation)
    await compact_halfway(site, tab)
    stopped_at = terminate(site.web)
    completed = await tab.next("CompressionCompleted", success=False)
    assert "Nothing was" in completed["error"]
    await ended(site.web)
    took = time.monotonic() - stopped_at
    assert not site.locked(conversation)
    assert site.compressed(conversation) == before
    assert site.messages(conversation) == originals
    await start_again(site.web)
    await goes_on(site, await person.open(site.web, conversation))
    check(site, person)
    seen(f"ended after {took:.1f} s, the old state is kept")
    assert took < DRAIN + ENDING + SLACK


async def test_rolling_restart_of_two_web_processes(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("scaled", webs=2)
    conversation, tab = await talk(site, person)
    small, _ = await talk(site, person)
    over = asyncio.Event()
    chatting = asyncio.create_task(chat_on(site, person, small, over))
    for web in site.webs:
        story = f"A story of {web.port}."
        site.model.script.drip(WORDS[:50], 0.1, when=lambda r, s=story: s in r.last_user_text)
        tab = await person.open(web, conversation)
        tab.say(story)
        await tab.reads("word5 ")
        terminate(web)
        await tab.finished(status="completed")
        assert await ended(web) == 0
        await start_again(web)
    over.set()
    sent, refused = await chatting
    whole = [m for m in site.messages(conversation) if m["text"].endswith("word49 ")]
    assert len(whole) == 2
    check(site, person)
    answers = [m["status"] for m in site.messages(small) if m["role"] == "assistant"]
    assert set(answers) == {"complete"}
    assert len(answers) == sent + 1
    seen(f"both stories whole; meanwhile {sent} messages answered, {refused} refused with a word")
    assert sent > 5


async def chat_on(
    site: Site, person: Visitor, conversation: UUID, over: asyncio.Event
) -> tuple[int, int]:
    """One short message after the other, at whichever process takes it; a refused one is sent again
    elsewhere. How many were answered, and how often one was refused."""
    webs = itertools.cycle(site.webs)
    tab = await person.open(next(webs), conversation)
    sent = refused = 0
    while not over.is_set():
        text = f"Short message {sent}."
        site.model.script.reply("Yes.", when=lambda r, t=text: r.last_user_text.endswith(t))
        client_id = f"short-{sent}"  # the same in every try: a repeat is stored once
        while not await is_answered(tab, text, client_id):
            refused += bool(tab.all("error"))
            tab = await person.open(next(web for web in webs if web.running), conversation)
        sent += 1
    return sent, refused


async def is_answered(tab: KeepingTab, text: str, client_id: str) -> bool:
    """Send a message and wait for its answer; False where it is refused or the socket closes."""
    tab.say(text, client_id=client_id)
    await tab.until(lambda: tab.closed_with or told_of(tab, client_id))
    told = told_of(tab, client_id)
    if told is None or told["type"] == "error":
        assert told is None or told["code"] == "shutting_down", told
        return False
    await tab.until(lambda: tab.closed_with or is_finished(tab, told["number"]))
    return True


def told_of(tab: KeepingTab, client_id: str) -> Event | None:
    """Whether a message was stored or refused."""
    kinds = ("message.created", "error")
    found = (f for f in tab.frames if f["type"] in kinds and f.get("client_id") == client_id)
    return next(found, None)


def is_finished(tab: KeepingTab, number: int) -> bool:
    """Whether the answer to the message with that number has ended."""
    answers = {f["id"] for f in tab.all("message.created") if f["number"] == number + 1}
    return any(f["message_id"] in answers for f in tab.all("turn.finished"))
