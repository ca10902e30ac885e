"""Redis dies and comes back some seconds later: in mid-stream, in a compaction, and in quiet."""

import asyncio
import time

from demo.api.script import is_chat, is_summary
from tests.faults.conftest import Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import PATIENCE, SLACK, Site, eventually
from tests.faults.texts import LONG, SUMMARY, WORDS, begin_story, compact_halfway, returned, talk
from tests.faults.visitors import KeepingTab, Visitor

AWAY = 6.0  # seconds
PAGE = 5.0  # in which a page opens without Redis
RECOVERED = 10.0  # after which the open page answers as before
# After which the worker takes tasks: it looks again after 2, 4, 6, 8 seconds, and a compaction that
# came too early is given up after 10.
WORKER_BACK = 20.0


def kill_redis(site: Site) -> None:
    assert site.redis is not None
    site.redis.kill()


async def restart_redis(site: Site) -> float:
    """Empty as it is; when it answers, monotonic."""
    assert site.redis is not None
    await asyncio.to_thread(site.redis.restart)
    return time.monotonic()


async def compacts(tab: KeepingTab, since: float) -> float:
    """Ask for a compaction until the worker is there again to do it; the seconds from `since`."""
    while True:
        tab.send("compact")
        completed = await tab.next("CompressionCompleted")
        await tab.finished(kind="compact")
        if completed["success"]:
            return time.monotonic() - since
        assert "No worker took it up" in completed["error"]
        assert time.monotonic() - since < PATIENCE, "the worker does not come back"


async def test_redis_away_in_mid_stream(start: Start, person: Visitor, seen: Seen) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person)
    quiet, _ = await talk(site, person)
    await begin_story(site, tab, WORDS[:150], until="word20 ")
    kill_redis(site)
    killed_at = time.monotonic()
    opened = 0.0
    for path in ("/", f"/c/{quiet}/", f"/c/{conversation}/"):
        opened = max(opened, await person.opens_within(site.web, path, PAGE))
    streamed = len(site.messages(conversation)[-1]["text"])
    await eventually(
        lambda: len(site.messages(conversation)[-1]["text"]) > streamed,
        "the answer goes on while Redis is away",
        patience=AWAY,
    )
    await asyncio.sleep(max(0.0, killed_at + AWAY - time.monotonic()))
    await restart_redis(site)
    await eventually(lambda: not site.locked(conversation), "the answer ends")
    assert site.messages(conversation)[-1]["text"] == "".join(WORDS[:150])
    assert site.messages(conversation)[-1]["status"] == "complete"
    tab = await returned(site, person, tab)
    await goes_on(site, tab)
    check(site, person)
    seen(f"the answer is whole; pages opened within {opened:.1f} s")


async def test_message_sent_while_redis_is_away(start: Start, person: Visitor, seen: Seen) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person)
    kill_redis(site)
    site.model.script.reply("An answer without Redis.", when=is_chat)
    tab.say("Are you there?")
    await eventually(
        lambda: (
            site.messages(conversation)[-1]["status"] == "complete"
            and not site.locked(conversation)
            and len(site.messages(conversation)) == 4
        ),
        "the message is answered without Redis",
        patience=AWAY + PAGE,
    )
    await restart_redis(site)
    tab = await returned(site, person, tab)
    await goes_on(site, tab)
    check(site, person)
    seen("answered while Redis was away")


async def test_redis_away_in_a_compaction(start: Start, person: Visitor, seen: Seen) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    originals = site.messages(conversation)
    gate = await compact_halfway(site, tab)
    kill_redis(site)
    await asyncio.sleep(AWAY / 2)
    gate.release()
    await asyncio.sleep(AWAY / 2)
    back_at = await restart_redis(site)
    took = await site.free(conversation, back_at)
    assert site.messages(conversation) == originals
    first = site.compactions(conversation)[-1]["status"]
    assert first == "completed", "the worker needs no Redis to write and store a summary"

    # The worker takes tasks again.
    tab = await returned(site, person, tab)
    site.model.script.reply(SUMMARY, when=is_summary)
    for text in (f"{LONG} again", "brief", "terse"):
        await goes_on(site, tab, text)
    compacted = await compacts(tab, back_at)
    check(site, person)
    seen(f"the summary is stored, free {took:.1f} s and the worker at work {compacted:.1f} s after")
    assert compacted < WORKER_BACK + SLACK


async def test_redis_away_while_all_is_quiet(start: Start, person: Visitor, seen: Seen) -> None:
    site = await start("scaled")
    conversation, tab = await talk(site, person, LONG, "short", "short")
    kill_redis(site)
    assert await asyncio.to_thread(site.web.healthy), "it serves and its database answers"
    await asyncio.sleep(AWAY)
    assert site.web.running
    assert site.compactor.running
    back_at = await restart_redis(site)
    tab = await returned(site, person, tab)
    await goes_on(site, tab)
    recovered = time.monotonic() - back_at
    site.model.script.reply(SUMMARY, when=is_summary)
    compacted = await compacts(tab, back_at)
    check(site, person)
    seen(f"answers {recovered:.1f} s after, compacts {compacted:.1f} s after")
    assert recovered < RECOVERED + SLACK
    assert compacted < WORKER_BACK + SLACK
