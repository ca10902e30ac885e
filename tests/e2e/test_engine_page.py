"""What people do with summaries in the page: look before compacting, follow the numbers, edit,
revert, and switch compaction off."""

import re

import pytest
from playwright.sync_api import Page, expect

from agent.compaction.skills import INSTRUCTIONS
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, SecondWindow, Talk, composer, say, wait_for_answer

OPENING = (
    "Plan the move of the shop. From now on, always answer in British English. "
    "The server is db-prod-3, port 5433, and the deadline is 2026-12-15."
)
NAMED = "- From now on, always answer in British English. [#1]"
WRITTEN = SUMMARY.replace(
    "They counted words.", "- They relocate the whole shop elsewhere [#1]\n- Cats sleep [#2]"
)
WRITTEN = WRITTEN.replace(f"## {INSTRUCTIONS}\nNone.", f"## {INSTRUCTIONS}\n{NAMED}")
# Both are doubted, and given back.
ANSWERED = '1. #1: "the move of the shop"\n2. Cats sleep [#2]'
ANSWER = "The answer has some words. " * 60
# What stands over another one below a divider, or has its words in several lines.
CROWDED = """() => {
    const [divider] = [...document.querySelectorAll(".divider")].slice(-1);
    const shown = [...divider.querySelectorAll(".summary > summary, .divider-actions .button")];
    const boxes = shown.map((node) => node.getBoundingClientRect());
    const meet = (a, b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return shown.filter((node, at) =>
        boxes.some((box, other) => other !== at && meet(box, boxes[at])) ||
        boxes[at].height > 48
    ).map((node) => node.textContent.trim());
}"""

pytestmark = pytest.mark.e2e


@pytest.fixture
def chat(talk: Talk) -> Page:
    """An open conversation of three exchanges."""
    said = OPENING, "Explain the first step.", "What can go wrong?"
    return talk(*((text, ANSWER) for text in said))


def preview(page: Page) -> None:
    page.click("#gauge")
    page.click("#compact-now")
    page.locator("#dialog[open]").wait_for()


def compact(page: Page, scripted: DemoServer, focus: str = "", *, gently: bool = False) -> None:
    """Through the preview."""
    scripted.script.reply(WRITTEN, when=is_summary)
    scripted.script.reply(ANSWERED, when=is_summary)
    preview(page)
    if gently:
        page.get_by_label("Gentle").check()
    page.fill("#compact-form [name=focus]", focus)
    page.click("#compact-form button[type=submit]")
    expect(page.locator(".divider")).to_be_visible()
    expect(composer(page)).to_be_editable()


def test_preview_then_compact_with_links_to_the_messages(chat: Page, scripted: DemoServer) -> None:
    scripted.script.reply(ANSWER, when=is_chat)
    say(chat, "And then?")
    wait_for_answer(chat, 4)
    say(chat, "/context")
    expect(chat.locator("#gauge-panel")).to_be_visible()
    chat.keyboard.press("Escape")
    preview(chat)
    dialog = chat.locator("#dialog")
    expect(dialog).to_contain_text("messages #1 to #")
    expect(dialog).to_contain_text("The model’s cache is warm")
    thorough, gentle = (dialog.locator(f"[data-extent={each}]") for each in ("thorough", "gentle"))
    expect(thorough).to_be_visible()
    expect(gentle).to_be_hidden()
    dialog.get_by_label("Gentle").check()
    expect(gentle).to_be_visible()
    expect(thorough).to_be_hidden()
    chat.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    compact(chat, scripted, "the deadline", gently=True)
    assert "the deadline" in scripted.script.requests[-2].last_user_text
    divider = chat.locator(".divider")
    expect(divider).to_contain_text("8 → 5 messages")
    divider.locator(".summary > summary").click()
    expect(divider.locator(".summary-pins")).to_contain_text("always answer in British English")
    expect(divider.locator(".summary-index")).to_contain_text("2026-12-15")
    expect(divider.locator("li", has_text="Cats sleep")).to_contain_text("unverified")
    quote = divider.locator("li", has_text="the whole shop").locator("details")
    expect(quote.locator("blockquote")).to_be_hidden()
    quote.locator("summary").press("Enter")
    expect(quote.locator("blockquote")).to_have_text("the move of the shop [#1]")
    divider.locator('.summary-index a[href="#message-1"]').first.click()
    expect(chat.locator("#message-1.found")).to_be_in_viewport()


def test_edit_reports_and_revert_brings_the_version_before_back(
    chat: Page, scripted: DemoServer, second_window: SecondWindow
) -> None:
    other = second_window(chat)
    compact(chat, scripted)
    first = chat.locator(".divider").get_attribute("id")

    chat.get_by_role("button", name="Edit", exact=True).click()
    statement = chat.locator("#dialog .statement").first
    area = statement.get_by_label("Statement")
    before = area.input_value()
    area.fill("It runs on db-prod-9.example.org [#1]")
    statement.get_by_role("button", name="Undo").click()
    expect(area).to_have_value(before)
    for row in chat.locator("#dialog .statement").all()[:2]:
        row.get_by_role("button", name="Drop").click()
    chat.get_by_role("button", name="Edit as text").click()
    text = chat.locator("#summary-text textarea")
    assert text.input_value().startswith("## Overview\nNone.\n\n## Current work")
    text.fill(text.input_value().replace("None.", "The words were counted (unverified)", 1))
    chat.get_by_role("button", name="Edit by statement").click()
    expect(statement.locator(".unverified-mark")).to_be_visible()
    find = statement.get_by_role("button", name="Find a source")
    chat.locator("#dialog-title").hover()
    expect(find).to_have_css("opacity", "0")
    statement.hover()
    expect(find).to_have_css("opacity", "1")
    chapter = chat.locator("#statements summary")
    expect(chapter.locator("time")).to_have_text(re.compile(r"^\d{1,2} [A-Z][a-z]{2} \d{4}$"))
    expect(chapter.locator(".headline")).not_to_be_empty()
    find.click()
    statement.locator("[data-cite]").first.click()
    expect(area).to_have_value(re.compile(r"The words were counted \[#\d\]"))
    size = chat.viewport_size
    assert size
    chat.set_viewport_size({"width": 360, "height": 560})
    expect(chat.get_by_role("button", name="Save")).to_be_in_viewport(ratio=1)
    chat.set_viewport_size(size)
    chat.get_by_role("button", name="Add a statement").first.click()
    chat.keyboard.type("It runs on db-prod-9.example.org [#1]")
    chat.get_by_role("button", name="Save").click()
    expect(chat.locator("#summary-findings")).to_contain_text("1 statement is unverified")
    chat.get_by_role("button", name="Done").click()
    for tab in (chat, other):  # the socket has told both
        expect(tab.locator(".divider")).to_have_count(1)
        expect(tab.locator(".divider")).to_contain_text("edited by you")

    chat.get_by_role("button", name="Revert", exact=True).click()
    chat.locator("#dialog .danger").click()
    for tab in (chat, other):
        expect(tab.locator(f"#{first}")).to_contain_text("on request")
        tab.locator("#gauge").click()
        expect(tab.locator("#gauge-hint")).to_contain_text("Compacts at")  # it was the user's own
        tab.keyboard.press("Escape")
    chat.get_by_role("button", name="Revert", exact=True).click()
    chat.locator("#dialog .danger").click()
    for tab in (chat, other):
        expect(tab.locator(".divider")).to_have_count(0)
        expect(tab.locator("#gauge-hint")).to_contain_text("Since the revert")


def test_instructions_are_removed_kept_and_added(chat: Page, scripted: DemoServer) -> None:
    compact(chat, scripted)
    dialog = chat.locator("#dialog")
    chat.get_by_role("button", name="Instructions", exact=True).click()
    expect(dialog.get_by_label("Instruction 1")).to_have_value(
        "From now on, always answer in British English."
    )
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog).to_contain_text("None so far.")
    dialog.get_by_label("Add an instruction").fill("Keep your answers short.")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_label("Instruction 1")).to_have_value("Keep your answers short.")
    dialog.get_by_role("button", name="Keep").click()
    expect(dialog.get_by_label("Instruction 2")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    scripted.script.reply("Yes.", when=is_chat)
    say(chat, "Go on.")
    wait_for_answer(chat, 4)
    system = scripted.script.requests[-1].body["system"]
    assert "- Keep your answers short." in system[-1]["text"]


def test_what_left_the_summary_is_put_back_by_keyboard_on_a_phone(
    chat: Page, scripted: DemoServer
) -> None:
    """The last request of the first part is no current work any more when a second part follows."""
    compact(chat, scripted)
    for number in (4, 5, 6):
        scripted.script.reply(ANSWER, when=is_chat)
        say(chat, f"And step {number}?")
        wait_for_answer(chat, number)
    expect(chat.get_by_role("button", name="Left the summary")).to_have_count(0)
    preview(chat)
    scripted.script.reply(SUMMARY, when=is_summary)
    chat.click("#compact-form button[type=submit]")
    expect(chat.locator(".divider")).to_have_count(2)
    expect(composer(chat)).to_be_editable()
    for width in (1280, 1024, 700, 360):
        chat.set_viewport_size({"width": width, "height": 640})
        assert chat.evaluate(CROWDED) == [], width
    chat.get_by_role("button", name="Left the summary (1)").click()
    dialog = chat.locator("#dialog")
    expect(dialog).to_contain_text("word for word")
    dialog.get_by_role("button", name="Put back").press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("Put back. The next request has it.")
    expect(dialog.get_by_role("status")).to_be_focused()
    width = "document.documentElement.scrollWidth <= innerWidth"
    assert chat.evaluate(width)
    dialog.get_by_role("button", name="Close").press("Enter")
    expect(chat.locator(".divider").last).to_contain_text("edited by you")
    expect(chat.get_by_role("button", name="Left the summary")).to_have_count(0)


def test_too_little_is_refused_in_the_dialog_and_off_is_told(
    chat: Page, scripted: DemoServer
) -> None:
    compact(chat, scripted)
    preview(chat)
    expect(chat.locator("#dialog")).to_contain_text("There is nothing to compact yet")
    chat.get_by_role("button", name="Close", exact=True).click()

    chat.get_by_label("Conversation menu").click()
    chat.get_by_role("button", name="Settings and system prompt").click()
    chat.get_by_label("Compact automatically").uncheck()
    chat.get_by_role("button", name="Save").click()
    expect(chat.locator("#compaction-off")).to_contain_text("Automatic compaction is off")
    chat.reload()
    expect(chat.locator("#compaction-off")).to_be_visible()
    chat.get_by_role("button", name="Change").click()
    expect(chat.get_by_label("Compact automatically")).not_to_be_checked()
