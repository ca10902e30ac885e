"""What people do with single messages, and in conversations of thousands of them."""

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import SecondWindow, Talk, answers, composer, wait_for_answer

pytestmark = pytest.mark.e2e


@pytest.fixture
def chat(talk: Talk) -> Page:
    """An open conversation of two exchanges."""
    return talk(
        ("What is a queue?", "Answer number **1**."), ("And a stack?", "Answer number **2**.")
    )


def user_message(page: Page, text: str):  # type: ignore[no-untyped-def]
    return page.locator("article[data-role=user]", has_text=text)


def press(page: Page, message, label: str) -> None:  # type: ignore[no-untyped-def]
    message.hover()
    message.get_by_role("button", name=label).click()


def delete(page: Page, message) -> None:  # type: ignore[no-untyped-def]
    press(page, message, "More about this message")
    page.locator(".message-menu").get_by_role("button", name="Delete message").click()
    page.locator("#dialog").get_by_role("button", name="Delete").click()


def test_edit_and_switch_between_the_variants_in_both_tabs(
    chat: Page, scripted: DemoServer, second_window: SecondWindow
) -> None:
    other = second_window(chat)
    expect(answers(other)).to_have_count(2)
    press(chat, user_message(chat, "And a stack?"), "Edit message")
    area = chat.get_by_role("textbox", name="Edit message")
    expect(area).to_have_value("And a stack?")
    area.fill("And a heap?")
    scripted.script.reply("A heap is a tree.", when=is_chat)
    area.press("Control+Enter")
    for tab in (chat, other):
        expect(answers(tab)).to_have_count(2)
        expect(tab.locator("#transcript")).to_contain_text("A heap is a tree.")
        expect(tab.locator("#transcript")).not_to_contain_text("And a stack?")
        expect(user_message(tab, "And a heap?").locator(".variants")).to_contain_text("2/2")
    press(chat, user_message(chat, "And a heap?"), "Previous version")
    for tab in (chat, other):
        expect(user_message(tab, "And a stack?").locator(".variants")).to_contain_text("1/2")
        expect(tab.locator("#transcript")).to_contain_text("Answer number 2.")
        expect(tab.locator("#transcript")).not_to_contain_text("heap")
    # The button that can go on has the focus: the keyboard goes on where it was.
    expect(chat.get_by_role("button", name="Next version")).to_be_focused()
    chat.keyboard.press("Enter")
    expect(chat.locator("#transcript")).to_contain_text("A heap is a tree.")
    chat.reload()
    expect(user_message(chat, "And a heap?").locator(".variants")).to_contain_text("2/2")


def test_an_edit_is_kept_when_its_form_leaves_the_page(
    chat: Page, scripted: DemoServer, second_window: SecondWindow
) -> None:
    press(chat, user_message(chat, "And a stack?"), "Edit message")
    chat.get_by_role("textbox", name="Edit message").fill("And a heap?")
    # Another tab answers the first message again: the page begins anew there, and comes back.
    other = second_window(chat)
    scripted.script.reply("Another one.", when=is_chat)
    press(other, answers(other).first, "Answer again")
    expect(chat.locator(".edit-form")).to_have_count(0)
    wait_for_answer(chat, 1)
    press(chat, answers(chat).first, "Previous version")
    chat.set_viewport_size({"width": 360, "height": 400})
    press(chat, user_message(chat, "And a stack?"), "Edit message")
    expect(chat.get_by_role("textbox", name="Edit message")).to_have_value("And a heap?")
    expect(chat.locator(".edit-form .primary")).to_be_in_viewport(ratio=1)


def test_answer_again_keeps_the_old_answer(chat: Page, scripted: DemoServer) -> None:
    scripted.script.reply("Another one.", when=is_chat)
    press(chat, answers(chat).nth(1), "Answer again")
    expect(answers(chat).nth(1)).to_contain_text("Another one.")
    expect(answers(chat).nth(1).locator(".variants")).to_contain_text("2/2")
    expect(answers(chat)).to_have_count(2)


def test_copy_gives_the_markdown(chat: Page) -> None:
    chat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(chat, answers(chat).nth(0), "Copy message")
    expect(chat.locator("#status")).to_have_text("Copied")
    assert chat.evaluate("navigator.clipboard.readText()") == "Answer number **1**."


def test_after_the_last_message_is_deleted_the_next_one_is_sent(
    chat: Page, scripted: DemoServer
) -> None:
    delete(chat, answers(chat).nth(1))
    expect(answers(chat)).to_have_count(1)
    expect(composer(chat)).to_be_focused()  # what had the focus is gone
    scripted.script.reply("Here it is again.", when=is_chat)
    chat.keyboard.type("Say that again")
    chat.keyboard.press("Enter")
    wait_for_answer(chat, 2)
    expect(chat.locator("#notice")).to_be_hidden()


def test_after_edit_and_answer_again_the_keyboard_is_in_the_message_box(
    chat: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Another one.", when=is_chat)
    press(chat, answers(chat).nth(1), "Answer again")
    expect(answers(chat).nth(1)).to_contain_text("Another one.")
    expect(composer(chat)).to_be_focused()
    scripted.script.reply("A third one.", when=is_chat)
    press(chat, user_message(chat, "And a stack?"), "Edit message")
    area = chat.get_by_role("textbox", name="Edit message")
    area.fill("And a heap?")
    area.press("Control+Enter")
    expect(answers(chat).nth(1)).to_contain_text("A third one.")
    expect(composer(chat)).to_be_focused()


def test_what_is_left_out_or_deleted_is_so_in_every_tab(
    chat: Page, second_window: SecondWindow
) -> None:
    other = second_window(chat)
    press(chat, answers(chat).nth(1), "More about this message")
    chat.get_by_role("button", name="Leave out of the context").click()
    chat.locator("#dialog").get_by_role("button", name="Whole exchange").click()
    for tab in (chat, other):
        expect(tab.locator("article[data-left-out]")).to_have_count(2)
    more = answers(chat).nth(1).get_by_role("button", name="More about this message")
    expect(more).to_be_focused()
    other.reload()
    back = answers(other).nth(1).get_by_role("button", name="Put back")
    back.focus()
    back.press("Enter")
    other.locator("#dialog").get_by_role("button", name="Put back").press("Enter")
    for tab in (chat, other):
        expect(tab.locator("article[data-left-out]")).to_have_count(1)

    delete(chat, user_message(chat, "What is a queue?"))
    for tab in (chat, other):
        expect(user_message(tab, "What is a queue?")).to_have_count(0)
        expect(answers(tab)).to_have_count(2)
    expect(composer(chat)).to_be_editable()
