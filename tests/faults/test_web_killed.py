"""SIGKILL to a web process that runs a turn."""

import asyncio
import time
from collections.abc import Callable

import pytest

from demo.api.protocol import ScriptedReply, text, tool_use
from demo.api.script import is_chat, is_summary
from tests.faults.conftest import Seen
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site
from tests.faults.texts import LONG, SUMMARY, WORDS, talk
from tests.faults.visitors import Visitor

PROFILES = pytest.mark.parametrize("profile", ["embedded", "scaled"])


def built(build: Callable[..., Site], profile: str) -> Site:
    """A site that somebody can go on using where it is scaled: with a second web process."""
    return build(profile, webs=2 if profile == "scaled" else 1)


async def bystander(site: Site, person: Visitor) -> None:
    """On the rest of the site, somebody else gets an answer meanwhile."""
    site.model.script.reply("Of course.", when=lambda r: "Elsewhere" in r.last_user_text)
    conversation = await person.begin(site.other, "Elsewhere?")
    tab = await person.open(site.other, conversation)
    if tab.all("snapshot")[0]["turn"]:
        await tab.next("turn.finished", status="completed")


def kill(site: Site) -> float:
    """SIGKILL the first web process; when, monotonic."""
    site.web.kill()
    return time.monotonic()


async def revive(site: Site) -> None:
    """What a supervisor does: start it again at once."""
    await asyncio.to_thread(site.web.start)


@PROFILES
async def test_web_killed_in_mid_stream(
    build: Callable[..., Site], person: Visitor, profile: str, seen: Seen
) -> None:
    site = built(build, profile)
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    site.model.script.drip(WORDS, 0.1, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads("word40 ")
    killed_at = kill(site)
    if site.scaled:
        await bystander(site, person)
    else:
        await revive(site)
    took = await site.free(conversation, killed_at)
    tab = await person.open(site.other, conversation)
    page = await person.get(site.other, f"/c/{conversation}/")
    assert 'data-action="retry"' in page
    assert "word20 " in page

    site.model.script.reply("A whole answer.", when=is_chat)
    await person.retry(site.other, conversation)
    await tab.next("turn.finished", status="completed")
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    lost = check(site, person, killed_at=killed_at)
    seen(f"free after {took:.1f} s, {lost:.1f} s of text lost")
    assert took < LEASE + SLACK


@PROFILES
async def test_web_killed_between_tool_rounds(
    build: Callable[..., Site], person: Visitor, profile: str, seen: Seen
) -> None:
    site = built(build, profile)
    await person.set_up(site.other)
    conversation, tab = await talk(site, person)
    calls = ScriptedReply(
        (text("I look it up."), tool_use("search_history", {"query": "question"}))
    )
    site.model.script.reply(calls, when=is_chat)
    gate = site.model.script.stall(when=is_chat)  # the round that reads the result
    tab.say("What did I ask first?")
    await gate.wait_reached()
    killed_at = kill(site)
    if not site.scaled:
        await revive(site)
    took = await site.free(conversation, killed_at)
    gate.release()
    rows = site.messages(conversation)
    kinds = [[block["type"] for block in row["blocks"]] for row in rows[-3:]]
    assert kinds[:2] == [["text", "tool_use"], ["tool_result"]], kinds
    assert rows[-1]["status"] == "interrupted"

    tab = await person.open(site.other, conversation)
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person, killed_at=killed_at)
    seen(f"free after {took:.1f} s, the result of the tool is kept")
    assert took < LEASE + SLACK


async def test_web_killed_while_its_turn_waits_for_a_compaction(
    build: Callable[..., Site], person: Visitor, seen: Seen
) -> None:
    site = built(build, "scaled")
    await person.set_up(site.other)
    conversation, tab = await talk(site, person, LONG, LONG)
    gate = site.model.script.stall(when=is_summary)
    tab.say(f"Now {LONG}")
    await tab.next("CompressionStarted")
    await gate.wait_reached()
    killed_at = kill(site)
    await bystander(site, person)
    took = await site.free(conversation, killed_at)
    tab = await person.open(site.other, conversation)
    site.model.script.reply(SUMMARY, when=is_summary)
    site.model.script.reply("Gladly.", when=is_chat)
    await goes_on(tab, "And now?")
    check(site, person, killed_at=killed_at)
    ended = site.compactions(conversation)
    seen(f"free after {took:.1f} s, compactions: {', '.join(row['status'] for row in ended)}")
    assert [row["status"] for row in ended] == ["failed", "completed"]
    assert took < LEASE + SLACK
