"""Escape, Enter and the focus."""

import re

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Talk, composer, say, wait_for_answer
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.e2e


def test_escape_stops_the_answer_only_where_it_means_it(talk: Talk, scripted: DemoServer) -> None:
    tab = talk(("Hello", "First."))
    gate = scripted.script.stall("Once upon a ti", then="me.", when=is_chat)
    say(tab, "A story")
    assert gate.reached.wait(PATIENCE)
    tab.locator("#title").click()
    tab.keyboard.press("Escape")
    tab.locator("#conversation-menu summary").click()
    tab.keyboard.press("Escape")
    tab.locator("#gauge").click()
    tab.keyboard.press("Escape")
    expect(tab.locator("#gauge-panel")).to_be_hidden()
    tab.locator("#sidebar-search").click()
    tab.keyboard.press("Escape")
    user = tab.locator("article[data-role=user]").first
    user.hover()
    user.get_by_role("button", name="Edit message").click()
    tab.get_by_role("textbox", name="Edit message").press("Escape")
    gate.release()
    wait_for_answer(tab, 2)
    expect(tab.locator("article[data-status=interrupted]")).to_have_count(0)
    gate = scripted.script.stall("And they ", when=is_chat)
    say(tab, "How does it end?")
    assert gate.reached.wait(PATIENCE)
    expect(tab.locator("#stop")).to_be_visible()
    tab.locator("#stop").focus()
    tab.keyboard.press("Escape")
    expect(tab.locator("article[data-status=interrupted]")).to_have_count(1)
    expect(composer(tab)).to_be_focused()  # the button that had it is hidden


def test_enter_in_the_search_box_stays_in_the_chat(talk: Talk) -> None:
    tab = talk(("Good marmalade", "Hi!"))
    address = tab.url
    box = tab.locator("#sidebar-search")
    box.fill("marmalade")
    expect(tab.locator("#status")).to_have_text(re.compile(r"^\d+ results?$"))
    box.press("Enter")
    expect(tab.locator("#sidebar-list .hits a").first).to_be_visible()
    assert tab.url == address


def test_a_dialog_keeps_what_was_changed_in_it(chat: Page) -> None:
    dialog = chat.locator("#dialog")
    menu = chat.locator("#conversation-menu summary")

    def open_settings() -> None:
        menu.click()
        chat.get_by_role("button", name="Settings and system prompt").click()
        expect(dialog).to_be_visible()

    open_settings()
    box = dialog.bounding_box()
    assert box is not None
    # Within the box, though on nothing that is in it; and a drag that ends outside.
    chat.mouse.click(box["x"] + 4, box["y"] + 4)
    expect(dialog).to_be_visible()
    chat.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    chat.mouse.down()
    chat.mouse.move(5, 5)
    chat.mouse.up()
    expect(dialog).to_be_visible()
    dialog.get_by_label("System prompt").fill("Rhyme.")
    chat.mouse.click(5, 5)
    expect(dialog.get_by_label("System prompt")).to_have_value("Rhyme.")
    chat.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(menu).to_be_focused()  # where it was opened
    open_settings()
    chat.mouse.click(5, 5)
    expect(dialog).to_be_hidden()


def test_the_palette_leads_to_messages_commands_and_back(tab: Page, scripted: DemoServer) -> None:
    for number in (1, 2):
        scripted.script.reply("A pomegranate.", when=is_chat)
        say(tab, f"Pomegranate {number}?")
        wait_for_answer(tab, number)
    palette, keys = tab.locator("#palette"), tab.keyboard
    keys.press("Control+k")
    keys.type("in:here pomegranate")
    keys.press("Enter")  # goes to what these words find, though that is not there yet
    expect(tab.locator("#message-1")).to_be_focused()
    expect(palette).to_be_hidden()
    expect(tab.locator("#notice")).to_contain_text("Result 1 of 4")
    keys.press("F3")
    expect(tab.locator("#message-2")).to_be_focused()
    keys.press("Shift+F3")
    expect(tab.locator("#message-1")).to_be_focused()
    keys.press("Control+k")
    expect(palette.get_by_role("combobox")).to_have_value("in:here pomegranate")
    expect(palette.get_by_role("option")).to_have_count(4)
    keys.press("ArrowUp")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("#4")
    keys.press("Escape")
    expect(tab.locator("#message-1")).to_be_focused()
    composer(tab).fill("A draft")
    keys.press("Control+k")
    keys.type("/context")
    keys.press("Enter")
    expect(tab.locator("#gauge-panel")).to_be_visible()
    expect(composer(tab)).to_have_value("A draft")


def test_the_sidebar_stays_hidden_and_is_a_drawer_on_narrow_screens(tab: Page) -> None:
    sidebar, opener = tab.locator("#sidebar"), tab.get_by_label("Open the sidebar")
    expect(opener).to_be_hidden()
    tab.get_by_label("Close the sidebar").click()
    expect(opener).to_be_focused()
    tab.reload()
    expect(sidebar).to_be_hidden()
    tab.keyboard.press("Control+b")
    expect(tab.get_by_label("Close the sidebar")).to_be_focused()
    tab.set_viewport_size({"width": 1023, "height": 700})
    expect(sidebar).not_to_be_in_viewport()
    opener.click()
    expect(sidebar).to_be_in_viewport()
    tab.set_viewport_size({"width": 1024, "height": 700})
    expect(tab.locator("#sidebar-backdrop")).to_be_hidden()
    tab.get_by_label("Message", exact=True).fill("It can be written again.")


def test_the_sidebar_keeps_its_place_when_it_is_loaded_anew(chat: Page) -> None:
    chat.get_by_label("Conversation menu").click()
    chat.get_by_role("button", name="Archive").click()
    chat.get_by_role("button", name="Archived conversations").focus()
    chat.keyboard.press("Enter")
    back = chat.get_by_role("button", name="All conversations")
    expect(back).to_be_focused()
    chat.locator("#sidebar-list").dispatch_event("sidebar-refresh")
    chat.wait_for_load_state("networkidle")
    expect(back).to_be_focused()
