"""A member's whole way in one walk: an invitation, the provider of identities, most of a budget,
its end, a larger one, and the account switched off while an answer is being written."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from demo.api.protocol import ScriptedReply, text
from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import answers, become_administrator, composer, say
from tests.support.openid_provider import OpenIdProviderProcess
from tests.support.server import EverlongProcess
from tests.support.services import free_port

pytestmark = pytest.mark.e2e

GRACE = {
    "sub": "grace",
    "email": "grace@example.org",
    "email_verified": True,
    "preferred_username": "grace",
}
# $0.05 by the price of the model, and some tenths of a cent for the request.
DEAR = ScriptedReply((text("A dear answer."),), usage={"output_tokens": 5_000})


@pytest.fixture
def everlong(tmp_path: Path, site: Path, model: DemoServer) -> Iterator[EverlongProcess]:
    """A site that a provider of identities, on another origin, signs people in to."""
    issuer = f"http://localhost:{free_port()}"
    (tmp_path / "provider").mkdir()
    port = int(issuer.rpartition(":")[2])
    provider = OpenIdProviderProcess(tmp_path / "provider", port, [GRACE]).start()
    process = EverlongProcess(
        tmp_path,
        site,
        ANTHROPIC_BASE_URL=model.base_url,
        ANTHROPIC_API_KEY="test",
        DEFAULT_MODEL="claude-sonnet-5-5",
        MODEL_WINDOWS="claude-sonnet-5-5=200000",
        OIDC_ISSUER=issuer,
        OIDC_CLIENT_ID="everlong",
        OIDC_CLIENT_SECRET="shared-with-the-provider",
        OIDC_NAME="Example ID",
    ).start()
    process.url = process.url.replace("127.0.0.1", "localhost")
    yield process
    process.kill()
    provider.kill()


def invite(admin: Page, everlong: EverlongProcess) -> str:
    """The link by which one person comes in."""
    admin.goto(f"{everlong.url}/admin/accounts/invitation/add/")
    admin.get_by_role("button", name="Save", exact=True).click()
    return admin.locator("#content code").inner_text()


def allow(admin: Page, everlong: EverlongProcess, dollars: str) -> None:
    """Set what Grace may spend in a month."""
    admin.goto(f"{everlong.url}/admin/spending/budget/?group=&user=grace")
    admin.locator("select[name=money_month]").select_option(label="At most")
    admin.locator("input[name=money_month_most]").fill(dollars)
    admin.get_by_role("button", name="Save").click()
    expect(admin.locator(".messagelist .success")).to_be_visible()


def switch_off(admin: Page, everlong: EverlongProcess) -> None:
    admin.goto(f"{everlong.url}/admin/accounts/user/?q=grace")
    admin.get_by_role("link", name="grace", exact=True).click()
    admin.get_by_label("Active").uncheck()
    admin.get_by_role("button", name="Save", exact=True).click()
    expect(admin.locator(".messagelist .success")).to_be_visible()


def test_a_member_comes_in_spends_a_budget_and_is_put_out(
    page: Page, everlong: EverlongProcess, model: DemoServer, browser: Browser
) -> None:
    with browser.new_context() as office:
        admin = office.new_page()
        become_administrator(admin, everlong)
        page.goto(invite(admin, everlong))
        page.get_by_role("button", name="Continue with Example ID").click()
        page.get_by_role("button", name="grace", exact=True).click()
        page.wait_for_url(f"{everlong.url}/")

        allow(admin, everlong, "0.06")
        model.script.reply(DEAR, when=is_chat)
        say(page, "What does this cost?")
        expect(answers(page)).to_have_count(1)
        expect(page.locator("#budget-line")).to_contain_text("86 % of your budget")

        say(page, "And this?")
        expect(page.locator("[role=alert]", has_text="budget")).to_be_visible()
        expect(composer(page)).to_have_value("And this?")

        allow(admin, everlong, "9.00")
        model.script.reply("Now there is money.", when=is_chat)
        composer(page).press("Enter")
        expect(answers(page)).to_have_count(2)

        writing = model.script.stall("The beginning of ", then="the end.", when=is_chat)
        say(page, "Write a book.")
        page.get_by_text("The beginning of").wait_for()
        switch_off(admin, everlong)
        page.locator("#cover", has_text="You were signed out").wait_for()
        writing.release()
        page.goto(everlong.url)
        page.get_by_role("heading", name="Sign in").wait_for()
