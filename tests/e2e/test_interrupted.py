"""An answer that does not go on shows no cursor: it would promise more."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from demo.api.protocol import ScriptedReply, text, thinking
from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Start, become_administrator, say, wait_for_answer
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

BEGUN = "The first block.\n\nAnd the second, of which only"
BLINKING = "document.getAnimations().filter((each) => each.animationName === 'blink').length"


def cursors(page: Page, number: int) -> None:
    """Wait until so many cursors blink."""
    page.wait_for_function(f"(number) => {BLINKING} === number", arg=number)


def wait_for_checkpoint(server: EverlongProcess, text: str) -> None:
    """Until the text of the running answer is stored."""
    begun = "SELECT text FROM chat_message WHERE status = 'streaming'"
    deadline = time.monotonic() + PATIENCE
    with closing(
        sqlite3.connect(Path(server.environment["DATA_DIR"], "everlong.sqlite3"))
    ) as database:
        while text not in str(database.execute(begun).fetchall()):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_the_cursor_goes_with_the_connection_and_does_not_come_back_on_an_interrupted_answer(
    start_everlong: Start, small_window: dict[str, str], model: DemoServer, page: Page
) -> None:
    server = start_everlong(**small_window, LEASE_SECONDS="1.5")
    become_administrator(page, server)
    model.script.reply("Hi!", when=is_chat)
    say(page, "Hello")
    wait_for_answer(page, 1)
    model.script.stall(BEGUN, when=is_chat)
    say(page, "Tell me")
    article = page.locator("article").last
    expect(article.locator(".tail")).to_contain_text("of which only")
    cursors(page, 1)
    wait_for_checkpoint(server, "of which only")
    server.kill()
    cursors(page, 0)
    expect(page.locator("#connection-banner")).to_be_visible()
    server.start()
    expect(article).to_have_attribute("data-status", "interrupted")
    expect(article).to_contain_text("of which only")
    expect(article.locator(".live")).to_have_count(0)
    cursors(page, 0)
    page.reload()
    expect(article).to_contain_text("of which only")
    expect(article.get_by_role("button", name="Retry")).to_be_visible()
    cursors(page, 0)


def test_a_stopped_and_a_failed_answer_have_no_cursor(tab: Page, scripted: DemoServer) -> None:
    gate = scripted.script.stall(BEGUN, when=is_chat)
    say(tab, "Tell me")
    expect(tab.locator(".tail")).to_contain_text("of which only")
    cursors(tab, 1)
    tab.locator("#stop").click()
    expect(tab.locator(".stopped")).to_be_visible()
    cursors(tab, 0)
    gate.release()
    scripted.script.cut(BEGUN, when=is_chat)
    say(tab, "Once more")
    expect(tab.locator(".error-card")).to_be_visible()
    expect(tab.locator("article").last).to_contain_text("of which only")
    cursors(tab, 0)
    tab.reload()
    expect(tab.locator(".error-card")).to_be_visible()
    cursors(tab, 0)


@pytest.mark.parametrize("stopped", [False, True])
def test_the_end_of_an_answer_leaves_what_is_selected_and_opened(
    tab: Page, scripted: DemoServer, *, stopped: bool
) -> None:
    pieces = ("The first block.\n\nThe second.\n\nThe third, of which only", " the end lacks.")
    content = ScriptedReply((thinking("Let me see."), text("".join(pieces))), pieces=pieces)
    gate = scripted.script.pause(content, 3, when=is_chat)
    say(tab, "Tell me")
    article = tab.locator("article").last
    expect(article.locator(".tail")).to_contain_text("of which only")
    expect(article.locator(".done")).to_contain_text("The second.")
    article.locator(".thinking summary").click()
    expect(article.locator(".thinking .row-body")).to_be_visible()
    article.evaluate(
        "node => getSelection().setBaseAndExtent(node.querySelector('.done p').firstChild, 4,"
        " node.querySelector('.done p:nth-of-type(2)').firstChild, 3)"
    )
    selected: str = tab.evaluate("String(getSelection())")
    assert selected.split() == ["first", "block.", "The"]
    if stopped:
        tab.keyboard.press("Escape")  # a click would select nothing
        expect(article.locator(".stopped")).to_be_visible()
    gate.release()
    expect(article.locator(".actions")).to_be_attached()
    assert tab.evaluate("String(getSelection())") == selected
    expect(article.locator(".live, .tail")).to_have_count(0)
    expect(article.locator(".thinking .row-body")).to_contain_text("Let me see.")
    expect(article.locator(".thinking .row-body")).to_be_visible()
    cursors(tab, 0)
    shown = article.evaluate("node => node.innerHTML")
    tab.reload()
    expect(article.locator(".thinking")).not_to_have_attribute("open", "")
    assert article.evaluate("node => node.innerHTML") == shown.replace(' open=""', "")
