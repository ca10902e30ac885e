"""axe-core on lists, banners, the pages of the signed out and of faults, and the administration."""

import re
from urllib.parse import urlsplit

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Page, Route, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    PASSWORD,
    SUMMARY,
    Check,
    Start,
    Talk,
    check_dialog,
    say,
    set_up,
    wait_for_answer,
)
from tests.shots import ANSWERS
from tests.support.server import ROOT, EverlongProcess

pytestmark = pytest.mark.e2e


def test_no_list_and_no_banner_breaks_a_rule(
    page: Page, start_everlong: Start, check: Check
) -> None:
    """On the demo server, from its set-up to the sign-out and its end: the menus of the sidebar,
    archived and temporary chats, memory."""
    server = start_everlong(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="", DEMO_TOKENS_PER_SECOND="0")
    page.goto(server.url)
    page.locator(".first-start").wait_for()
    check("a new site")
    page.goto(server.url + server.setup_path)
    check("first run")
    set_up(page, server)
    check("the demo's banner")
    page.click(".user-menu summary")
    check("the user's menu")
    say(page, "Hello")
    wait_for_answer(page, 1)
    say(page, "/remember I like short answers")
    page.locator("#notice", has_text="Remembered").wait_for()
    check("remembered")
    page.click("#conversation-menu summary")
    page.get_by_role("button", name="Archive", exact=True).click()
    page.wait_for_url(f"{server.url}/")
    page.get_by_role("button", name="Archived conversations").click()
    page.get_by_role("heading", name="Archived").wait_for()
    check("archived conversations")
    page.fill("#sidebar-search", "xyzzy")
    page.locator(".group-empty").wait_for()
    check("a search without hits")
    page.get_by_label("Temporary chat").check()
    say(page, "Nobody keeps this.")
    wait_for_answer(page, 1)
    check("a temporary chat")
    page.click("#conversation-menu summary")
    page.get_by_role("button", name="Settings and system prompt").click()
    page.fill("#dialog [name=threshold]", "99")
    page.eval_on_selector("#dialog form", "form => { form.noValidate = true; }")
    page.get_by_role("button", name="Save").click()
    page.locator("#dialog .field.invalid").wait_for()
    check_dialog(page, check, "settings that are refused")
    page.goto(f"{server.url}/memories/")
    page.locator(".memory-list").wait_for()
    check("memory")
    page.goto(f"{server.url}/projects/")
    page.get_by_label("New project").fill("Sea trip")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/projects/*-*/")
    page.locator("#memory-new").fill("We sail in May")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator(".memory-list li").wait_for()
    check("a project")
    page.get_by_role("link", name="Delete…").click()
    page.locator("#keep-memories").wait_for()
    check("deleting a project")
    page.goto(f"{server.url}/projects/")
    check("projects")
    page.goto(server.url)
    page.fill("#sidebar-search", "")  # what was searched for is still there
    page.locator(".project-toggle").click()
    check("a project in the list")
    page.goto(f"{server.url}/account/logout/")
    check("sign out")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{server.url}/account/login/")
    check("sign in")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    say(page, "Hello again")
    wait_for_answer(page, 1)
    address = page.url
    page.goto(server.url)
    page.locator("#recent").wait_for()
    check("conversations to continue")
    page.goto(address)
    server.kill()
    page.locator("#connection-banner", has_text="Reconnecting").wait_for()
    check("not connected")


SIGNED_OUT = (
    *("login", "signup", "inactive", "password/reset", "password/reset/done"),
    "password/reset/key/1-x/",
)


def test_no_page_of_the_signed_out_and_of_faults_breaks_a_rule(
    page: Page, server: EverlongProcess, check: Check
) -> None:
    for path in SIGNED_OUT:
        page.goto(f"{server.url}/account/{path.rstrip('/')}/")
        check(path)
    page.goto(f"{server.url}/account/login/")
    page.fill("[name=login]", "nobody")
    page.fill("[name=password]", "wrong")
    page.click("button[type=submit]")
    page.locator(".error-card").wait_for()
    check("a wrong password")
    page.goto(f"{server.url}/setup/x/")
    check("a set-up link that is not valid")
    # They cannot be had for the asking, so the templates are served in place of a page.
    page.route("**/fault-*", fault)
    page.route(re.compile(r"/static/\w+/\w+\.(css|js)$"), source)
    for code in "400", "403", "403_csrf", "404", "500":
        page.goto(f"{server.url}/fault-{code}")
        expect(page.locator("main h1")).to_be_visible()
        check(code)


def fault(route: Route) -> None:
    html = render_to_string(f"{route.request.url.rpartition('-')[2]}.html")
    route.fulfill(body=html, content_type="text/html")


def source(route: Route) -> None:
    """A static file under its own name; the server has only those with a hash."""
    route.fulfill(path=ROOT / urlsplit(route.request.url).path.lstrip("/"))


# Of the rows of a list that differ in words and numbers only, both stripes: other walks fill pages.
TWO_OF_A_KIND = """() => {
    const kinds = new Map();
    const list = document.querySelector("#result_list tbody");
    for (const row of list?.rows ?? []) {
        const kind = row.outerHTML.replace(/>[^<]+</g, "><").replace(/"[^"]*\\d[^"]*"/g, "");
        kinds.set(kind, [...(kinds.get(kind) ?? []), row]);
    }
    list?.replaceChildren(...[...kinds.values()].flatMap((rows) => rows.slice(0, 2)));
}"""


def test_no_page_of_the_administration_breaks_a_rule(
    talk: Talk,
    server: EverlongProcess,
    scripted: DemoServer,
    check: Check,
) -> None:
    """The index, every list with its search and filters, and a row of each."""
    said = [(f"Question number {n}?", answer) for n, answer in enumerate(ANSWERS, 1)]
    tab = talk(*said, ("/compact", SUMMARY))
    tab.locator(".divider").wait_for()
    scripted.script.error(400, when=is_chat)
    say(tab, "What fails?")
    tab.locator("article[data-status=failed]").wait_for()
    tab.goto(f"{server.url}/admin/")
    tab.locator(".fault-bar").first.wait_for()
    check("index")
    lists = hrefs(tab, "#content-main th a")
    assert len(lists) > 5
    for address in lists:
        tab.goto(server.url + address)
        rows = hrefs(tab, "#result_list tbody tr:first-child th a")
        adding = hrefs(tab, ".object-tools .addlink")
        tab.evaluate(TWO_OF_A_KIND)
        check(address)
        if rows:
            tab.goto(server.url + rows[0])
            check(rows[0])
        if adding:
            tab.goto(server.url + adding[0])
            check(adding[0])
    for model, action in (("compaction", "revert"), ("conversation", "hand_over")):
        tab.goto(f"{server.url}/admin/chat/{model}/")
        tab.check("#action-toggle")
        tab.select_option("[name=action]", action)
        tab.click("button[name=index]")
        tab.locator(".confirm").wait_for()
        check(f"the question of {action}")


def hrefs(page: Page, links: str) -> list[str]:
    return [link.get_attribute("href") or "" for link in page.locator(links).all()]
