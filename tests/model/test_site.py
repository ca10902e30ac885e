"""A whole site that a real, weak model answers: turns, automatic and manual compaction."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from tests.faults.sites import Site
from tests.model.llama import PATIENCE, WINDOW, LlamaServer
from tests.model.oracle import find_invented
from tests.support.lines import Seen

if TYPE_CHECKING:
    from tests.faults.visitors import KeepingTab, Visitor

BUDGET = 2_000  # tokens: compaction starts at 1,200, and a reply ends at 400
SUMMARY = BUDGET * 15 // 100  # tokens of all chapters
LONGEST_TOKEN = 6  # characters, on average
SETTINGS = {
    "CONTEXT_BUDGET": str(BUDGET),
    "COMPACTION_THRESHOLD": "0.6",
    "TOOLS": "false",
    "COMPACTION_PREPARE": "0",
    "COMPACTION_IDLE": "0",
    "COMPACTION_KEEP_MESSAGES": "2",
    "SUMMARY_MAX_TOKENS": "100",
    "MODEL_TIMEOUT": str(PATIENCE),
}
TALK = (
    " We went through every step of it once more and found nothing else that was out of order." * 12
)
QUESTIONS = [
    f"From now on, answer in one sentence. The port is 8443. What is a port?{TALK}",
    f"Ada wants PostgreSQL 16.2 and a budget of 12,500 euros. What is PostgreSQL?{TALK}",
    f"Set the limit of 250 ms to 900 ms in src/charge.py, please. Why is it too short?{TALK}",
]


@pytest.fixture
async def person() -> "Any":
    from tests.faults.visitors import Visitor

    async with Visitor() as visitor:
        yield visitor


@pytest.fixture
def build(
    tmp_path: Path, site: Path, supervise: Callable[[Any], Any]
) -> Iterator[Callable[..., Site]]:
    """`build(server, **settings)`: a site that a server answers."""

    def make(server: LlamaServer, **settings: str) -> Site:
        answers = {"ANTHROPIC_BASE_URL": server.url, "DEFAULT_MODEL": server.weights}
        none: Any = None  # no scripted model
        made = Site(none, {**SETTINGS, **answers, **settings}, supervise, tmp_path, site)
        made.start_web()
        return made

    return make


async def ask(site: Site, tab: "KeepingTab", text: str) -> dict[str, Any]:
    """A turn that ends well, and leaves the conversation free."""
    client_id = tab.say(text)
    await tab.next("message.created", client_id=client_id)
    finished = await tab.next("turn.finished", kind="answer")
    assert finished["status"] == "completed", finished["error"]
    assert not site.locked(tab.conversation)
    return finished


async def talk(site: Site, person: "Visitor") -> "KeepingTab":
    """A conversation that is compacted automatically on its way."""
    await person.set_up(site.web)
    conversation = await person.begin(site.web, "Hello! Who are you?")
    tab = await person.open(site.web, conversation)
    tab.patience = PATIENCE
    if tab.all("snapshot")[0]["turn"]:
        assert (await tab.next("turn.finished"))["status"] == "completed"
    for question in QUESTIONS:
        before = site.messages(conversation)
        await ask(site, tab, question)
        assert site.messages(conversation)[: len(before)] == before
    return tab


def summaries(site: Site, conversation: UUID) -> list[dict[str, Any]]:
    found = site.rows(
        "SELECT status, engine, trigger, error, summary, chapters FROM chat_compaction "
        f"WHERE conversation_id = '{conversation.hex}' ORDER BY id"
    )
    for row in found:
        row["chapters"] = json.loads(row["chapters"]) if row["chapters"] else []
    return found


def check(site: Site, conversation: UUID) -> None:
    """The current summary is in bounds, and says nothing unmarked that nobody said."""
    said = [row["text"] for row in site.messages(conversation)]
    completed = [row for row in summaries(site, conversation) if row["status"] == "completed"]
    for row in completed:
        text = "\n".join(chapter["text"] for chapter in row["chapters"])
        assert len(text) <= LONGEST_TOKEN * SUMMARY, text
        assert find_invented(text, said) == []
    assert site.compressed(conversation)["compressed_context"] == completed[-1]["summary"]


async def compact_by_hand(site: Site, tab: "KeepingTab") -> None:
    before = site.messages(tab.conversation)
    tab.send("compact", focus="the port")
    ended = await tab.next("CompressionCompleted")
    finished = await tab.next("turn.finished", kind="compact")
    assert ended["success"] == (finished["status"] == "completed"), ended["error"]
    assert not site.locked(tab.conversation)
    assert site.messages(tab.conversation) == before


async def go_through(site: Site, person: "Visitor", seen: Seen) -> None:
    tab = await talk(site, person)
    automatic = [row for row in summaries(site, tab.conversation) if row["trigger"] == "auto"]
    assert automatic
    check(site, tab.conversation)
    await compact_by_hand(site, tab)
    await ask(site, tab, "And what did I ask first?")
    check(site, tab.conversation)
    done = summaries(site, tab.conversation)
    seen(", ".join(f"{row['trigger']}: {row['engine']}, {row['status']}" for row in done))
    assert "manual" in {row["trigger"] for row in done}


async def test_a_model_that_never_ends_answers_and_is_compacted(
    build: Callable[..., Site], person: "Visitor", endless: LlamaServer, seen: Seen
) -> None:
    """Its replies end at their limit, and its summaries are none: they are written by rule."""
    site = build(endless)
    await go_through(site, person, seen)
    (profile,) = site.rows("SELECT context_window FROM chat_modelprofile WHERE name = 'gemma3'")
    assert profile["context_window"] == WINDOW  # as the server tells


async def test_summaries_that_a_model_invents_are_stored_with_their_marks(
    build: Callable[..., Site],
    person: "Visitor",
    garbled: LlamaServer,
    inventing: LlamaServer,
    seen: Seen,
) -> None:
    """A summary model of its own that knows the form. It may take as long as it takes."""
    site = build(
        garbled,
        SUMMARY_MODEL=inventing.weights,
        SUMMARY_BASE_URL=inventing.url,
        COMPACTION_DEADLINE_SECONDS="0",
    )
    await go_through(site, person, seen)
