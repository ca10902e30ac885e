"""The first minute of a new site, in the browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e


def test_link_creates_the_administrator_who_signs_out_and_in_and_the_server_ends_in_order(
    start_everlong: Callable[..., EverlongProcess], page: Page
) -> None:
    server = start_everlong(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    link = server.url + server.setup_path

    page.goto(link)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill("correct horse battery")
    page.get_by_label("Password confirmation").fill("correct horse battery")
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url(f"{server.url}/")

    page.goto(link)
    expect(page.get_by_role("heading")).to_have_text("This link is no longer valid")

    page.goto(f"{server.url}/account/logout/")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{server.url}/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")

    page.close()
    assert "demo server" in server.log
    assert server.stop() == 0
