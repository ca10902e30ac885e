"""The demo's mind: deterministic, valid, honest, and long enough for its window."""

import re
from typing import Any

import pytest

from agent.model.rules import find_violations
from demo.api.protocol import ScriptedReply
from demo.api.tokens import count_blocks, count_request_tokens
from demo.mind.answers import answer
from demo.mind.models import DEMO_MODEL
from demo.mind.recognition import recognise_kind

SYSTEM = "You are a helpful assistant. " * 20  # about 150 tokens
SHORT = (
    "Hello",
    "And now?",
    "More, please",
    "ok",
    "go on",
    "Tell me something",
    "Hm",
    "x",
    "y",
    "z",
)
HEADINGS = ("Overview", "Wishes and constraints", "Decisions", "Weather", "Open questions")
INSTRUCTION = "Write a summary of the transcript under these headings:\n" + "\n".join(
    f"## {heading}\nWhat belongs here." for heading in HEADINGS
)
TRANSCRIPT = """\
[#12 user]
We must use port 8443 for app/server.py, because the proxy holds 443.

[#13 assistant]
> **Demo reply.** No AI is connected.

## How compaction works here

Some text with [#99] in it.

[#14 user]
Let's take PostgreSQL instead of SQLite.

[#15 assistant]
Fine.

[#17 user]
Does it also run on ARM?"""


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "model": DEMO_MODEL.id,
        "max_tokens": DEMO_MODEL.max_output,
        "system": SYSTEM,
        "messages": list(messages),
        **more,
    }


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def replied(reply: ScriptedReply) -> dict[str, Any]:
    return {"role": "assistant", "content": list(reply.blocks)}


def summary_request(transcript: str = TRANSCRIPT, **more: Any) -> dict[str, Any]:
    text = f"<transcript>\n{transcript}\n</transcript>\n\nWrite the record now."
    return {**chat(said(text)), "system": INSTRUCTION, **more}


def test_the_same_request_gets_the_same_reply() -> None:
    request = chat(said("Show me some code"))
    assert answer(request) == answer(request)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("Write a Python function", "```python"),
        ("Compare them in a table", "|:-----|"),
        ("Give me a list of ideas", "1. **Freeze.**"),
        ("How does the compaction work?", "80 % of the budget"),
        ("hello", "without an API key"),
        ("purple <b>*elephants*", "“purple \\<b\\>\\*elephants\\*”"),
    ],
)
def test_a_reply_shows_what_was_asked_for_and_that_it_is_no_ai(asked: str, shown: str) -> None:
    text = answer(chat(said(asked))).text
    assert text.count(shown) == 1
    assert "No AI is connected" in text


def test_it_tells_the_time_that_the_request_says_and_takes_it_for_nobodys_words() -> None:
    line = "Tuesday, 24 November 2026, 14:05, Europe/Berlin"
    first = {"role": "user", "content": [*said(f"[{line}]")["content"], *said("Hello")["content"]]}
    assert "“Hello”" in answer(chat(first)).text
    asked = said("Good. What day is it today?")
    assert line in answer(chat(first, replied(answer(chat(first))), asked)).text
    assert "time that your request says" not in answer(chat(asked)).text


def test_it_reads_a_transcript_with_times() -> None:
    dated = re.sub(r"^(\[#\d+ \w+)\]$", r"\1 · Tue 24 Nov 2026 14:05]", TRANSCRIPT, flags=re.M)
    assert dated != TRANSCRIPT
    assert answer(summary_request(dated)).text == answer(summary_request()).text


def test_short_messages_fill_the_window_to_the_trigger_within_ten() -> None:
    messages: list[dict[str, Any]] = []
    for text in SHORT:
        messages.append(said(text))
        if count_request_tokens(chat(*messages)) >= 0.80 * DEMO_MODEL.window:
            break
        reply = answer(chat(*messages))
        assert count_blocks(reply.blocks) <= DEMO_MODEL.max_output
        assert reply.effective_stop_reason == "end_turn"
        messages.append(replied(reply))
    assert 5 <= len(messages) // 2 + 1 <= 8


def test_a_conversation_of_demo_answers_is_valid() -> None:
    messages: list[dict[str, Any]] = []
    for text in SHORT[:6]:
        messages.append(said(text))
        request = chat(*messages)
        size = count_request_tokens(request)
        assert find_violations(request, window=DEMO_MODEL.window, request_tokens=size) == []
        messages.append(replied(answer(request)))


def test_a_reply_ends_at_max_tokens_and_at_the_window() -> None:
    cut = answer(chat(said("Hello"), max_tokens=50))
    assert cut.effective_stop_reason == "max_tokens"
    assert count_blocks(cut.blocks) <= 50
    full = answer(chat(said("x" * 30_000)))
    assert full.effective_stop_reason == "model_context_window_exceeded"


def test_the_search_tool_is_called_and_its_result_shown() -> None:
    tools = [{"name": "search_history", "input_schema": {"type": "object"}}]
    asked = chat(said("Search for the port"), tools=tools)
    call = answer(asked)
    assert call.effective_stop_reason == "tool_use"
    used = call.blocks[-1]
    assert used["input"] == {"query": "for the port"}
    result = {"type": "tool_result", "tool_use_id": used["id"], "content": "port 8443"}
    looped = chat(
        *asked["messages"], replied(call), {"role": "user", "content": [result]}, tools=tools
    )
    assert find_violations(looped) == []
    assert "> port 8443" in answer(looped).text


def test_a_summary_has_exactly_the_headings_asked_for() -> None:
    text = answer(summary_request()).text
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == HEADINGS
    assert "## Weather\nNone." in text


def test_a_summary_quotes_its_source_with_the_numbers_it_has() -> None:
    text = answer(summary_request()).text
    assert "“We must use port 8443 for app/server.py, because the proxy holds 443.” [#12]" in text
    assert "“Let's take PostgreSQL instead of SQLite.” [#14]" in text
    assert "“Does it also run on ARM?” [#17]" in text
    numbers = set(re.findall(r"#(\d+)", text))
    assert numbers <= {"12", "13", "14", "15", "17"}


def test_a_summary_of_a_long_transcript_stays_small() -> None:
    entries = [f"[#{n} user]\nWe must keep value {n} " + "word " * 60 for n in range(1, 40)]
    request = summary_request("\n\n".join(entries), max_tokens=800)
    reply = answer(request, window=100_000)
    assert reply.effective_stop_reason == "end_turn"
    assert count_blocks(reply.blocks) <= 800
    assert "“We must keep value 39" in reply.text


def test_a_merge_carries_the_bullets_of_the_summary_it_replaces() -> None:
    previous = "<previous_summary>\n## Decisions\n- Old one [#3]\n</previous_summary>\n\n"
    text = f"{previous}<transcript>\n{TRANSCRIPT}\n</transcript>\n\nIt replaces the previous one."
    summary = answer({**chat(said(text)), "system": INSTRUCTION}).text
    assert "- Old one [#3]" in summary.partition("## Decisions")[2].partition("## ")[0]


def test_an_instruction_at_the_end_of_the_conversation_is_recognised_too() -> None:
    outline = "<outline>\n#1 user: First wish\n#2 assistant: Fine\n</outline>"
    history = [said("First wish"), {"role": "assistant", "content": "Fine"}]
    request = chat(*history, said(f"{INSTRUCTION}\n\n{outline}"))
    text = answer(request).text
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == HEADINGS
    assert "“First wish” [#1]" in text


def test_what_an_outline_cuts_off_is_quoted_from_the_conversation() -> None:
    wish = f"We want {'very ' * 30}cheap rooms. Does it rain in May?"
    shown = {"role": "assistant", "content": "> **Demo reply.**\n\n## A list to look at\n\n- x"}
    outline = f"<outline>\n#1 user: {wish[:80]}…\n#2 assistant: > **Demo reply.**\n</outline>"
    request = chat(
        said(wish), shown, said(f"{INSTRUCTION}\n## Progress\nWhat is done.\n\n{outline}")
    )
    text = answer(request).text
    assert "very cheap rooms.” [#1]" in text
    assert "- The user: “Does it rain in May?” [#1]" in text.partition("## Open questions")[2]
    assert "- Done: the demo showed “A list to look at” [#2]" in text


def test_a_sentence_stands_under_one_heading_and_is_whole() -> None:
    text = answer(summary_request()).text
    bullets = re.findall("^- .+$", text, re.M)
    assert len({bullet for bullet in bullets if "Overview" not in bullet}) >= 3
    assert text.count("PostgreSQL instead of SQLite") == 1
    assert "…" not in text


def test_a_chat_after_a_compaction_is_still_a_chat() -> None:
    summary = "# Conversation Summary\n\n## Overview\nx\n\n## Decisions\nx\n\n## Progress\nx"
    system = [{"type": "text", "text": SYSTEM}, {"type": "text", "text": summary}]
    request = chat(said("What did we decide?"), system=system)
    assert recognise_kind(request) == "chat"
    assert "with a summary" in answer(request).text


def test_a_title_is_made_of_the_first_words_and_does_not_end_in_mid_phrase() -> None:
    asked = "Can you please help me plan a trip to Norway in winter? Thanks"
    instruction = "Write a short title for this conversation."
    request = chat(said(f"<conversation>\n{asked}\n</conversation>\n\n{instruction}"))
    assert recognise_kind(request) == "title"
    assert answer(request).text == "Plan a trip to Norway"
