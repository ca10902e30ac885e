"""What is said in the scenarios, and steps that they share."""

from uuid import UUID

from agent.compaction.skills import CHAPTER_HEADINGS, INSTRUCTIONS
from demo.api.script import is_chat
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


async def returned(site: Site, person: Visitor, tab: KeepingTab) -> KeepingTab:
    """The person's tab after a fault: the same socket where it has survived, else a new one, as the
    page opens it."""
    if tab.closed_with is None:
        return tab
    return await person.open(site.web, tab.conversation)
