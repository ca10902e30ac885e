"""Citations both ways, what a search found, and another model for one answer."""

import re

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, Check, Talk

pytestmark = pytest.mark.e2e

ANSWER = "The answer has some words. " * 60
FOUND = "[...(CSS.highlights.get('found-words') ?? [])].map(range => range.toString())"


@pytest.fixture
def compacted(talk: Talk) -> Page:
    """Four exchanges and a summary that cites the second message."""
    cited = SUMMARY.replace("They counted words.", "- The answer has some words. [#2]")
    return talk(*((f"Question {n}?", ANSWER) for n in range(1, 5)), ("/compact", cited))


def test_a_citation_shows_its_message_and_leads_there_and_back_to_the_statement(
    compacted: Page, check: Check
) -> None:
    page, peek, back = compacted, compacted.locator("#peek"), compacted.locator("#back-to-summary")
    page.locator(".summary > summary").click()
    link = page.locator(".summary .text a", has_text="#2").first
    link.hover()
    expect(peek).to_contain_text("The answer has some words.")
    at, shown = link.bounding_box(), peek.bounding_box()
    assert at
    assert shown
    assert shown["y"] >= at["y"] + at["height"] or shown["y"] + shown["height"] <= at["y"]
    peek.hover()
    check("citation")
    page.keyboard.press("Escape")
    expect(peek).to_be_hidden()

    link.click()
    expect(page.locator("#message-2")).to_be_focused()
    back.click()
    expect(link).to_be_focused()
    expect(back).to_be_hidden()
    page.go_back()
    expect(page.locator("#message-2")).to_be_focused()

    page.locator("#message-2 [data-action=to-summary]").click()
    expect(link).to_be_focused()


def test_the_words_of_a_hit_are_highlighted_until_escape(compacted: Page) -> None:
    page = compacted
    page.locator("#sidebar-search").fill("Question 3")
    page.locator(".hits a", has_text="#5").first.click()
    expect(page.locator("#message-5")).to_be_focused()
    page.wait_for_function(f"() => {FOUND}.length == 2")
    assert page.evaluate(FOUND) == ["Question", "3"]
    page.keyboard.press("Escape")
    assert page.evaluate(FOUND) == []


def test_another_model_answers_once_and_the_row_says_so(
    talk: Talk, scripted: DemoServer, check: Check
) -> None:
    tab = talk(("Hello?", "One."))
    answer = tab.locator("article[data-role=assistant]")
    expect(answer.locator(".details")).to_contain_text("Test model")
    answer.get_by_role("button", name="More about this message").click()
    menu = tab.locator(".message-menu")
    expect(menu).to_contain_text(re.compile(r"Test model · .* tokens in, .* out"))
    check("menu of an answer")
    scripted.script.reply("Two.", when=is_chat)
    menu.get_by_role("button", name="Answer again with Other model").click()
    expect(answer).to_contain_text("Two.")
    expect(answer.locator(".details")).to_contain_text("Other model")
    expect(tab.locator("#model")).to_have_value("test-model")
