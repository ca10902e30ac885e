"""What a person who comes back reads of a summary, or of an answer."""

import pytest

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.outlook import LINE, Outlook, read_opening, read_outlook
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.extraction.extract import extract
from agent.compaction.extraction.phrases import PHRASES
from agent.compaction.policy import ChapterForm
from agent.compaction.skills import SKILLS
from agent.context.summary import Summary
from agent.messages import AgentMessage, RawTokens
from tests.agent.conversations import COUNTER


def summary(*texts: str) -> Summary:
    chapters = [Chapter(text, number, number) for number, text in enumerate(texts, 1)]
    return render_summary(
        chapters, pin_tokens=RawTokens(1_000), index_tokens=RawTokens(1_000), counter=COUNTER
    )


def written(decisions: str, work: str) -> str:
    return f"## Overview\nA move.\n## Decisions\n{decisions}\n## Current work and next step\n{work}"


@pytest.mark.parametrize("form", ChapterForm)
def test_both_forms_have_the_headings_that_are_read(form: ChapterForm) -> None:
    filled = "\n".join(f"## {h}\n- About {h} [#1]" for h in SKILLS[form].chapter_headings)
    outlook = read_outlook(summary(filled))
    assert outlook == Outlook("About Decisions", "About Current work and next step")


def test_the_last_decision_and_the_next_step_are_those_of_the_last_chapter() -> None:
    first = written("- A cron job [#1]", "- Read the docs [#2]")
    last = written("- A queue [#3 #4]\n- **Redis** as `broker` [#5–#7]", "- Moving [#8]\n- Test it")
    assert read_outlook(summary(first, last)) == Outlook("Redis as broker", "Test it")
    assert not read_outlook(summary(first, "## Overview\nNothing new."))


def test_what_is_not_verified_and_none_are_left_out() -> None:
    decided = written("- A queue [#3]\n- Redis [#4] (unverified)", "None.")
    assert read_outlook(summary(decided)) == Outlook("A queue", "")
    assert not read_outlook(summary(written("None.", "None.")))


@pytest.mark.parametrize("language", PHRASES)
def test_what_code_quotes_of_the_last_request_is_no_next_step(language: str) -> None:
    quoted = f"- {PHRASES[language].last_request}: “And now?” [#9]"
    assert (
        read_outlook(summary(written("None.", f"- Test it [#8]\n{quoted}"))).next_step == "Test it"
    )
    assert not read_outlook(summary(written("None.", quoted)))


def test_a_step_of_several_lines_is_one_line_without_code() -> None:
    work = "They measure the queue,\nas planned. [#9]\n\n```sh\nmake bench\n```\n"
    assert read_outlook(summary(written("None.", work))).next_step == (
        "They measure the queue, as planned."
    )


def test_a_long_line_is_cut_between_words() -> None:
    step = read_outlook(summary(written("None.", "- " + "measure " * 100))).next_step
    assert len(step) <= LINE + 2
    assert step.endswith("measure …")


def test_a_chapter_written_by_rule_only_quotes_and_says_nothing() -> None:
    messages = [
        AgentMessage(1, "user", [{"type": "text", "text": "Hello"}], RawTokens(2)),
        AgentMessage(2, "assistant", [{"type": "text", "text": "Hi"}], RawTokens(2)),
    ]
    assert not read_outlook(summary(extract(messages, RawTokens(500), COUNTER)))
    assert not read_outlook(Summary())


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("# Plan\n\n1. *First* see [the docs](https://x.org/a).\n2. Then", "First see the docs."),
        (
            "```py\nprint(1)\n```\n\nIt prints `snake_case` __init__.",
            "It prints snake_case __init__.",
        ),
        ("| a | b |\n|---|---|\n\n---\n\n> So *.py it is", "So *.py it is"),
        ("#12 says so.", "#12 says so."),
        ("```\nnever closed\n# x", ""),
        ("مرحبا **بك**", "مرحبا بك"),
        ("", ""),
    ],
)
def test_an_answers_opening_is_its_first_prose_as_plain_text(answer: str, line: str) -> None:
    assert read_opening(answer) == line
