"""The first minutes of a new site without a key, in the browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import PASSWORD, answers, say, set_up
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e


def test_from_the_link_to_a_compacted_chat_with_the_demo_and_an_orderly_end(
    start_everlong: Callable[..., EverlongProcess], page: Page
) -> None:
    server = start_everlong(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="", DEMO_TOKENS_PER_SECOND="0")
    page.goto(server.url)
    expect(page.locator(".first-start")).to_contain_text("set-up link that the server printed")
    set_up(page, server)

    page.goto(server.url + server.setup_path)
    expect(page.get_by_role("heading")).to_have_text("This link is no longer valid")

    page.goto(f"{server.url}/account/logout/")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator(".first-start")).to_have_count(0)
    page.goto(f"{server.url}/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")

    expect(page.locator(".demo-banner")).to_contain_text("not an AI")
    for number in range(1, 11):
        say(page, f"Tell me about topic {number}.")
        expect(answers(page)).to_have_count(number)
        if page.locator(".divider").count():
            break
    expect(page.locator(".divider")).to_contain_text("Conversation compacted")

    page.close()
    assert "demo server" in server.log
    assert server.stop() == 0
