"""A reply that was cut at its limit is never stored as it is, whichever method asked for it."""

import re
from typing import Any

import pytest

from agent.compaction.ladder import summarise
from agent.compaction.policy import ChapterForm, Method, Policy
from agent.compaction.reading.notation import Covered
from agent.compaction.reading.record import read_record
from agent.compaction.skills import HEADINGS, SKILLS
from agent.compaction.writing.choice import MOST_CONTINUED, choose_rest_tokens
from agent.compaction.writing.continuing import join_rest, list_unwritten, read_complete
from agent.compaction.writing.job import WrittenSummary, choose_form
from agent.model.client import Client
from demo.api.protocol import ScriptedReply
from demo.api.server import DemoServer
from tests.agent.compaction.jobs import chapter, job, text_of
from tests.agent.conversations import text

METHODS = [Method.WARM_PREFIX, Method.SERIALISED, Method.CHUNKS, Method.WITHOUT_OVERSIZED]
FACT = "- Release 4.2.1 was deployed to eu-west-1 [#2]"
TASK = "- Pending: write the notes to docs/notes.md [#3]"
WHOLE = chapter(FACT, sections={"Progress": TASK, HEADINGS[-1]: "- Write the notes [#3]"})
BROKEN = WHOLE.partition("docs/notes.md [#3]")[0]  # within the task
REST = "## Progress" + WHOLE.partition("## Progress")[2]
MISSING = [heading for heading in HEADINGS if f"## {heading}\n" not in BROKEN]


def cut(written: str, reason: str = "max_tokens") -> ScriptedReply:
    return ScriptedReply((text(written),), stop_reason=reason)


async def write(client: Client, method: Method = Method.AUTO, **values: Any) -> WrittenSummary:
    return await summarise(job(client, policy=Policy(engine=method, **values)))


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("method", METHODS)
async def test_the_rest_is_asked_for_and_nothing_is_missing(
    client: Client, server: DemoServer, method: Method, reason: str
) -> None:
    server.script.reply(cut(BROKEN, reason)).reply(REST)
    written = await write(client, method)
    (made,) = written.chapters
    assert FACT in made.text
    assert made.text.count(TASK) == 1
    assert "- Write the notes [#3]" in made.text
    assert "Pending: write the notes to\n" not in made.text
    assert written.audit["unwritten"] == []
    assert (written.method, written.calls, written.rejected) == (method, 2, 0)
    first, second = map(text_of, server.script.requests)
    assert "<written>" not in first
    assert f"<written>\n{BROKEN.partition('## Progress')[0].strip()}\n</written>" in second
    assert "write them all: “## Progress”, “## Files and artifacts”, “## Errors" in second
    assert "fewer words" in second


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(WHOLE, id="all again"),
        pytest.param(f"Here is the rest:\n\n{REST}", id="a sentence before"),
        pytest.param(f"{FACT}\n{REST}", id="what is there already"),
        pytest.param(REST.replace("## ", "### ").replace("[#3]", "(#3)"), id="another form"),
    ],
)
async def test_the_rest_is_read_as_a_record_is(
    client: Client, server: DemoServer, rest: str
) -> None:
    server.script.reply(cut(BROKEN)).reply(rest)
    (made,) = (await write(client)).chapters
    said = made.text.partition("\n- The user's last request")[0]
    assert re.findall(r"^## .+|^- .+", said, re.M) == [
        *("## Overview", "## Facts and values", FACT, "## Progress", TASK),
        *("## Current work and next step", "- Write the notes [#3]"),
    ]


async def test_a_rest_that_is_cut_too_is_told(client: Client, server: DemoServer) -> None:
    server.script.reply(cut(BROKEN)).reply(cut("## Progress\n" + TASK + "\n- Done: the re"))
    written = await write(client)
    assert TASK in written.chapters[0].text
    assert "Done: the re" not in written.chapters[0].text
    assert written.audit["unwritten"] == ["Progress", *MISSING]
    assert written.calls == 2


@pytest.mark.parametrize("method", METHODS)
async def test_a_model_that_is_always_cut_is_told_and_bounded(
    client: Client, server: DemoServer, method: Method
) -> None:
    server.script.reply(cut(BROKEN), always=True)
    written = await write(client, method)
    assert FACT in written.chapters[0].text
    assert "write the notes to" not in written.chapters[0].text.partition("The user's last")[0]
    assert written.audit["unwritten"] == ["Progress", *MISSING]
    assert (written.method, written.calls, len(server.script.requests)) == (method, 2, 2)


async def test_in_parts_each_may_be_cut_and_all_together_are_bounded(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(cut(BROKEN), always=True)
    written = await write(client, Method.CHUNKS, input_characters=3_000)
    parts = [request for request in server.script.requests if "<written>" not in text_of(request)]
    assert len(parts) > 3
    assert len(server.script.requests) - len(parts) == written.continued == MOST_CONTINUED
    assert written.audit["unwritten"] == ["Progress", *MISSING]


@pytest.mark.parametrize("status", [400, 529])
async def test_where_the_rest_cannot_be_had_what_is_whole_is_kept_and_the_lack_is_told(
    client: Client, server: DemoServer, status: int
) -> None:
    server.script.reply(cut(BROKEN))
    server.script.error(status, always=True)
    written = await write(client)
    assert FACT in written.chapters[0].text
    assert written.audit["unwritten"] == ["Progress", *MISSING]
    assert written.method == Method.SERIALISED


async def test_a_rest_that_is_late_costs_nothing_of_what_is_whole(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(cut(BROKEN))
    gate = server.script.stall("## Progress")
    written = await summarise(job(client, time_up=gate.wait_reached))
    assert (written.method, written.reason) == (Method.SERIALISED, "time up")
    assert FACT in written.chapters[0].text
    assert written.audit["unwritten"] == ["Progress", *MISSING]


async def test_less_than_half_of_a_record_is_none(client: Client, server: DemoServer) -> None:
    server.script.reply(cut("## Overview\nThey deploy.\n## Decisions\n- Dep"), always=True)
    written = await write(client)
    assert written.method == Method.EXTRACT
    assert "before half of it was written" in written.failures[0].cause
    assert len(server.script.requests) == 3


async def test_a_reply_that_thought_until_its_limit_is_none(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(cut("<think>\nPort 8443, or not?"))
    server.script.reply(WHOLE)
    written = await write(client)
    assert (written.rejected, written.continued, written.calls) == (1, 0, 2)
    assert "8443" not in written.chapters[0].text


async def test_the_rest_has_room_for_less_than_the_record(
    client: Client, server: DemoServer
) -> None:
    """The price that the preview names at most counts on it."""
    server.script.reply(cut(BROKEN)).reply(REST)
    asked = job(client)
    await summarise(asked)
    first, second = (request.body["max_tokens"] for request in server.script.requests)
    assert second <= choose_rest_tokens(choose_form(asked, [])) < first


async def test_the_short_form_is_completed_too(client: Client, server: DemoServer) -> None:
    short = SKILLS[ChapterForm.SHORT]
    whole = chapter(FACT, skill=short, sections={"Open tasks": TASK})
    server.script.reply(cut(whole.partition("docs/notes.md [#3]")[0]))
    server.script.reply("## Open tasks" + whole.partition("## Open tasks")[2])
    written = await write(client, summary_form=ChapterForm.SHORT)
    assert FACT in written.chapters[0].text
    assert TASK in written.chapters[0].text
    assert written.audit["unwritten"] == []


@pytest.mark.parametrize(
    ("written", "kept", "first_left"),
    [
        ("\n- Go [#1]\n- Or no", "- Go [#1]", "Decisions"),
        ("\n- Go [#1]", "- Go [#1]", "Decisions"),
        ("\n- Go [#1]\n## Fac", "- Go [#1]", "Facts and values"),
        ("\n- Go [#1]\n**Fac", "- Go [#1]", "Facts and values"),
        ("\n- Go [#1]\n## Facts and values", "- Go [#1]", "Facts and values"),
        ("\n- Go [#1]\n## Facts and values\n- A h", "- Go [#1]", "Facts and values"),
        ("\n- Or no", "They met.", "Decisions"),
        ("\n- It is: [#1]\n```\nmake", "They met.", "Decisions"),
    ],
)
@pytest.mark.parametrize("around", ["", "```md\n", "<think>\nHm.\n</think>\n"])
def test_only_what_is_complete_is_kept(
    written: str, kept: str, first_left: str, around: str
) -> None:
    before = "## Overview\nThey met.\n## Decisions"
    record, left = read_complete(f"{around}{before}{written}", HEADINGS, Covered(1, 9))
    assert record.text.splitlines()[-1] == kept
    assert left == [*HEADINGS[HEADINGS.index(first_left) :]]


def test_something_is_always_left_of_a_record_that_was_cut() -> None:
    assert read_complete(f"{WHOLE}\n## Not", HEADINGS, Covered(1, 9))[1] == [HEADINGS[-1]]
    assert read_complete("They m", HEADINGS, Covered(1, 9))[1] == [*HEADINGS]


def test_a_rest_adds_to_what_was_begun_and_repeats_nothing() -> None:
    covered = Covered(1, 9)
    record = read_record("## Overview\nThey met.\n## Decisions\n- Go [#1]", HEADINGS, covered)
    again = "## Overview\nThey had met.\n## Decisions\n- Go [#1]\n- Stay [#2]\n## Progress\nNone."
    left = ["Decisions", "Facts and values", "Progress"]
    joined = join_rest(record, read_record(again, HEADINGS, covered), left)
    assert joined.text == (
        "## Overview\nThey met.\n## Decisions\n- Go [#1]\n- Stay [#2]\n## Progress\nNone."
    )
    assert list_unwritten(joined, left, []) == ["Facts and values"]
    assert list_unwritten(joined, left, ["Progress"]) == ["Facts and values", "Progress"]
