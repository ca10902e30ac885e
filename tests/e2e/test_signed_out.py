"""A session that ends while the page is open."""

import re

import pytest
from playwright.sync_api import Page, expect

from demo.script import is_chat
from demo.server import DemoServer
from tests.e2e.conftest import PASSWORD, Start, composer, say, set_up, wait_for_answer

pytestmark = pytest.mark.e2e


def test_whoever_was_signed_out_is_told_and_loses_nothing(tab: Page, scripted: DemoServer) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    listed = tab.locator("#sidebar-list")
    expect(listed.locator("a[aria-current=page]")).to_have_text("A title")
    # As after a sign-out elsewhere: only the session is gone.
    tab.context.clear_cookies(name="sessionid")
    composer(tab).fill("/remember I like coffee.")
    composer(tab).press("Enter")
    banner = tab.locator("#connection-banner")
    expect(banner).to_contain_text("You were signed out")
    expect(composer(tab)).to_have_value("/remember I like coffee.")
    tab.locator("#title").fill("Another title")
    tab.locator("#title").press("Enter")
    expect(tab.locator("#notice")).to_contain_text("could not be changed")
    tab.get_by_label("Conversation menu").click()
    tab.get_by_role("button", name="Settings and system prompt").click()
    expect(tab.locator("#dialog")).to_be_hidden()
    tab.locator("#sidebar-search").fill("hello")
    expect(listed).to_contain_text("A title")
    expect(listed.locator("form")).to_have_count(0)
    expect(banner.get_by_role("link", name="Sign in again")).to_have_attribute(
        "href", re.compile(r"/account/login/\?next=%2Fc%2F")
    )


def test_a_changed_password_signs_in_and_ends_other_sessions(
    page: Page, start_everlong: Start
) -> None:
    server = start_everlong()
    set_up(page, server)
    cookies = page.context.cookies()
    page.goto(f"{server.url}/account/password/change/")
    page.locator("[name=oldpassword]").fill(PASSWORD)
    page.locator("[name=password1]").fill("battery horse staple")
    page.locator("[name=password2]").fill("battery horse staple")
    with page.expect_response(lambda response: response.request.method == "POST") as posted:
        page.get_by_role("button", name="Change password").click()
    assert posted.value.status == 302
    page.context.clear_cookies()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # as another browser has them
    page.goto(server.url)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("battery horse staple")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")
