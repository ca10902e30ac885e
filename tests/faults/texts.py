"""What is said in the scenarios, and steps that they share."""

from uuid import UUID

from agent.compaction.skills import CHAPTER_HEADINGS, INSTRUCTIONS
from demo.api.answer import Gate
from demo.api.script import is_chat, is_summary
from tests.faults.sites import Site
from tests.faults.visitors import KeepingTab, Visitor

# One paragraph, so that all of it stays live text; at a tenth of a second each, 30 seconds.
WORDS = [f"word{n} " for n in range(300)]
LONG = (
    "lorem ipsum " * 1_449 + "lorem ipsum"
)  # 4,350 tokens by the server's count; three of them are over 80 %
SUMMARY = (
    "\n".join(
        f"## {heading}\n\n- Lorem ipsum of {heading.lower()} [#1 #3]\n"
        for heading in CHAPTER_HEADINGS
    )
    + f"\n## {INSTRUCTIONS}\nNone.\n"
)


async def talk(site: Site, person: Visitor, *texts: str) -> tuple[UUID, KeepingTab]:
    """A conversation with a short exchange, and one more for each text, all answered."""
    # No two conversations begin alike: the provider's log is searched for repeated requests.
    said = [f"Question {len(person.told)}.", *(f"{n}. {text}" for n, text in enumerate(texts, 1))]
    for _ in said:
        site.model.script.reply("Noted.", when=is_chat)
    conversation = await person.begin(site.web, said[0])
    tab = await person.open(site.web, conversation)
    if tab.all("snapshot")[0]["turn"]:
        await tab.next("turn.finished", status="completed")
    for text in said[1:]:
        tab.say(text)
        await tab.finished(status="completed")
    return conversation, tab


async def begin_story(
    site: Site, tab: KeepingTab, words: list[str] = WORDS, *, until: str, pause: float = 0.1
) -> None:
    """Ask for an answer of these words, one after each pause, and read until one of them."""
    site.model.script.drip(words, pause, when=is_chat)
    tab.say("Tell me a story.")
    await tab.reads(until)


def hold_summary(site: Site) -> Gate:
    """The model begins to write the next summary, and goes on when the gate is released."""
    return site.model.script.stall(SUMMARY[:200], then=SUMMARY[200:], when=is_summary)


async def compact_halfway(site: Site, tab: KeepingTab) -> Gate:
    """Ask for a compaction, and wait until its summary is being written."""
    gate = hold_summary(site)
    tab.send("compact")
    await gate.wait_reached()
    return gate


async def compact(site: Site, tab: KeepingTab) -> None:
    """A `/compact` that succeeds."""
    site.model.script.reply(SUMMARY, when=is_summary)
    tab.send("compact")
    await tab.next("CompressionCompleted", success=True)
    await tab.finished(kind="compact", status="completed")


async def returned(site: Site, person: Visitor, tab: KeepingTab) -> KeepingTab:
    """The person's tab after a fault: the same socket where it has survived, else a new one, as the
    page opens it."""
    if tab.closed_with is None:
        return tab
    return await person.open(site.web, tab.conversation)
