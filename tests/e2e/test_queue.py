"""What is written while an answer runs: it waits above the message box, and is sent in order."""

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Check, composer, say, wait_for_answer

pytestmark = pytest.mark.e2e


def test_two_messages_wait_over_a_reload_one_is_edited_and_both_are_answered_in_order(
    tab: Page, scripted: DemoServer, check: Check
) -> None:
    gate = scripted.script.stall("One", then=" done", when=is_chat)
    for answer in ("Two", "Three"):
        scripted.script.reply(answer, when=is_chat)
    say(tab, "First")
    expect(tab.locator("#stop")).to_be_visible()
    waiting = tab.locator("#queue .queued")
    for number, text in enumerate(("Second", "Third"), 1):
        composer(tab).fill(text)
        composer(tab).press("Enter")
        expect(waiting).to_have_count(number)
        expect(composer(tab)).to_have_value("")
    tab.reload()
    expect(waiting.locator(".queued-words")).to_have_text(["Second", "Third"])
    composer(tab).press("ArrowUp")
    editor = waiting.nth(1).get_by_role("textbox")
    expect(editor).to_be_focused()
    expect(editor).to_have_value("Third")
    check("messages that wait")
    editor.fill("Third, in short")
    waiting.nth(0).get_by_role("button", name="Edit").click()
    expect(editor).to_have_value("Third, in short")
    expect(editor).to_be_focused()
    editor.press("Enter")
    expect(waiting.nth(1)).to_contain_text("Third, in short")
    expect(editor).to_have_count(0)
    gate.release()
    wait_for_answer(tab, 3)
    expect(waiting).to_have_count(0)
    expect(tab.locator("#queue")).to_be_hidden()
    asked = [each.last_user_text for each in scripted.script.requests if is_chat(each)]
    assert asked == ["First", "Second", "Third, in short"]
    expect(tab.locator("article .body")).to_contain_text(
        ["First", "One done", "Second", "Two", "Third, in short", "Three"]
    )


def test_after_a_stop_what_waits_is_sent_or_removed_by_hand(
    tab: Page, scripted: DemoServer, check: Check
) -> None:
    gate = scripted.script.stall("One", then=" done", when=is_chat)
    say(tab, "First")
    expect(tab.locator("#stop")).to_be_visible()
    for text in ("Second", "Third"):
        composer(tab).fill(text)
        composer(tab).press("Enter")
        expect(composer(tab)).to_have_value("")
    tab.locator("#stop").click()
    gate.release()
    waiting = tab.locator("#queue .queued")
    expect(tab.locator("#queue")).to_contain_text("You stopped the answer, so nothing is sent")
    check("a queue that is paused")
    waiting.nth(1).get_by_role("button", name="Remove").click()
    expect(waiting).to_have_count(1)
    scripted.script.reply("Two", when=is_chat)
    tab.locator("#queue").get_by_role("button", name="Send", exact=True).click()
    expect(waiting).to_have_count(0)
    wait_for_answer(tab, 1)  # the other one is not complete


def test_a_change_of_what_is_sent_meanwhile_is_not_lost(tab: Page, scripted: DemoServer) -> None:
    gate = scripted.script.stall("One", then=" done", when=is_chat)
    scripted.script.reply("Two", when=is_chat)
    say(tab, "First")
    expect(tab.locator("#stop")).to_be_visible()
    composer(tab).fill("Second")
    composer(tab).press("Enter")
    expect(composer(tab)).to_have_value("")
    tab.locator("#queue").get_by_role("button", name="Edit").click()
    tab.locator("#queue textarea").fill("Second, changed")
    gate.release()
    expect(composer(tab)).to_have_value("Second, changed")
    expect(tab.locator("#notice")).to_contain_text("Your change is in the message box.")
    expect(tab.locator("article", has_text="Two")).to_be_visible()
