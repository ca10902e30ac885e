"""The message box: files by button, paste and drop; commands; two tabs at once; temporary chats."""

import re

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, SecondWindow, Talk, answers, composer, say, wait_for_answer

pytestmark = pytest.mark.e2e

# A file that comes by the clipboard or the mouse, as browsers hand it over.
HAND_OVER = """
([kind, selector]) => {
  const data = new DataTransfer();
  data.items.add(new File(["print('x')"], "script.py", { type: "text/x-python" }));
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.querySelector(selector).dispatchEvent(event);
}
"""


def test_files_are_pasted_dropped_refused_removed_and_sent(
    chat: Page, scripted: DemoServer
) -> None:
    chips = chat.locator("#tray li")
    chat.evaluate(HAND_OVER, ["paste", "#composer-text"])
    expect(chips).to_have_count(1)
    chat.evaluate(HAND_OVER, ["drop", "#scroller"])
    expect(chips).to_have_count(2)
    expect(chips.nth(1)).to_contain_text("tokens")
    broken = {"name": "tool.exe", "mimeType": "image/png", "buffer": b"MZ\x90\x00"}
    chat.set_input_files("#file-input", [broken])
    expect(chat.locator("#notice")).to_contain_text("tool.exe cannot be sent")
    expect(chips).to_have_count(2)
    with chat.expect_response(lambda response: response.request.method == "DELETE") as removed:
        chips.nth(0).get_by_role("button", name="Remove script.py").click()
    assert removed.value.status == 204
    expect(chips).to_have_count(1)
    chat.evaluate("document.querySelector('#composer').dataset.mostBytes = 5")
    chat.set_input_files("#file-input", [broken | {"name": "large.png"}])
    # Small enough to be sent, and refused by the server.
    expect(chat.locator("#notice")).to_contain_text("large.png cannot be sent")
    large = broken | {"name": "large.png", "buffer": b"MZ" * 9}
    chat.set_input_files("#file-input", [large, broken])  # one by the page, one by the server
    expect(chat.locator("#notice")).to_contain_text("large.png is")
    expect(chat.locator("#notice")).to_contain_text("tool.exe cannot be sent")
    expect(chips).to_have_count(1)
    chat.reload()  # the draft keeps its files
    expect(chips).to_have_count(1)
    scripted.script.reply("A short script.", when=is_chat)
    chat.locator("#send").click()
    wait_for_answer(chat, 2)
    expect(chips).to_have_count(0)
    content = scripted.script.requests[-1].body["messages"][-1]["content"]
    sent = [block["source"]["data"] for block in content if block["type"] == "document"]
    assert sent == ["print('x')"]
    with chat.expect_download() as download:
        chat.locator("article a.chip").click()
    assert download.value.suggested_filename == "script.py"


def test_a_chat_that_went_on_elsewhere_can_be_continued_as_a_branch(
    chat: Page, scripted: DemoServer, second_window: SecondWindow
) -> None:
    # This tab misses what the other one does.
    chat.context.set_offline(True)
    other = second_window(chat)
    scripted.script.reply("Elsewhere.", when=is_chat)
    say(other, "From the other tab")
    wait_for_answer(other, 2)
    composer(chat).fill("From this tab")
    composer(chat).press("Enter")
    chat.context.set_offline(False)
    # Back online, it learns of the other message first and asks.
    notice = chat.locator("#notice")
    expect(notice).to_contain_text("continued in another tab")
    expect(composer(chat)).to_have_value("From this tab")
    scripted.script.reply("Here.", when=is_chat)
    chat.get_by_role("button", name="Send as branch").click()
    expect(answers(chat).nth(1)).to_contain_text("Here.")
    expect(chat.locator("#transcript")).not_to_contain_text("From the other tab")
    expect(chat.locator(".variants").first).to_contain_text("2/2")


@pytest.mark.parametrize("way", ["link", "command", "shortcut", "back"])
def test_a_temporary_chat_is_not_listed_and_gone_when_left(
    chat: Page, scripted: DemoServer, way: str
) -> None:
    expect(chat.locator("#sidebar-list [aria-current=page]")).to_have_count(1)
    listed = chat.locator("#sidebar-list a").count()
    chat.get_by_role("link", name="New chat").click()
    chat.get_by_label("Temporary chat").check()
    file = {"name": "secret.txt", "mimeType": "text/plain", "buffer": b"secret"}
    chat.set_input_files("#file-input", [file])
    expect(chat.locator("#tray li")).to_contain_text("tokens")
    scripted.script.reply("Nobody will know.", when=is_chat)
    say(chat, "A secret")
    wait_for_answer(chat, 1)
    url = chat.url
    expect(chat.locator("#sidebar-list a")).to_have_count(listed)
    chat.reload()
    expect(answers(chat)).to_have_count(1)  # a reload is not leaving
    with chat.expect_download():
        chat.locator("article a.chip").click()
    other = chat.context.new_page()
    other.goto(url.split("/c/")[0])  # neither is a second tab
    other.wait_for_load_state("networkidle")
    assert chat.request.get(url).status == 200
    with chat.expect_response(re.compile("/c/change/$")) as deleted:
        if way == "link":
            chat.get_by_role("link", name="New chat").click()
        elif way == "command":
            say(chat, "/new")
        elif way == "shortcut":
            chat.keyboard.press("Control+Shift+o")
        else:
            chat.go_back()
    assert deleted.value.status == 204
    assert chat.request.get(url).status == 404


def test_commands_choose_a_model_and_save_the_chat(chat: Page) -> None:
    say(chat, "/model no-such-model")
    expect(chat.locator("#notice")).to_contain_text("No model is called")
    expect(composer(chat)).to_have_value("/model no-such-model")
    composer(chat).fill("")
    with chat.expect_download() as download:
        say(chat, "/export json")
    assert download.value.suggested_filename.endswith(".json")
    size = chat.viewport_size
    assert size
    chat.set_viewport_size({"width": 1280, "height": 240})  # lower than what the dialogs hold
    say(chat, "/help")
    expect(chat.locator("#help")).to_contain_text("/export")
    expect(chat.locator("#help-title")).to_be_in_viewport()
    chat.keyboard.press("Escape")
    chat.locator("#compact-now").dispatch_event("click")
    expect(chat.locator("#dialog h2")).to_be_in_viewport()
    chat.keyboard.press("Escape")
    chat.set_viewport_size(size)
    say(chat, "/system")
    expect(chat.locator("#dialog")).to_contain_text("system prompt", ignore_case=True)


def test_while_compacting_the_box_says_why_it_is_locked_and_how_far_it_is(
    talk: Talk, scripted: DemoServer
) -> None:
    tab = talk(*((f"Question {n}?", "The answer has some words. " * 60) for n in range(1, 5)))
    tab.set_viewport_size({"width": 360, "height": 560})
    lock = tab.locator("#composer #composer-lock")
    expect(lock).to_be_hidden()
    gate = scripted.script.stall(SUMMARY[:40], then=SUMMARY[40:], when=is_summary)
    composer(tab).fill("A draft")
    tab.click("#gauge")
    expect(tab.locator("#gauge-panel")).to_be_in_viewport(ratio=1)
    tab.click("#compact-now")
    facts = tab.locator("#compact-form .details:visible")
    expect(facts).to_have_css("white-space", "normal")  # a long one is not cut off
    tab.click("#compact-form button[type=submit]")
    tab.locator("#transcript > article").first.scroll_into_view_if_needed()
    expect(lock).to_be_in_viewport(ratio=1)
    expect(lock).to_contain_text("Compacting the conversation… Your text is kept.")
    expect(tab.locator(".spinner:visible")).to_have_count(1)
    expect(tab.locator(".how-far:visible")).to_have_text([re.compile(r"^\d+ s$")])
    expect(lock.locator(".how-far, .spinner")).to_have_count(2)
    expect(composer(tab)).to_have_value("A draft")
    expect(composer(tab)).not_to_be_editable()
    expect(composer(tab)).to_have_attribute("placeholder", "")
    expect(composer(tab)).to_have_css("caret-color", "rgba(0, 0, 0, 0)")
    expect(tab.locator("#composer")).to_have_css("box-shadow", "none")
    body = tab.locator("body").evaluate("node => getComputedStyle(node).color")
    expect(composer(tab)).to_have_css("color", body)  # as readable as before
    gate.release()
    expect(lock).to_be_hidden()
    expect(composer(tab)).to_be_editable()
    expect(composer(tab)).to_have_attribute("placeholder", re.compile("Write a message"))
    expect(composer(tab)).to_have_value("A draft")
