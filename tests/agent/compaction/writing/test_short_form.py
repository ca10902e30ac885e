"""The short form through every method of the ladder: five parts, and a limit that is hard."""

import re
from dataclasses import replace
from typing import Any

import pytest

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.cutting import cut_at_bullets, drop_unfinished
from agent.compaction.extraction.phrases import choose_phrases
from agent.compaction.ladder import summarise
from agent.compaction.policy import SHORT_TOKENS, ChapterForm, Method, Policy
from agent.compaction.skills import FULL, INSTRUCTIONS, SKILLS
from agent.compaction.writing.job import WrittenSummary
from agent.messages import RawTokens
from agent.model.client import Client
from agent.tokens import Factor
from demo.api.protocol import ScriptedReply
from demo.api.server import DemoServer
from tests.agent.compaction.jobs import HISTORY, LIMITS, chapter, job, text_of
from tests.agent.conversations import COUNTER, assistant, text, user

SHORT = SKILLS[ChapterForm.SHORT]
CHECKS = [f"- Check number {n} passed [#2]" for n in range(100, 250)]
SAID = "\n".join(f"Check number {n} passed." for n in range(100, 250)) + "\n"
CHECKED = [
    user(1, "Always answer in German. Run all checks, please."),
    assistant(2, SAID * 2),
    *HISTORY[2:],
]
STANDING = "- Always answer in German. [#1]"
TOO_LONG = chapter(*CHECKS, standing=STANDING, skill=SHORT)
FITTING = chapter(*CHECKS[:10], standing=STANDING, skill=SHORT)


def policy(method: Method = Method.AUTO, **changes: Any) -> Policy:
    return Policy(summary_form=ChapterForm.SHORT, engine=method, **changes)


def size(written: WrittenSummary, factor: Factor = LIMITS.factor) -> int:
    """Real tokens of the newest chapter."""
    return factor.apply(COUNTER.count(written.chapters[-1].text))


async def write(client: Client, method: Method = Method.AUTO, **values: Any) -> WrittenSummary:
    values = {"policy": policy(method), "messages": CHECKED} | values
    return await summarise(job(client, **values))


METHODS = [Method.WARM_PREFIX, Method.SERIALISED, Method.CHUNKS, Method.WITHOUT_OVERSIZED]


@pytest.mark.parametrize("factor", [1.0, 1.5])
@pytest.mark.parametrize("method", METHODS)
async def test_no_method_stores_more_than_the_limit_and_none_cuts_a_statement(
    client: Client, server: DemoServer, method: Method, factor: float
) -> None:
    """Given back once, it is as long as before."""
    limits = replace(LIMITS, factor=Factor(factor, 0))
    server.script.reply(TOO_LONG, always=True)
    written = await write(client, method, limits=limits)
    assert (written.method, written.calls) == (method, 2)
    (made,) = written.chapters
    bullets = re.findall(r"^- Check.*", made.text, re.M)
    assert bullets == CHECKS[: len(bullets)]
    assert SHORT_TOKENS * 0.6 < size(written, limits.factor) <= SHORT_TOKENS
    assert written.audit["cut"] == CHECKS[len(bullets) :]
    assert [pin.text for pin in made.pins] == ["Always answer in German."]
    assert "“Now write the notes to docs/notes.md.” [#3]" in made.text


async def test_the_request_asks_for_the_five_parts_and_for_what_fits(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(FITTING)
    written = await write(client)
    (request,) = server.script.requests
    assert request.body["system"][0]["text"] == SHORT.text
    assert f"at most {int(SHORT_TOKENS * 0.8 * 0.6)} words" in text_of(request)
    assert "one bullet a heading" not in text_of(request)
    assert re.findall("^## (.+)$", SHORT.text, re.M) == [
        "Goal and constraints",
        INSTRUCTIONS,  # are pinned, and no part of it
        "Decisions",
        "Facts and values",
        "Open tasks",
        "Current work and next step",
    ]
    assert written.audit["cut"] == []


async def test_what_is_shorter_at_the_second_attempt_is_taken_whole(
    client: Client, server: DemoServer
) -> None:
    server.script.reply(TOO_LONG)
    server.script.reply(FITTING)
    written = await write(client)
    first, second = map(text_of, server.script.requests)
    assert "too long" not in first
    assert "thrown away. Write the whole record again within the limit" in second
    assert "- Check number 249 passed [#2]" not in second, "as many as there is room for"
    assert written.audit["cut"] == []
    assert CHECKS[9] in written.chapters[0].text


async def test_parts_are_merged_before_anything_is_cut(client: Client, server: DemoServer) -> None:
    """A part's record has no hard limit: what it lacks, the merge cannot bring back."""
    long = [assistant(n, SAID * 2) for n in (2, 4)]
    history = [CHECKED[0], long[0], HISTORY[2], long[1], *HISTORY[4:]]
    halves = CHECKS[:40], [line.replace("#2", "#4") for line in CHECKS[40:80]]
    for half in halves:
        server.script.reply(chapter(*half, skill=SHORT))
    server.script.reply(TOO_LONG, always=True)
    by_parts = policy(Method.CHUNKS, input_characters=10_000)
    written = await write(client, messages=history, policy=by_parts)
    *parts, merge, again = map(text_of, server.script.requests)
    assert len(parts) == 2
    assert all(half[-1] in merge for half in halves)
    assert "too long" in again
    assert size(written) <= SHORT_TOKENS


@pytest.mark.parametrize(
    "words", ["Please look at the next file. ", "次のファイルを見てください。"]
)
async def test_an_extract_and_a_long_request_fit_too(
    client: Client, server: DemoServer, words: str
) -> None:
    server.script.error(401, always=True)
    history = [
        m for n in range(1, 21, 2) for m in (user(n, words * 90), assistant(n + 1, words * 9))
    ]
    limits = replace(LIMITS, factor=Factor(1.5, 0))
    written = await write(client, messages=history, cut=18, limits=limits)
    assert written.method == "extract"
    assert size(written, limits.factor) <= SHORT_TOKENS
    lines = written.chapters[0].text.splitlines()
    assert {line[3:] for line in lines if line.startswith("## ")} < {*SHORT.headings}
    assert f"{choose_phrases(history).last_request}: “{words[:9]}" in lines[-1]


async def test_what_has_no_bullets_to_leave_out_is_no_short_summary(
    client: Client, server: DemoServer
) -> None:
    wall = chapter(skill=SHORT, sections={"Facts and values": SAID.replace("\n", " ")})
    server.script.reply(wall, always=True)
    written = await write(client)
    assert written.method == "extract"
    assert "has no bullets that could be left out" in written.failures[0].cause


async def test_the_bullet_that_a_reply_broke_off_in_is_not_stored(
    client: Client, server: DemoServer
) -> None:
    broken = chapter(*CHECKS[:5], "- Check number 105 has", skill=SHORT)
    broken = broken.partition("## Open tasks")[0].rstrip()
    server.script.reply(ScriptedReply((text(broken),), stop_reason="max_tokens"), always=True)
    written = await write(client)
    assert CHECKS[4] in written.chapters[0].text
    assert "Check number 105" not in written.chapters[0].text


async def test_a_conversation_may_have_chapters_of_both_forms(
    client: Client, server: DemoServer
) -> None:
    fitting = FITTING.replace("- Always answer in German. [#1]", "None.")
    server.script.reply(fitting.replace("#2", "#4").replace("#1", "#3"))
    old = Chapter("## Overview\nThey met.\n\n## Current work and next step\n- Run it [#1]", 1, 2)
    written = await write(
        client,
        messages=[user(3, "Run all checks."), replace(CHECKED[1], number=4), *HISTORY[4:]],
        cut=2,
        chapters=[old],
    )
    assert written.chapters[0] == old
    assert SHORT.text == server.script.requests[0].body["system"][0]["text"] != FULL.text


# --- Cutting --------------------------------------------------------------------------------------

CODE = "- It runs with:\n  ```\n  ## not a heading\n\n  - not a bullet\n  ```"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
TEXT = f"## Facts and values\n- One.\n  It goes on.\n{CODE}\n\n{TABLE}\n## Open tasks\n- Two."


def cut(tokens: int) -> tuple[str, list[str]]:
    return cut_at_bullets(TEXT, RawTokens(tokens), COUNTER)


def test_the_longest_section_gives_way_first_with_its_last_statement_as_a_whole() -> None:
    whole = COUNTER.count(TEXT)
    assert cut(whole + 20) == (TEXT, [])
    assert cut(whole - 1) == (TEXT.replace(TABLE + "\n", ""), [TABLE])
    short, left_out = cut(whole // 2)
    assert short == "## Facts and values\n- One.\n  It goes on.\n## Open tasks\n- Two."
    assert left_out == [CODE, TABLE]
    assert cut(0) == ("", ["- One.\n  It goes on.", CODE, TABLE, "- Two."])


def test_what_is_unfinished_is_dropped_but_no_heading() -> None:
    assert drop_unfinished("## A\n- One.\n- Tw") == "## A\n- One."
    assert drop_unfinished("## A\n- One.\n## B") == "## A\n- One.\n## B"
    assert drop_unfinished("") == ""
