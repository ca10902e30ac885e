"""SIGKILL to a web process that runs a turn."""

import time

from demo.api.protocol import ScriptedReply, text, tool_use
from demo.api.script import is_chat, is_summary
from tests.faults.conftest import PROFILES, Seen, Start
from tests.faults.oracle import check, goes_on
from tests.faults.sites import LEASE, SLACK, Site, start_again
from tests.faults.texts import LONG, SUMMARY, begin_story, talk
from tests.faults.visitors import Visitor


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


@PROFILES
async def test_web_killed_in_mid_stream(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile, webs=2)
    conversation, tab = await talk(site, person)
    await begin_story(site, tab, until="word40 ")
    killed_at = kill(site)
    if site.scaled:
        await bystander(site, person)
    else:
        await start_again(site.web)
    took = await site.free(conversation, killed_at)
    tab = await person.open(site.other, conversation)
    page = await person.get(site.other, f"/c/{conversation}/")
    assert 'data-action="retry"' in page
    assert "word20 " in page

    site.model.script.reply("A whole answer.", when=is_chat)
    await person.retry(site.other, conversation)
    await tab.next("turn.finished", status="completed")
    await goes_on(site, tab)
    lost = check(site, person, killed_at=killed_at)
    seen(f"free after {took:.1f} s, {lost:.1f} s of text lost")
    assert took < LEASE + SLACK


@PROFILES
async def test_web_killed_between_tool_rounds(
    start: Start, person: Visitor, profile: str, seen: Seen
) -> None:
    site = await start(profile, webs=2)
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
        await start_again(site.web)
    took = await site.free(conversation, killed_at)
    gate.release()
    rows = site.messages(conversation)
    kinds = [[block["type"] for block in row["blocks"]] for row in rows[-3:]]
    assert kinds[:2] == [["text", "tool_use"], ["tool_result"]], kinds
    assert rows[-1]["status"] == "interrupted"

    tab = await person.open(site.other, conversation)
    await goes_on(site, tab)
    check(site, person, killed_at=killed_at)
    seen(f"free after {took:.1f} s, the result of the tool is kept")
    assert took < LEASE + SLACK


async def test_web_killed_while_its_turn_waits_for_a_compaction(
    start: Start, person: Visitor, seen: Seen
) -> None:
    site = await start("scaled", webs=2)
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
    await goes_on(site, tab)
    check(site, person, killed_at=killed_at)
    ended = site.compactions(conversation)
    seen(f"free after {took:.1f} s, compactions: {', '.join(row['status'] for row in ended)}")
    assert [row["status"] for row in ended] == ["failed", "completed"]
    assert took < LEASE + SLACK
