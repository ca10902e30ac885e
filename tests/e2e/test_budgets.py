"""A budget that runs out while somebody chats, and that an administrator raises."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from demo.api.protocol import ScriptedReply, text
from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Check, composer, create_administrator, say, wait_for_answer
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e


def set_tokens_a_day(page: Page, limit: int) -> None:
    page.get_by_label("Tokens a day", exact=True).select_option("At most")
    page.get_by_label("Tokens a day: at most").fill(str(limit))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messagelist")).to_contain_text("the budgets are set")


def test_a_budget_runs_low_runs_out_and_is_raised(
    page: Page,
    model: DemoServer,
    start_everlong: Callable[..., EverlongProcess],
    check: Check,
) -> None:
    server = start_everlong(
        ANTHROPIC_BASE_URL=model.base_url,
        ANTHROPIC_API_KEY="test",
        DEFAULT_MODEL="claude-sonnet-5-5",
        MODEL_RETRIES="0",
    )
    usage = {"input_tokens": 85_000}
    model.script.reply(ScriptedReply((text("Yes."),), usage=usage), when=is_chat)
    model.script.reply("Once more.", when=is_chat)
    create_administrator(page.context, server)
    administration = page.context.new_page()
    administration.goto(f"{server.url}/admin/spending/budget/")
    administration.get_by_label("Or a person, by name").fill("ada")
    administration.get_by_role("button", name="Go on").click()
    own = administration.url
    set_tokens_a_day(administration, 100_000)

    page.goto(server.url)
    line = page.locator("#budget-line")
    expect(line).to_be_hidden()
    say(page, "One?")
    wait_for_answer(page, 1)
    expect(line).to_contain_text("% of your budget for today is spent")
    check("a budget that runs low")
    say(page, "Two?")  # its request is as large as the one before
    expect(page.locator("#notice")).to_contain_text("Your budget for today is used up")
    expect(page.locator("#notice")).to_contain_text("Reading, search and export work as before")
    expect(composer(page)).to_have_value("Two?")
    page.reload()
    expect(line).to_be_visible()

    administration.goto(own)
    set_tokens_a_day(administration, 1_000_000)
    expect(line).to_be_hidden()
    composer(page).press("Enter")
    wait_for_answer(page, 2)


def test_the_pages_of_budgets_are_accessible(
    page: Page, empty_tab: Page, server: EverlongProcess, check: Check
) -> None:
    for path in ("", "site/", "user/1/"):
        page.goto(f"{server.url}/admin/spending/budget/{path}")
        check(f"budgets: {path}")
