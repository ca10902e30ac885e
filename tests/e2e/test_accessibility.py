"""axe-core on every page and dialog of the chat: no violation, no rule switched off, nothing left
out; in the dark theme all rules that look at colours. And the main job with the keyboard alone."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from django.template.loader import render_to_string
from playwright.sync_api import Page, Route, expect

from demo.api.protocol import ScriptedReply, thinking, tool_use
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, SecondWindow, Start, composer, say, set_up, wait_for_answer
from tests.shots import ANSWERS, TWO_FRAMES
from tests.support.server import ROOT, EverlongProcess

pytestmark = pytest.mark.e2e

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 800}
EVERY_RULE: dict[str, object] = {"resultTypes": ["violations"]}
# The only ones to which another theme is another page.
OF_COLOURS = EVERY_RULE | {"runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture
def check(page: Page) -> Callable[[str], None]:
    """`check("what is shown")`: axe, then its colours in the dark; and nothing moves for those who
    want it so."""
    axe = Axe(f"if (!window.axe) {{ {AXE_SCRIPT} }}")  # once a page

    def run(state: str) -> None:
        for theme, rules in (("light", EVERY_RULE), ("dark", OF_COLOURS)):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            page.evaluate(TWO_FRAMES)
            found = axe.run(page, options=rules).response["violations"]
            told = [
                f"{state}, {theme}: {each['id']}: {node['html'][:160]} {node['failureSummary']}"
                for each in found
                for node in each["nodes"]
            ]
            assert not told, "\n".join(told)
            moving = page.evaluate("document.getAnimations().map((a) => a.animationName)")
            assert not moving, (state, moving)

    return run


def dialog(page: Page, check: Callable[[str], None], name: str) -> None:
    page.locator("#dialog[open]").wait_for()
    check(name)
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()


def test_no_page_and_no_dialog_breaks_a_rule(
    tab: Page,
    server: EverlongProcess,
    scripted: DemoServer,
    check: Callable[[str], None],
) -> None:
    check("a new chat")
    for number, answer in enumerate(ANSWERS, 1):
        scripted.script.reply(answer, when=is_chat)
        say(tab, f"Question number {number}?")
        wait_for_answer(tab, number)
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
    tab.get_by_role("button", name="Edit message").last.click()
    check("a message that is edited")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Delete message").last.click()
    dialog(tab, check, "delete a message")
    composer(tab).press_sequentially("/")
    check("commands")
    tab.keyboard.press("Escape")
    composer(tab).fill("")
    tab.keyboard.press("Control+/")
    check("help")
    tab.keyboard.press("Escape")
    tab.click("#conversation-menu summary")
    check("menu")
    tab.get_by_role("button", name="Settings and system prompt").click()
    dialog(tab, check, "settings")
    tab.click("#conversation-menu summary")
    tab.get_by_role("button", name="Delete conversation").click()
    dialog(tab, check, "delete the conversation")
    tab.click("#gauge")
    tab.locator("#gauge-panel .plot").wait_for()
    check("context panel")
    tab.click("#compact-now")
    tab.locator("#dialog[open]").wait_for()
    check("preview")
    scripted.script.reply(SUMMARY, when=is_summary)
    tab.click("#compact-form button[type=submit]")
    tab.locator(".divider .summary summary").click()
    check("the summary")
    tab.get_by_role("button", name="Edit", exact=True).click()
    dialog(tab, check, "edit the summary")
    tab.get_by_role("button", name="Revert", exact=True).click()
    dialog(tab, check, "revert the summary")
    scripted.script.error(400, when=is_chat)
    say(tab, "This one fails.")
    tab.locator("article[data-status=failed]").wait_for()
    check("a failed answer")
    tab.set_viewport_size(PHONE)  # type: ignore[arg-type]
    check("phone")
    tab.click("#sidebar-open")
    check("drawer")
    tab.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
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
    tab: Page,
    scripted: DemoServer,
    check: Callable[[str], None],
) -> None:
    """What a reader sees while the model thinks, calls, writes and compacts, and fails to."""
    script = scripted.script
    answered = 0
    for words in "Hello", "And?", "Good.", "Next.":
        script.reply("An answer. " * 40, when=is_chat)
        say(tab, words)
        wait_for_answer(tab, answered := answered + 1)
    call = tool_use("recall", {"query": "colours"})
    paused = script.pause(ScriptedReply((thinking("First the one thing. " * 40), call)), 2)
    gate = script.stall("## What I found\n\nNothing", then=" is remembered.", when=is_chat)
    say(tab, "What colours do I like?")
    tab.locator("details.row.thinking.running[open]").wait_for()
    check("thinking")
    paused.release()
    assert gate.reached.wait(60)
    tab.locator("article[data-status=streaming]", has_text="Nothing").wait_for()
    for row in tab.locator("details.row > summary").all():
        row.click()
    check("an answer that streams, with its rows open")
    gate.release()
    wait_for_answer(tab, answered + 2)
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
    tab.locator(".divider summary").click()
    tab.get_by_role("button", name="Edit", exact=True).click()
    tab.fill("#dialog textarea", "## Overview\n- It runs on db-prod-9.example.org [#1]")
    tab.get_by_role("button", name="Save").click()
    tab.locator("#summary-findings").wait_for()
    dialog(tab, check, "what the saved summary says that no message does")
    tab.click("#gauge")
    tab.click("#compact-now")
    tab.locator("#dialog[open]", has_text="nothing to compact").wait_for()
    dialog(tab, check, "nothing to compact")
    composer(tab).fill("/nonsense")
    composer(tab).press("Enter")
    tab.locator("#notice").wait_for()
    check("an unknown command")


def test_a_chat_that_went_on_elsewhere_breaks_no_rule(
    page: Page,
    start_everlong: Start,
    small_window: dict[str, str],
    model: DemoServer,
    second_window: SecondWindow,
    check: Callable[[str], None],
) -> None:
    server = start_everlong(**small_window)
    set_up(page, server)
    model.script.reply("Here.", when=is_chat)
    say(page, "From this tab")
    wait_for_answer(page, 1)
    page.context.set_offline(True)
    other = second_window(page)
    model.script.reply("Elsewhere.", when=is_chat)
    say(other, "From the other tab")
    wait_for_answer(other, 2)
    say(page, "From this tab again")
    page.context.set_offline(False)
    page.get_by_role("button", name="Send as branch").wait_for()
    check("continued in another tab")
    server.kill()
    page.locator("#connection-banner", has_text="Reconnecting").wait_for()
    check("not connected")


def test_no_list_and_no_banner_breaks_a_rule(
    page: Page, start_everlong: Start, check: Callable[[str], None]
) -> None:
    """On the demo server, from its set-up to the sign-out: the menus of the sidebar, archived and
    temporary chats, memory."""
    server = start_everlong(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="", DEMO_TOKENS_PER_SECOND="0")
    page.goto(server.url + server.setup_path)
    check("first run")
    set_up(page, server)
    check("the demo's banner")
    page.click(".user-menu summary")
    check("the user's menu")
    say(page, "Hello")
    wait_for_answer(page, 1)
    say(page, "/remember I like short answers")
    page.locator("#notice", has_text="Remembered").wait_for()
    check("remembered")
    page.click("#conversation-menu summary")
    page.get_by_role("button", name="Archive", exact=True).click()
    page.wait_for_url(f"{server.url}/")
    page.get_by_role("button", name="Archived conversations").click()
    page.get_by_role("heading", name="Archived").wait_for()
    check("archived conversations")
    page.fill("#sidebar-search", "xyzzy")
    page.locator(".group-empty").wait_for()
    check("a search without hits")
    page.get_by_label("Temporary chat").check()
    say(page, "Nobody keeps this.")
    wait_for_answer(page, 1)
    check("a temporary chat")
    page.click("#conversation-menu summary")
    page.get_by_role("button", name="Settings and system prompt").click()
    page.fill("#dialog [name=threshold]", "99")
    page.eval_on_selector("#dialog form", "form => { form.noValidate = true; }")
    page.get_by_role("button", name="Save").click()
    page.locator("#dialog .field.invalid").wait_for()
    dialog(page, check, "settings that are refused")
    page.goto(f"{server.url}/memories/")
    page.locator(".memory-list").wait_for()
    check("memory")
    page.goto(f"{server.url}/account/logout/")
    check("sign out")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{server.url}/account/login/")
    check("sign in")


SIGNED_OUT = (
    *("login", "signup", "inactive", "password/reset", "password/reset/done"),
    "password/reset/key/1-x/",
)


def test_no_page_of_the_signed_out_and_of_faults_breaks_a_rule(
    page: Page, server: EverlongProcess, check: Callable[[str], None]
) -> None:
    for path in SIGNED_OUT:
        page.goto(f"{server.url}/account/{path.rstrip('/')}/")
        check(path)
    page.goto(f"{server.url}/account/login/")
    page.fill("[name=login]", "nobody")
    page.fill("[name=password]", "wrong")
    page.click("button[type=submit]")
    page.locator(".error-card").wait_for()
    check("a wrong password")
    page.goto(f"{server.url}/setup/x/")
    check("a set-up link that is not valid")
    # They cannot be had for the asking, so the templates are served in place of a page.
    page.route("**/fault-*", fault)
    page.route(re.compile(r"/static/\w+/\w+\.(css|js)$"), source)
    for code in "400", "403", "403_csrf", "404", "500":
        page.goto(f"{server.url}/fault-{code}")
        expect(page.locator("main h1")).to_be_visible()
        check(code)


def fault(route: Route) -> None:
    html = render_to_string(f"{route.request.url.rpartition('-')[2]}.html")
    route.fulfill(body=html, content_type="text/html")


def source(route: Route) -> None:
    """A static file under its own name; the server has only those with a hash."""
    route.fulfill(path=ROOT / urlsplit(route.request.url).path.lstrip("/"))


def test_no_page_of_the_administration_breaks_a_rule(
    tab: Page,
    server: EverlongProcess,
    scripted: DemoServer,
    check: Callable[[str], None],
) -> None:
    """The index, every list with its search and filters, and a row of each."""
    for number, answer in enumerate(ANSWERS, 1):
        scripted.script.reply(answer, when=is_chat)
        say(tab, f"Question number {number}?")
        wait_for_answer(tab, number)
    scripted.script.reply(SUMMARY, when=is_summary)
    say(tab, "/compact")
    tab.locator(".divider").wait_for()
    tab.goto(f"{server.url}/admin/")
    check("index")
    lists = hrefs(tab, "#content-main th a")
    assert len(lists) > 5
    for address in lists:
        tab.goto(server.url + address)
        check(address)
        rows = hrefs(tab, "#result_list tbody th a")
        for row in rows[:1]:
            tab.goto(server.url + row)
            check(row)
        if adding := hrefs(tab, ".object-tools .addlink"):
            tab.goto(server.url + adding[0])
            check(adding[0])
    tab.goto(f"{server.url}/admin/chat/compaction/")
    tab.check("#action-toggle")
    tab.select_option("[name=action]", "revert")
    tab.click("button[name=index]")
    tab.locator(".confirm").wait_for()
    check("an action's question")


def hrefs(page: Page, links: str) -> list[str]:
    return [link.get_attribute("href") or "" for link in page.locator(links).all()]


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
    assert gate.reached.wait(10)
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
    tab_to(tab, "Model", "Shift+Tab")
    tab_to(tab, "Message")
    keys.type("/cont")
    keys.press("Enter")  # the menu's first: /context
    expect(tab.locator("#gauge-panel")).to_be_visible()
    keys.press("Escape")
    keys.press("Control+k")
    expect(tab.locator("#sidebar-search")).to_be_focused()
    keys.press("Control+Shift+o")
    tab.wait_for_url(re.compile(r"/$"))
    expect(composer(tab)).to_be_focused()


NAME = """() => {
  const { ariaLabel, labels, textContent } = document.activeElement;
  return ariaLabel || labels?.[0]?.textContent || textContent.trim();
}"""


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Tab until what has a name has the focus."""
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate(NAME) == name:
            return
    raise AssertionError(f"{name} cannot be reached")
