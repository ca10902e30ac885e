"""An import in the page: a file comes in pieces over a line that breaks, and its report is read."""

import json

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.e2e.conftest import Check
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

TALK = [
    {"role": "system", "value": "Be brief."},
    {"from": "human", "value": "Which bread keeps longest?"},
    {"from": "gpt", "value": "Rye with sourdough."},
]


def test_a_file_is_sent_over_a_line_that_breaks_and_its_report_leads_to_the_chat(
    tab: Page, server: EverlongProcess, check: Check
) -> None:
    broken: list[Route] = []

    def break_once(route: Route) -> None:
        if broken:
            route.continue_()
        else:
            broken.append(route)
            route.abort("connectionreset")

    tab.route("**/imports/pieces/**", break_once)
    tab.goto(f"{server.url}/imports/")
    check("imports, before the first")
    export = json.dumps([{"id": "bread", "conversations": TALK}]).encode()
    file: FilePayload = {"name": "talks.json", "mimeType": "application/json", "buffer": export}
    tab.set_input_files("[name=files]", [file])
    expect(tab.get_by_role("heading", name="Report")).to_be_visible()
    assert len(broken) == 1
    expect(tab.locator(".import-status")).to_have_text("Done")
    check("the report of an import")
    tab.locator(".import-table tbody a").click()
    bodies = tab.locator("article .body")
    expect(bodies).to_have_text(["Which bread keeps longest?", "Rye with sourdough."])
