"""A session that ends while pages are open: they show nothing, lose nothing, and go on when their
person is back."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import PASSWORD, Start, become_administrator, composer, say, wait_for_answer
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e

# As Back brings a page that the browser has kept (chromium-headless-shell keeps none).
COME_BACK = "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
FILE = {"name": "a.py", "mimeType": "text/plain", "buffer": b"print(1)"}


def sign_in(page: Page, server: EverlongProcess, name: str = "ada") -> None:
    page.goto(f"{server.url}/account/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")


def sign_out(page: Page, server: EverlongProcess) -> None:
    page.goto(f"{server.url}/account/logout/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(re.compile("/account/login/"))


def shown(page: Page) -> str:
    return page.locator("body").inner_text()


@pytest.fixture
def other_tab(chat: Page, server: EverlongProcess) -> Page:
    """A tab beside `chat`, in a session of this walk: the one that all walks share lives on."""
    other = chat.context.new_page()
    chat.context.clear_cookies()
    sign_in(other, server)
    expect(chat.locator("#cover")).to_be_hidden()
    return other


def test_after_a_sign_out_no_tab_shows_anything_and_all_go_on_after_the_next_sign_in(
    chat: Page, other_tab: Page, server: EverlongProcess, scripted: DemoServer
) -> None:
    start = chat.context.new_page()
    start.goto(server.url)
    composer(start).fill("A letter " * 200)
    composer(chat).fill("Half a thought")
    memories = chat.context.new_page()
    memories.goto(f"{server.url}/memories/")
    memories.locator("#memory-new").fill("I like tea.")
    sign_out(other_tab, server)
    for tab in chat, start, memories:
        expect(tab.locator("#cover")).to_contain_text("You were signed out. Nothing that")
        assert "Hi!" not in shown(tab)
        assert "A title" not in shown(tab)
        expect(tab).to_have_title("Everlong")
    link = chat.get_by_role("link", name="Sign in again")
    expect(link).to_have_attribute("href", re.compile(r"/account/login/\?next=%2Fc%2F"))
    chat.keyboard.press("Escape")
    chat.keyboard.press("Escape")
    assert "Hi!" not in shown(chat)
    sign_in(other_tab, server)
    for tab in chat, start, memories:
        expect(tab.locator("#cover")).to_be_hidden()
    # Nothing needs a reload: forms, uploads, a first message, dialogs, the socket.
    memories.get_by_role("button", name="Remember").click()
    expect(memories.get_by_role("list")).to_contain_text("I like tea.")
    start.set_input_files("#file-input", [FILE])  # type: ignore[list-item]
    expect(start.locator("#tray li")).to_contain_text("tokens")
    scripted.script.reply("Thank you.", when=is_chat)
    composer(start).press("Enter")
    wait_for_answer(start, 1)
    expect(composer(chat)).to_have_value("Half a thought")
    scripted.script.reply("And the other half?", when=is_chat)
    composer(chat).press("Enter")
    wait_for_answer(chat, 2)
    expect(chat.locator("#connection-banner")).to_be_hidden()
    expect(chat.locator("#notice")).to_be_hidden()


def test_a_kept_page_that_comes_back_after_a_sign_out_shows_nothing(
    chat: Page, other_tab: Page, server: EverlongProcess
) -> None:
    chat.evaluate(COME_BACK)
    expect(chat.get_by_text("Hi!")).to_be_visible()
    # It hears of nothing while it is kept.
    chat.evaluate("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
    sign_out(other_tab, server)
    chat.evaluate(COME_BACK)
    expect(chat.get_by_text("Hi!")).to_be_hidden()
    expect(chat.locator("#cover")).to_contain_text("You were signed out")


@pytest.fixture
def bob(server: EverlongProcess) -> Iterator[str]:
    """Somebody else with an account."""
    users = "from accounts.models import User; User.objects"
    make = f'{users}.create_user("bob", password="{PASSWORD}")'
    manage(server.environment, "shell", "--command", make)
    yield "bob"
    manage(server.environment, "shell", "--command", f'{users}.get(username="bob").delete()')


def test_nothing_is_sent_or_shown_from_ones_page_while_somebody_else_is_signed_in(
    chat: Page, other_tab: Page, server: EverlongProcess, bob: str
) -> None:
    composer(chat).fill("Dear diary")
    sign_out(other_tab, server)
    sign_in(other_tab, server, bob)
    expect(chat.locator("#cover")).to_contain_text("bob is signed in in this browser now")
    assert "Hi!" not in shown(chat)
    # Whatever a script of that page still asks for.
    with chat.expect_response(re.compile("/rename/")) as refused:
        chat.locator("#rename").evaluate("(form) => form.submit()")
    assert refused.value.status == 401
    assert "bob is signed in" in shown(chat)


def test_a_token_that_the_server_does_not_take_is_fetched_anew(
    chat: Page, other_tab: Page, context: BrowserContext, server: EverlongProcess
) -> None:
    def lose_token() -> None:
        for cookie in context.cookies():
            if not cookie["httpOnly"]:
                context.clear_cookies(name=cookie["name"])

    chat.get_by_label("Conversation menu").click()
    chat.get_by_role("button", name="Settings and system prompt").click()
    chat.get_by_label("System prompt").fill("Be brief.")
    lose_token()
    chat.get_by_role("button", name="Save").click()
    expect(chat.locator("#dialog")).to_be_hidden()
    # The page is older than the server, whose cookie has another name by now.
    chat.evaluate("document.documentElement.dataset.csrfCookie = 'old'")
    lose_token()
    chat.locator("#title").fill("Another title")
    chat.locator("#title").press("Enter")
    expect(chat).to_have_title("Another title · Everlong")
    expect(chat.locator("#notice")).to_be_hidden()


def test_whoever_was_signed_out_elsewhere_is_told_and_loses_nothing(chat: Page) -> None:
    cookies = chat.context.cookies()
    # Only the session is gone.
    for cookie in cookies:
        if cookie["httpOnly"]:
            chat.context.clear_cookies(name=cookie["name"])
    composer(chat).fill("/remember I like coffee.")
    composer(chat).press("Enter")
    expect(chat.locator("#cover")).to_contain_text("You were signed out")
    chat.context.add_cookies(cookies)  # type: ignore[arg-type]
    chat.evaluate("dispatchEvent(new Event('focus'))")
    expect(chat.locator("#cover")).to_be_hidden()
    expect(composer(chat)).to_have_value("/remember I like coffee.")
    expect(chat.locator("#connection-banner")).to_be_hidden()


def test_a_new_password_leaves_the_chat_open_in_the_browser_that_chose_it_and_ends_others(
    page: Page, start_everlong: Start
) -> None:
    demo = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "", "DEMO_TOKENS_PER_SECOND": "0"}
    server = start_everlong(**demo)
    become_administrator(page, server)
    cookies = page.context.cookies()
    say(page, "Hello")
    wait_for_answer(page, 1)
    other = page.context.new_page()
    other.goto(f"{server.url}/account/password/change/")
    other.locator("[name=oldpassword]").fill(PASSWORD)
    other.locator("[name=password1]").fill("battery horse staple")
    other.locator("[name=password2]").fill("battery horse staple")
    with (
        page.expect_websocket(),  # the old session's socket was closed
        other.expect_response(lambda response: response.request.method == "POST") as posted,
    ):
        other.get_by_role("button", name="Change password").click()
    assert posted.value.status == 302
    say(page, "Hello again")
    wait_for_answer(page, 2)
    expect(page.locator("#connection-banner")).to_be_hidden()

    other.close()
    page.context.clear_cookies()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # as another browser has them
    page.goto(server.url)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("battery horse staple")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")
