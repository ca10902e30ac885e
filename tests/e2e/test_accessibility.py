"""axe-core on the chat, with its dialogs and its states of work. And the main job with the keyboard
alone."""

import re

import pytest
from playwright.sync_api import Page, expect

from demo.api.protocol import ScriptedReply, thinking, tool_use
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    SUMMARY,
    Check,
    SecondWindow,
    Talk,
    check_dialog,
    composer,
    say,
    wait_for_answer,
)
from tests.shots import ANSWERS
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 800}


def test_no_page_and_no_dialog_breaks_a_rule(
    tab: Page,
    talk: Talk,
    server: EverlongProcess,
    scripted: DemoServer,
    check: Check,
) -> None:
    check("a new chat")
    # All that an answer can hold: where it matters, for each of its hundreds of nodes takes time.
    talk(*((f"Question number {n}?", answer) for n, answer in enumerate(ANSWERS, 1)))
    tab.set_input_files(
        "#file-input", [{"name": "a.py", "mimeType": "text/plain", "buffer": b"print(1)"}]
    )
    tab.locator("#tray li", has_text="tokens").wait_for()
    composer(tab).fill("With a file.")
    check("files to be sent")
    scripted.script.reply("Seen.", when=is_chat)
    composer(tab).press("Enter")
    wait_for_answer(tab, 5)
    scripted.script.reply("Seen again.", when=is_chat)
    tab.get_by_role("button", name="Answer again").last.click()
    tab.locator(".variants").last.wait_for()
    wait_for_answer(tab, 5)
    check("transcript with versions and files")
    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    check("phone")
    tab.click("#sidebar-open")
    check("drawer")
    tab.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    talk(*((f"Question number {n}?", "An answer. " * 60) for n in range(1, 5)))
    tab.get_by_role("button", name="Edit message").last.click()
    check("a message that is edited")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="More about this message").last.click()
    check("menu of a message")
    tab.get_by_role("button", name="Leave out of the context").click()
    tab.locator("#dialog[open]").wait_for()
    check("leave a message out")
    tab.get_by_role("button", name="Whole exchange").click()
    tab.locator("article[data-left-out]").first.wait_for()
    check("messages that are left out")
    tab.get_by_role("button", name="More about this message").last.click()
    tab.get_by_role("button", name="Delete message").click()
    check_dialog(tab, check, "delete a message")
    composer(tab).press_sequentially("/")
    check("commands")
    tab.keyboard.press("Escape")
    composer(tab).fill("")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("question")
    tab.locator("#palette .hit-text").first.wait_for()
    check("palette")
    tab.keyboard.press("Escape")
    tab.keyboard.press("Control+/")
    check("help")
    tab.keyboard.press("Escape")
    tab.click("#conversation-menu summary")
    check("menu")
    tab.get_by_role("button", name="Settings and system prompt").click()
    check_dialog(tab, check, "settings")
    tab.get_by_role("button", name="Options of").first.click()
    check("the menu of a conversation in the list")
    tab.get_by_role("button", name="Select several").click()
    tab.locator("#selection").wait_for()
    check("several conversations are chosen")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Options of").first.click()
    tab.get_by_role("button", name="Rename").last.click()
    check_dialog(tab, check, "rename a conversation")
    tab.click("#gauge")
    tab.locator("#gauge-panel .plot").wait_for()
    expect(tab.locator("#budget")).to_have_css("border-radius", "8px")  # its styles came with it
    check("context panel")
    tab.click("#compact-now")
    tab.locator("#dialog[open]").wait_for()
    check("preview")
    scripted.script.reply(SUMMARY, when=is_summary)
    tab.click("#compact-form button[type=submit]")
    tab.locator(".divider .summary > summary").click()
    check("the summary")
    tab.get_by_role("button", name="Edit", exact=True).click()
    check_dialog(tab, check, "edit the summary")
    tab.get_by_role("button", name="Revert", exact=True).click()
    check_dialog(tab, check, "revert the summary")
    scripted.script.error(400, when=is_chat)
    say(tab, "This one fails.")
    tab.locator("article[data-status=failed]").wait_for()
    check("a failed answer")
    tab.fill("#sidebar-search", "Question")
    tab.locator(".hits a").first.wait_for()
    check("hits of a search")
    tab.goto(f"{server.url}/memories/")
    check("memory")
    tab.goto(f"{server.url}/account/password/change/")
    check("change the password")
    tab.goto(f"{server.url}/c/00000000-0000-0000-0000-000000000000/")
    check("not found")


def test_no_state_of_work_breaks_a_rule(
    talk: Talk,
    scripted: DemoServer,
    check: Check,
) -> None:
    """What a reader sees while the model thinks, calls, writes and compacts, and fails to."""
    script = scripted.script
    tab = talk(*((words, "An answer. " * 40) for words in ("Hello", "And?", "Good.", "Next.")))
    call = tool_use("recall", {"query": "colours"})
    paused = script.pause(ScriptedReply((thinking("First the one thing. " * 40), call)), 2)
    gate = script.stall("## What I found\n\nNothing", then=" is remembered.", when=is_chat)
    say(tab, "What colours do I like?")
    tab.locator("details.row.thinking.running[open]").wait_for()
    check("thinking")
    paused.release()
    assert gate.reached.wait(PATIENCE)
    tab.locator("article[data-status=streaming]", has_text="Nothing").wait_for()
    for row in tab.locator("details.row > summary").all():
        row.click()
    check("an answer that streams, with its rows open")
    gate.release()
    wait_for_answer(tab, 6)
    gate = script.stall(SUMMARY[:60], then=SUMMARY[60:], when=is_summary)
    say(tab, "/compact")
    tab.locator("#compact-cancel").wait_for()
    check("compacting")
    tab.click("#compact-cancel")
    tab.locator("#compaction-row.outcome").wait_for()
    check("cancelled")
    gate.release()
    script.error(400, when=is_summary, always=True)
    say(tab, "/compact")
    tab.locator(".divider, #compaction-row.failed").wait_for()
    check("a summary by rule, or none")
    script.clear()
    tab.locator(".divider .summary > summary").click()
    tab.get_by_role("button", name="Edit", exact=True).click()
    tab.locator(".statement textarea").first.fill("It runs on db-prod-9.example.org [#1]")
    tab.locator(".statement").first.get_by_role("button", name="Find a source").click()
    tab.locator(".statement-sources > *").first.wait_for()
    check("where a statement may come from")
    tab.get_by_role("button", name="Save").click()
    tab.locator("#summary-findings").wait_for()
    check_dialog(tab, check, "what the saved summary says that no message does")
    tab.click("#gauge")
    tab.click("#compact-now")
    tab.locator("#dialog[open]", has_text="nothing to compact").wait_for()
    check_dialog(tab, check, "nothing to compact")
    composer(tab).fill("/nonsense")
    composer(tab).press("Enter")
    tab.locator("#notice").wait_for()
    check("an unknown command")


def test_a_chat_that_went_on_elsewhere_breaks_no_rule(
    talk: Talk,
    scripted: DemoServer,
    second_window: SecondWindow,
    check: Check,
) -> None:
    tab = talk(("From this tab", "Here."))
    tab.context.set_offline(True)
    other = second_window(tab)
    scripted.script.reply("Elsewhere.", when=is_chat)
    say(other, "From the other tab")
    wait_for_answer(other, 2)
    say(tab, "From this tab again")
    tab.context.set_offline(False)
    tab.get_by_role("button", name="Send as branch").wait_for()
    check("continued in another tab")


def test_the_main_job_with_the_keyboard_alone(tab: Page, scripted: DemoServer) -> None:
    expect(composer(tab)).to_be_focused()
    keys = tab.keyboard
    scripted.script.reply("Hello!", when=is_chat)
    keys.type("Hi there")
    keys.press("Enter")
    wait_for_answer(tab, 1)
    expect(composer(tab)).to_be_focused()
    # Back to one's own message, and edit it.
    keys.press("Alt+ArrowUp")
    keys.press("Alt+ArrowUp")
    expect(tab.locator("article[data-role=user]")).to_be_focused()
    tab_to(tab, "Edit message")
    keys.press("Enter")
    expect(tab.get_by_role("textbox", name="Edit message")).to_be_focused()
    keys.press("Control+a")
    keys.type("Good evening")
    scripted.script.reply("Good evening!", when=is_chat)
    keys.press("Control+Enter")
    expect(tab.locator("#transcript")).to_contain_text("Good evening!")
    wait_for_answer(tab, 1)
    expect(composer(tab)).to_be_focused()
    # Stop an answer.
    gate = scripted.script.stall("Once upon a ti", when=is_chat)
    keys.type("A story, please")
    keys.press("Enter")
    assert gate.reached.wait(PATIENCE)
    tab_to(tab, "Stop the answer")
    keys.press("Enter")
    expect(tab.locator("article[data-status=interrupted]")).to_have_count(1)
    expect(composer(tab)).to_be_focused()
    # Compact, and read the summary.
    for number in (2, 3, 4):
        scripted.script.reply("A long answer. " * 100, when=is_chat)
        keys.type(f"Question {number}")
        keys.press("Enter")
        wait_for_answer(tab, number)
    scripted.script.reply(SUMMARY, when=is_summary)
    keys.type("/compact")
    keys.press("Enter")
    expect(tab.locator("#compaction-row")).to_contain_text("Compacted")
    expect(composer(tab)).to_be_focused()
    tab_to(tab, "View summary", "Shift+Tab")
    keys.press("Enter")
    expect(tab.locator(".divider .summary-body")).to_be_visible()
    # A dialog gives the focus back to where it was opened.
    tab_to(tab, "Conversation menu", "Shift+Tab")
    keys.press("Enter")
    tab_to(tab, "Settings and system prompt")
    keys.press("Enter")
    expect(tab.locator("#dialog")).to_be_visible()
    keys.press("Escape")
    expect(tab.locator("#conversation-menu summary")).to_be_focused()
    tab_to(tab, "Tools")
    keys.press("Enter")
    expect(tab.get_by_role("checkbox", name="Search in this chat")).to_be_focused()
    keys.press("Escape")
    tab_to(tab, "Message", "Shift+Tab")
    keys.type("/cont")
    keys.press("Enter")  # the menu's first: /context
    expect(tab.locator("#gauge-panel")).to_be_visible()
    keys.press("Escape")
    keys.press("Control+k")
    expect(tab.get_by_role("combobox", name="Search titles")).to_be_focused()
    keys.press("Escape")
    keys.press("Control+Shift+o")
    tab.wait_for_url(re.compile(r"/$"))
    expect(composer(tab)).to_be_focused()


NAME = """() => {
  const { ariaLabel, labels, textContent } = document.activeElement;
  return ariaLabel || labels?.[0]?.textContent || textContent.trim();
}"""


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Tab until what has a name has the focus."""
    for _ in range(90):
        page.keyboard.press(key)
        if page.evaluate(NAME) == name:
            return
    raise AssertionError(f"{name} cannot be reached")
