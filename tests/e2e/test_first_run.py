"""The first minutes of a new site without a key, in the browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import PASSWORD, answers, say, set_up
from tests.support.server import EverlongProcess
from tests.support.services import free_port

pytestmark = pytest.mark.e2e


def test_from_the_link_to_a_compacted_chat_with_the_demo_and_an_orderly_end(
    start_everlong: Callable[..., EverlongProcess], page: Page
) -> None:
    port = str(free_port())
    server = start_everlong(
        ANTHROPIC_API_KEY="",
        ANTHROPIC_BASE_URL="",
        DEMO_TOKENS_PER_SECOND="0",
        PORT=port,
        PUBLIC_URL=f"http://127.0.0.1:{port}/some/chat",  # whatever a page asks for is below it
    )
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status == 404 else None)
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

    expect(page.locator("#demo-banner")).to_contain_text("not an AI")
    for number in range(1, 11):
        say(page, f"Tell me about topic {number}.")
        expect(answers(page)).to_have_count(number)
        if page.locator(".divider").count():
            break
    expect(page.locator(".divider")).to_contain_text("Conversation compacted")

    # Chats take each other's place without a new page.
    page.evaluate("window.sameWindow = true")
    page.locator("#new-chat").click()
    expect(page).to_have_url(f"{server.url}/")
    page.go_back()
    expect(answers(page).last).to_be_visible()
    assert page.evaluate("window.sameWindow")
    assert [each for each in failed if "/setup/" not in each] == []

    page.close()
    assert "demo server" in server.log
    assert server.stop() == 0
