"""The first message, and what is done before it."""

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, Talk, composer, say, wait_for_answer, wait_until

pytestmark = pytest.mark.e2e


def test_a_first_message_is_sent_once_however_long_enter_is_held(
    tab: Page, scripted: DemoServer
) -> None:
    posted: list[str] = []
    tab.on("request", lambda request: posted.append(request.url) if request.method == "POST" else 0)
    scripted.script.reply("Hi!", when=is_chat)
    composer(tab).fill("Hello, only once")
    tab.evaluate("window.startPage = true")
    for _ in range(5):
        tab.keyboard.down("Enter")  # from the second on a repetition, as of a held key
    tab.keyboard.up("Enter")
    wait_for_answer(tab, 1)
    assert len([url for url in posted if url.endswith("/c/")]) == 1
    assert tab.evaluate("window.startPage"), "the chat came without another page"
    expect(tab.locator("#sidebar-list [aria-current=page]")).to_have_count(1)
    tab.go_back()
    expect(composer(tab)).to_have_value("")


def test_a_first_message_that_cannot_be_sent_is_kept_with_its_file(
    tab: Page, scripted: DemoServer
) -> None:
    file = {"name": "a.py", "mimeType": "text/plain", "buffer": b"print(1)"}
    tab.set_input_files("#file-input", [file])
    expect(tab.locator("#tray li")).to_contain_text("tokens")
    tab.get_by_label("Temporary chat").check()
    tab.context.set_offline(True)
    say(tab, "A long letter")
    expect(tab.locator("#notice")).to_contain_text("Your text is kept")
    tab.context.set_offline(False)
    expect(composer(tab)).to_have_value("A long letter")
    expect(tab.get_by_label("Temporary chat")).to_be_checked()
    cookies = tab.context.cookies()
    tab.context.clear_cookies()
    composer(tab).press("Enter")
    expect(tab.locator("#notice")).to_contain_text("Your text is kept")
    tab.context.add_cookies(cookies)  # type: ignore[arg-type]
    tab.reload()
    expect(composer(tab)).to_have_value("A long letter")
    expect(tab.locator("#tray li")).to_have_count(1)
    # The words of a starter do not take the draft's place.
    scripted.script.reply("Gladly.", when=is_chat)
    tab.get_by_role("button", name="Plan a project").click()
    wait_for_answer(tab, 1)
    tab.goto(tab.url.split("/c/")[0])
    expect(composer(tab)).to_have_value("A long letter")
    # Where the chat does not come in place of the page, its page is loaded.
    tab.route(
        "**/c/*/", lambda r: r.abort() if "fetch" in r.request.resource_type else r.continue_()
    )
    scripted.script.reply("A fine letter.", when=is_chat)
    composer(tab).press("Enter")
    wait_for_answer(tab, 1)
    tab.unroute("**/c/*/")
    expect(tab.locator("article[data-role=user] .chip")).to_have_count(1)
    tab.goto(tab.url.split("/c/")[0])
    expect(composer(tab)).to_have_value("")
    expect(tab.locator("#tray li")).to_have_count(0)


def test_commands_on_the_start_page_are_not_sent_to_the_model(tab: Page) -> None:
    # The server reads the list of models once its port is open.
    other = tab.locator("#model option[value=other-model]")
    wait_until(tab, lambda: bool(tab.reload() and other.count()))
    say(tab, "/help")
    expect(tab.locator("#help")).to_be_visible()
    tab.keyboard.press("Escape")
    say(tab, "/model other")
    expect(tab.locator("#model")).to_have_value("other-model")
    say(tab, "/remember I like tea.")
    expect(tab.locator("#notice")).to_contain_text("I like tea.")
    expect(composer(tab)).to_have_value("")
    say(tab, "/compact")
    expect(tab.locator("#notice")).to_contain_text("once the conversation has started")
    expect(composer(tab)).to_have_value("/compact")
    expect(tab.locator("#transcript")).to_have_count(0)
    composer(tab).fill("")
    composer(tab).press_sequentially("/")
    expect(tab.locator("#slash-menu li")).to_have_count(4)


def test_the_start_page_leads_back_to_where_a_conversation_stood(
    talk: Talk, scripted: DemoServer
) -> None:
    tab = talk(("Count words", "Words, **counted**."))
    address = tab.url
    tab.goto(address.split("/c/")[0])
    newest = tab.get_by_role("region", name="Continue").get_by_role("link").first
    expect(newest).to_contain_text("Words, counted.")
    for number in 2, 3:
        scripted.script.reply("More words. " * 200, when=is_chat)
        if number == 2:
            newest.click()
            tab.wait_for_url(address)
        say(tab, "And more?")
        wait_for_answer(tab, number)
    decided = "## Decisions\n- Count words [#1]"
    scripted.script.reply(SUMMARY.replace("## Decisions\nNone.", decided), when=is_summary)
    say(tab, "/compact")
    expect(tab.locator(".divider")).to_be_visible()
    tab.goto(address.split("/c/")[0])
    expect(newest).to_contain_text("Decided")
    expect(newest).to_contain_text("Count words")
    expect(newest).not_to_contain_text("[#1]")
