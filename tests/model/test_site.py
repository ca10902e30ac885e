"""A whole site that a real, weak model answers: turns, automatic and manual compaction."""

import json
from collections.abc import Callable, Iterator, Sequence
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

BUDGET = 2_000  # tokens: compaction starts at 1,600, and a reply ends at 400
SUMMARY = BUDGET * 15 // 100  # tokens of all chapters
LONGEST_TOKEN = 6  # characters, on average
SETTINGS = {
    "CONTEXT_BUDGET": str(BUDGET),
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
    f"The release 4.2.1 failed after 250 ms. What is a time-out?{TALK}",
    f"Set it to 900 ms in src/charge.py, please. What is a millisecond?{TALK}",
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


async def begin(site: Site, person: "Visitor", text: str) -> "KeepingTab":
    """A conversation whose first turn has ended."""
    await person.set_up(site.web)
    conversation = await person.begin(site.web, text)
    tab = await person.open(site.web, conversation)
    tab.patience = PATIENCE
    if tab.all("snapshot")[0]["turn"]:
        await tab.next("turn.finished", status="completed")
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
    assert ended["success"], ended["error"]
    await tab.next("turn.finished", kind="compact", status="completed")
    assert not site.locked(tab.conversation)
    assert site.messages(tab.conversation) == before


async def go_through(site: Site, person: "Visitor", seen: Seen, questions: Sequence[str]) -> None:
    """Half of the questions, `/compact`, and the others, which need an automatic compaction."""
    tab, half = await begin(site, person, "Hello! Who are you?"), len(questions) // 2
    for question in questions[:half]:
        await ask(site, tab, question)
    await compact_by_hand(site, tab)
    check(site, tab.conversation)
    before = site.messages(tab.conversation)
    for question in questions[half:]:
        await ask(site, tab, question)
    check(site, tab.conversation)
    assert site.messages(tab.conversation)[: len(before)] == before
    done = summaries(site, tab.conversation)
    seen(", ".join(f"{row['trigger']}: {row['engine']}, {row['status']}" for row in done))
    assert {row["trigger"] for row in done} == {"manual", "auto"}


async def test_a_model_that_never_ends_answers_and_is_compacted(
    build: Callable[..., Site], person: "Visitor", endless: LlamaServer, seen: Seen
) -> None:
    """Its replies end at their limit, and its summaries are none: they are written by rule."""
    site = build(endless)
    await go_through(site, person, seen, QUESTIONS)
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
    await go_through(site, person, seen, [*QUESTIONS, *QUESTIONS[:2]])  # replies are shorter


async def test_two_variables_are_enough_to_chat_with_a_local_model(
    build: Callable[..., Site], person: "Visitor", garbled: LlamaServer, seen: Seen
) -> None:
    """As the README starts it: without a key, with tools. Only replies are shorter."""
    site = build(garbled, ANTHROPIC_API_KEY="", TOOLS="true", CONTEXT_BUDGET="4000")
    tab = await begin(site, person, "What is the capital of France?")
    answer = site.messages(tab.conversation)[-1]
    assert (answer["role"], answer["status"]) == ("assistant", "complete")
    seen(" ".join(answer["text"].split())[:60])
