"""Which messages are summarised, by chapter, and how an article says so."""

from agent.context.summary import Summary
from chat.html.summarised import list_summarised, mark_summarised


def chapter(first: int, last: int) -> str:
    return f"**Messages #{first} to #{last}**\n\nWhat was said."


TWO = Summary((chapter(1, 40), chapter(43, 90)))


def ranges(summary: Summary, through: int, kept: int = 0) -> list[tuple[int, int]]:
    return [(each["first"], each["last"]) for each in list_summarised(summary, through, kept)]


def test_each_message_up_to_the_last_summarised_one_belongs_to_a_chapter() -> None:
    assert ranges(TWO, 90) == [(1, 40), (41, 90)]
    words = [each["words"] for each in list_summarised(TWO, 90)]
    assert words[1] == "Chapter 2 · #43–90 · in the summary"


def test_the_days_of_a_chapter_are_no_part_of_its_range() -> None:
    dated = "**Messages #43 to #90 (30 April – 2 May 2026)**\n\nWhat was said."
    assert ranges(Summary((chapter(1, 40), dated)), 90) == [(1, 40), (41, 90)]


def test_a_first_message_that_is_kept_is_not_summarised() -> None:
    assert ranges(TWO, 90, kept=1) == [(2, 40), (41, 90)]
    assert ranges(Summary((chapter(1, 1),)), 1, kept=1) == []


def test_without_a_summary_nothing_is() -> None:
    assert list_summarised(Summary(), 0) == []


def test_a_summary_without_numbers_still_covers_its_messages() -> None:
    (only,) = list_summarised(Summary(("In my own words.",)), 12)
    assert only == {"first": 1, "last": 12, "words": "In the summary"}


def test_only_a_summarised_article_is_marked() -> None:
    parts = list_summarised(Summary(("Mine.",)), 2)
    article = '<article id="message-2">a <article></article>'
    assert mark_summarised(article, 2, parts).startswith(
        '<article data-summarised="In the summary" id="message-2">a <article>'
    )
    assert mark_summarised(article, 3, parts) == article
