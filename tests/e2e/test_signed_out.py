"""A session that ends while the page is open."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import PASSWORD, Start, become_administrator, composer, say, wait_for_answer

pytestmark = pytest.mark.e2e


def test_whoever_was_signed_out_is_told_and_loses_nothing(chat: Page) -> None:
    listed = chat.locator("#sidebar-list")
    expect(listed.locator("a[aria-current=page]")).to_have_text("A title")
    # As after a sign-out elsewhere: only the session is gone.
    chat.context.clear_cookies(name=re.compile("session"))
    composer(chat).fill("/remember I like coffee.")
    composer(chat).press("Enter")
    banner = chat.locator("#connection-banner")
    expect(banner).to_contain_text("You were signed out")
    expect(composer(chat)).to_have_value("/remember I like coffee.")
    chat.locator("#title").fill("Another title")
    chat.locator("#title").press("Enter")
    expect(chat.locator("#notice")).to_contain_text("could not be changed")
    chat.get_by_label("Conversation menu").click()
    chat.get_by_role("button", name="Settings and system prompt").click()
    expect(chat.locator("#dialog")).to_be_hidden()
    chat.locator("#sidebar-search").fill("hello")
    expect(listed).to_contain_text("A title")
    expect(listed.locator("form")).to_have_count(0)
    expect(banner.get_by_role("link", name="Sign in again")).to_have_attribute(
        "href", re.compile(r"/account/login/\?next=%2Fc%2F")
    )


def test_a_sign_out_in_another_tab_is_shown_and_keeps_the_draft(chat: Page) -> None:
    composer(chat).fill("Half a thought")
    sockets: list[str] = []
    chat.on("websocket", lambda socket: sockets.append(socket.url))
    # A session of its own, so that the one that all walks share lives on.
    other = chat.context.browser.new_context()  # type: ignore[union-attr]
    page = other.new_page()
    server = re.match(r"https?://[^/]+", chat.url)[0]  # type: ignore[index]
    page.goto(f"{server}/account/login/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server}/")
    chat.context.clear_cookies(name=re.compile("session"))
    chat.context.add_cookies(other.cookies())  # type: ignore[arg-type]
    chat.reload()
    expect(composer(chat)).to_have_value("Half a thought")
    sockets.clear()
    page.goto(f"{server}/account/logout/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(re.compile("/account/login/"))
    expect(chat.locator("#connection-banner")).to_contain_text("You were signed out")
    expect(composer(chat)).to_have_value("Half a thought")
    assert len(sockets) <= 1, "it asks once whether the browser has a new session, and no more"
    other.close()


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
