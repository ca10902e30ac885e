"""A conversation is shared, read by somebody else, and shared no longer."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.conftest import PASSWORD, Check, Talk, make_new
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e

MAKE_A_READER = f"""
from accounts.models import User
User.objects.create_user("grace", password="{PASSWORD}")
"""
DELETE_THE_READER = """
from accounts.models import User
User.objects.get(username="grace").delete()
"""
MAKE_IT_LONG = """
from chat.models import Conversation, Message
talk = Conversation.objects.latest("created_at")
last = talk.messages.order_by("number").last()
for number in range(last.number + 1, 101):
    last = Message.objects.create(
        conversation=talk, parent=last, number=number, position=number - 1, role="assistant",
        blocks=[{"type": "text", "text": f"This is number {number}. See [#2] and [#99]."}],
    )
"""


@pytest.fixture
def read(server: EverlongProcess, second_profile: BrowserContext):  # type: ignore[no-untyped-def]
    """`read(link)`: the page of a link for somebody else, who signs in on the way."""
    run(server, MAKE_A_READER)

    def follow(link: str) -> Page:
        page = second_profile.new_page()
        page.goto(link)
        page.get_by_label("Username").fill("grace")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(link)
        return page

    yield follow
    make_new(second_profile)
    run(server, DELETE_THE_READER)  # other walks have the server to one person


def run(server: EverlongProcess, script: str) -> None:
    manage(server.environment, "shell", "--verbosity", "0", "--command", script)


def test_a_link_is_made_copied_read_and_revoked(
    talk: Talk, read: Callable[[str], Page], check: Check
) -> None:
    page = talk(("Hello", "Hi!"), ("And the rest?", "All **done**."))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    article = page.locator("#message-2")
    article.hover()
    article.get_by_role("button", name="More about this message").click()
    page.get_by_role("button", name="Share up to here").click()
    expect(page.get_by_label("Up to message #2")).to_be_checked()
    check("the dialog without links")
    page.get_by_role("button", name="Make a link").click()
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    check("the dialog with a link")
    page.keyboard.press("Escape")
    reader = read(link)
    expect(reader.locator("article")).to_have_count(2)
    expect(reader.get_by_text("Shared by ada")).to_be_visible()
    page.get_by_role("button", name="Shared", exact=True).click()
    page.get_by_role("button", name="Stop sharing").click()
    expect(page.locator(".shares li")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Shared", exact=True)).to_have_count(0)
    answer = reader.goto(link)
    assert answer is not None
    assert answer.status == 404


def test_a_long_conversation_loads_on_and_follows_links_to_messages(
    talk: Talk, server: EverlongProcess, check: Check
) -> None:
    page = talk(("Hello", "Hi!"))
    run(server, MAKE_IT_LONG)
    page.click("#conversation-menu summary")
    page.get_by_role("button", name="Share…").click()
    page.get_by_label("All of it").check()
    page.get_by_role("button", name="Make a link").click()
    page.goto(page.get_by_label("Link", exact=True).input_value())
    expect(page.locator("#message-1")).to_be_in_viewport()
    check("a shared conversation")
    page.locator("#message-20").get_by_role("link", name="#99").click()
    expect(page.locator("#message-99")).to_be_in_viewport()
    page.locator("#message-99").get_by_role("link", name="#2", exact=True).click()
    expect(page.locator("#message-2")).to_be_in_viewport()
