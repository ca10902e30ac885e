"""The outline beside the transcript, on narrow screens over it; and the folded chapters of a
summary."""

import re

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, Check, Talk, composer, say

pytestmark = pytest.mark.e2e

ANSWER = "The answer has some words. " * 60
DECIDED = SUMMARY.replace("## Decisions\nNone.", "## Decisions\n- The answer has some words [#2]")
OUTLINE = "Control+Shift+L"
REQUESTS = "/outline/"


@pytest.fixture
def chat(talk: Talk) -> Page:
    """Four exchanges, the first of which are in a summary's first chapter."""
    return talk(*((f"Question {n}?", ANSWER) for n in range(1, 5)), ("/compact", DECIDED))


def ask(page: Page, model: DemoServer, number: int) -> None:
    model.script.reply(ANSWER, when=is_chat)
    say(page, f"Question {number}?")
    expect(page.locator(f"#message-{2 * number}[data-status=complete]")).to_be_visible()


def compact(page: Page, model: DemoServer) -> None:
    before = page.locator(".divider").count()
    model.script.reply(DECIDED, when=is_summary)
    say(page, "/compact")
    expect(page.locator(".divider")).to_have_count(before + 1)
    expect(composer(page)).to_be_editable()


def test_the_outline_stays_beside_the_transcript_marks_the_place_and_leads_there_and_back(
    chat: Page, check: Check
) -> None:
    chat.set_viewport_size({"width": 1440, "height": 800})
    outline = chat.locator("#outline")
    chat.get_by_role("button", name="Outline").click()
    chapter = outline.get_by_role("link", name=re.compile("Chapter 1 · #1–"))
    expect(chapter).to_contain_text("The answer has some words")
    last = outline.get_by_role("link", name="Question 4?")
    expect(last).to_have_attribute("aria-current", "location")
    outline.get_by_text("Your messages").click()
    check("the outline")
    first = outline.get_by_role("link", name="Question 1?")
    first.click()
    expect(chat.locator("#message-1")).to_be_focused()
    expect(first).to_have_attribute("aria-current", "location")
    expect(last).not_to_have_attribute("aria-current", "location")
    chat.go_back()
    expect(last).to_have_attribute("aria-current", "location")

    box = outline.locator(".timeline").bounding_box()
    assert box
    chat.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    expect(chat.locator("#message-1")).to_be_focused()

    chat.reload()
    expect(last).to_be_visible()
    chat.keyboard.press(OUTLINE)
    expect(outline).to_be_hidden()
    chat.reload()
    expect(chat.locator("#message-1")).to_be_focused()  # as the address says
    expect(outline).to_be_hidden()


@pytest.mark.parametrize("width", [390, 820])
def test_on_narrow_screens_it_is_a_sheet_that_escape_and_a_choice_close(
    chat: Page, check: Check, width: int
) -> None:
    chat.set_viewport_size({"width": width, "height": 800})
    outline = chat.locator("#outline:modal")
    opener = chat.get_by_role("button", name="Outline")
    opener.click()
    entry = outline.get_by_role("link", name="Question 4?")
    expect(entry).to_be_visible()
    check("the outline as a sheet")
    chat.keyboard.press("Escape")
    expect(outline).to_have_count(0)
    expect(opener).to_be_focused()
    say(chat, "/outline")
    entry.click()
    expect(outline).to_have_count(0)
    expect(chat.locator("#message-7")).to_be_focused()


def test_an_open_outline_is_loaded_once_after_a_turn_and_after_a_compaction(
    tab: Page, scripted: DemoServer
) -> None:
    tab.set_viewport_size({"width": 1440, "height": 800})
    ask(tab, scripted, 1)
    asked: list[str] = []
    tab.on("request", lambda request: REQUESTS in request.url and asked.append(request.url))
    tab.keyboard.press(OUTLINE)
    entries = tab.locator("#outline nav li a")
    expect(entries).to_have_text(["Question 1?"])
    for number in range(2, 5):
        ask(tab, scripted, number)
        expect(entries).to_have_count(number)
    assert len(asked) == 4
    compact(tab, scripted)
    expect(tab.locator("#to-chapter-1")).to_be_visible()
    assert len(asked) == 5


def test_chapters_are_folded_but_the_newest_and_stay_as_they_were_left(
    chat: Page, scripted: DemoServer, check: Check
) -> None:
    for number in range(5, 8):
        ask(chat, scripted, number)
    compact(chat, scripted)
    divider = chat.locator(".divider").last
    divider.get_by_text("View summary").click()
    chapters = divider.locator("details.chapter")
    opened = divider.locator("details.chapter[open]")
    expect(chapters).to_have_count(2)
    expect(opened).to_have_count(1)
    expect(chapters.last).to_have_attribute("open", "")
    expect(chapters.first.locator("summary")).to_contain_text("The answer has some words")
    check("a summary with a folded chapter")
    divider.get_by_role("button", name="Open all chapters").click()
    expect(opened).to_have_count(2)
    divider.get_by_role("button", name="Fold all chapters").click()
    expect(opened).to_have_count(0)
    chapters.first.locator("summary").click()

    divider.get_by_role("button", name="Edit", exact=True).click()
    chat.get_by_role("button", name="Edit as text").click()
    text = chat.locator("#summary-text textarea")
    text.fill(text.input_value().replace("They counted words", "They counted", 1))
    chat.locator("#dialog button[type=submit]").click()
    expect(chapters.first).to_contain_text("They counted.")
    expect(chapters.first).to_have_attribute("open", "")
    expect(opened).to_have_count(1)
