"""A conversation of hundreds of messages: any part of it is at hand, and the page stays small."""

from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import SecondWindow, say, wait_until
from tests.e2e.talking import import_session
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

MESSAGES = 500
WRITTEN = 1_763_681_581.0  # all at once
MOST = 150  # in the document: static/js/transcript/paging.js


def numbers(page: Page) -> list[int]:
    script = "nodes => nodes.map(node => Number(node.dataset.number))"
    found: list[int] = page.locator("#transcript > article").evaluate_all(script)
    return found


def test_scroll_jump_and_come_back(
    empty_tab: Page,
    server: EverlongProcess,
    scripted: DemoServer,
    second_window: SecondWindow,
    tmp_path: Path,
) -> None:
    page = empty_tab
    page.goto(import_session(server, tmp_path / "s.jsonl", [WRITTEN] * MESSAGES, "A long story"))
    expect(page.locator(f"#message-{MESSAGES}")).to_be_in_viewport()
    assert len(numbers(page)) <= 60

    # What comes below does not take away what is being read at the top of a full window.
    other = second_window(page)
    while (first := numbers(page)[0]) > MESSAGES - MOST + 1:
        page.locator("#transcript > article").first.scroll_into_view_if_needed()
        expect(page.locator(f"#message-{first - 1}")).to_be_attached()
    page.locator("#transcript > article").first.scroll_into_view_if_needed()
    scripted.script.reply("Read on.", when=is_chat)
    say(other, "Something new")
    expect(other.locator("#transcript > article").last).to_contain_text("Read on.")
    expect(page.locator("#later")).to_be_attached()
    expect(page.locator(f"#message-{first}")).to_be_in_viewport()
    other.close()
    page.reload()
    expect(page.locator(f"#message-{MESSAGES + 2}")).to_be_in_viewport()

    # Far upwards: older ones come, the newest leave the document, and nothing is missing between.
    for _ in range(7):
        first = numbers(page)[0]
        page.locator("#transcript > article").first.scroll_into_view_if_needed()
        expect(page.locator(f"#message-{first - 1}")).to_be_attached()
    shown = numbers(page)
    assert len(shown) <= MOST
    assert shown == list(range(shown[0], shown[-1] + 1))
    assert shown[-1] < MESSAGES
    latest = page.get_by_role("button", name="Latest")
    expect(latest).to_be_visible()

    # What could not be loaded says so, and can be asked for again.
    page.route("**/messages/?before=*", lambda route: route.abort())
    page.locator("#transcript > article").first.scroll_into_view_if_needed()
    again = page.get_by_role("button", name="Could not load these messages. Try again")
    expect(again).to_be_enabled()
    page.unroute("**/messages/?before=*")
    first = numbers(page)[0]
    again.click()
    expect(page.locator(f"#message-{first - 1}")).to_be_attached()

    # A link far back is one request.
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.evaluate("location.hash = '#m17'")
    expect(page.locator("#message-17")).to_be_in_viewport()
    expect(page.locator("#message-17")).to_be_focused()
    assert sum("around=" in url for url in requests) == 1

    # Downwards again from there.
    for _ in range(6):
        last = numbers(page)[-1]
        page.locator("#transcript > article").last.scroll_into_view_if_needed()
        expect(page.locator(f"#message-{last + 1}")).to_be_attached()
    shown = numbers(page)
    assert len(shown) <= MOST
    assert shown == list(range(shown[0], shown[-1] + 1))
    assert shown[0] > 1

    # What is sent meanwhile is shown at the end, and its answer, which ends before that has come.
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/messages/", lambda route: held.append((route, route.fetch())))
    gate = scripted.script.stall("The newest", then=" of all.", when=is_chat)
    say(page, "Still there?")
    expect(page.locator("#stop")).to_be_visible()
    wait_until(page, lambda: bool(held))
    gate.release()
    expect(page.locator("#send")).to_be_visible()
    ((loading, response),) = held
    loading.fulfill(response=response)
    expect(page.locator("#transcript > article").last).to_contain_text("The newest of all.")
    assert numbers(page)[-1] == MESSAGES + 4
    expect(latest).to_be_hidden()

    # A link opened anew goes there at once.
    page.goto(f"{page.url.partition('#')[0]}#message-234")
    page.reload()
    expect(page.locator("#message-234")).to_be_in_viewport()


def test_a_link_to_another_branch_offers_to_show_it(tab: Page, scripted: DemoServer) -> None:
    for reply in ("One.", "Two."):
        scripted.script.reply(reply, when=is_chat)
        if reply == "One.":
            say(tab, "Count!")
        else:
            tab.get_by_role("button", name="Answer again").click()
        expect(tab.locator("#transcript")).to_contain_text(reply)
        expect(tab.locator("#send")).to_be_visible()
    tab.evaluate("location.hash = '#m2'")
    tab.get_by_role("button", name="Show that branch").click()
    expect(tab.locator("#transcript")).to_contain_text("One.")
    tab.evaluate("location.hash = '#m99'")
    expect(tab.locator("#notice")).to_contain_text("no message #99: the newest is #2")

    # A hit of the search leads there at once.
    tab.locator("#sidebar-search").fill("two in:here")
    hit = tab.locator(".hits a")
    expect(hit).to_contain_text("on another branch")
    hit.click()
    expect(tab.locator("#transcript")).to_contain_text("Two.")
    expect(tab.locator("#message-3")).to_be_focused()
