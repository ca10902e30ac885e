"""Moving in a long conversation: the days, going to a message or a day, both ends, and back."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.conftest import new_profile
from tests.e2e.conftest import Check, composer, say
from tests.e2e.talking import import_session, list_again
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

MESSAGES = 400
BEGAN = datetime(2026, 8, 1, tzinfo=UTC)
APART = timedelta(hours=3)  # so that a day has eight messages
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)  # for the browser: the morning after the last message
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
# By the messages before which they stand.
# The numbers of the messages, and the headings of days by the number of the message below.
SHOWN = """log => [
    [...log.querySelectorAll(":scope > article")].map(node => Number(node.dataset.number)),
    Object.fromEntries([...log.querySelectorAll("h3.day")].map(
        heading => [heading.nextElementSibling.dataset.number, heading.textContent]))]"""
NUMBERS = "nodes => nodes.map(node => Number(node.dataset.number))"
TOP = "node => node.getBoundingClientRect().top"
DELETE = """url => fetch(url, {method: "POST", headers: {
    "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content}})"""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def addresses() -> dict[int, str]:
    """Where the conversations of so many messages are that were imported already."""
    return {}


@pytest.fixture(scope="module")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """Of their own, for a clock that is set stays so."""
    with new_profile(browser) as made:
        made.new_page()
        yield made


@pytest.fixture
def opened(
    empty_tab: Page, server: EverlongProcess, tmp_path: Path, addresses: dict[int, str]
) -> Open:
    """`opened()`: the tab on a conversation of so many messages, for a reader in a time zone at a
    time. Walks with as many messages share the conversation."""

    devtools = empty_tab.context.new_cdp_session(empty_tab)

    def do(zone: str = "UTC", messages: int = MESSAGES, now: datetime = NOW) -> Page:
        devtools.send("Emulation.setTimezoneOverride", {"timezoneId": zone})
        if messages not in addresses:
            times = [(BEGAN + APART * n).timestamp() for n in range(messages)]
            title = f"A long way of {messages}"
            addresses[messages] = import_session(server, tmp_path / "s.jsonl", times, title)
        list_again(server, addresses[messages])
        empty_tab.clock.set_fixed_time(now)
        empty_tab.goto(addresses[messages])
        expect(empty_tab.locator(f"#message-{messages}")).to_be_in_viewport()
        return empty_tab

    return do


def numbers(page: Page) -> list[int]:
    found: list[int] = page.locator("#transcript > article").evaluate_all(NUMBERS)
    return found


def check_days(page: Page, hours_ahead: int) -> None:
    """Over the first message of each day on the page stands its name, by clocks that are ahead of
    Greenwich's."""

    def day(number: int) -> datetime:
        return BEGAN + APART * (number - 1) + timedelta(hours=hours_ahead)

    today = NOW + timedelta(hours=hours_ahead)
    names = {today.date(): "Today", (today - timedelta(days=1)).date(): "Yesterday"}
    # At one moment: more messages may come at any other.
    shown, headings = page.locator("#transcript").evaluate(SHOWN)
    firsts = [
        number
        for before, number in zip([None, *shown], shown, strict=False)
        if before is None or day(before).date() != day(number).date()
    ]
    expected = {
        str(number): names.get(day(number).date(), f"{day(number).day} {day(number):%b %Y}")
        for number in firsts
    }
    assert headings == expected


def test_each_day_has_its_name_by_the_readers_clock_wherever_the_page_is(
    opened: Open, check: Check
) -> None:
    for zone, hours_ahead in ("UTC", 0), ("Pacific/Auckland", 12):
        page = opened(zone)
        check_days(page, hours_ahead)
        for _ in range(6):  # the newest leave the document
            first = numbers(page)[0]
            page.locator("#transcript > article").first.scroll_into_view_if_needed()
            expect(page.locator(f"#message-{first - 1}")).to_be_attached()
            check_days(page, hours_ahead)
        assert numbers(page)[-1] < MESSAGES
        page.evaluate("location.hash = '#m200'")
        expect(page.locator("#message-200")).to_be_focused()
        check_days(page, hours_ahead)
        while numbers(page)[-1] < 330:  # the oldest leave it
            last = numbers(page)[-1]
            page.locator("#transcript > article").last.scroll_into_view_if_needed()
            expect(page.locator(f"#message-{last + 1}")).to_be_attached()
            check_days(page, hours_ahead)
    check("days")


def test_a_day_begins_with_what_is_written_and_keeps_its_name_when_its_first_message_goes(
    opened: Open, scripted: DemoServer
) -> None:
    page = opened(messages=20, now=datetime.now(UTC))
    page.set_viewport_size({"width": 1280, "height": 500})
    gate = scripted.script.stall("Good ", then="morning.", when=is_chat)
    say(page, "A new day")
    assert gate.reached.wait(PATIENCE)
    today = page.locator("h3.day", has_text=re.compile("^(Today|Yesterday)$"))
    expect(today).to_have_count(1)
    expect(page.locator("h3.day + #message-21")).to_be_attached()
    gate.release()
    expect(page.locator("#message-22")).to_contain_text("Good morning.")
    expect(today).to_have_count(1)

    # Of what is above the reader's place.
    reading, first = page.locator("#message-11"), page.locator("#message-9")
    reading.evaluate("node => node.scrollIntoView()")
    expect(page.locator("h3.day + #message-9")).to_be_attached()
    before: float = reading.evaluate(TOP)
    url = page.locator("#chat").get_attribute("data-messages-url")
    page.evaluate(DELETE, f"{url}{first.get_attribute('data-message-id')}/delete/")
    expect(page.locator("h3.day + #message-10")).to_be_attached()
    expect(page.locator("h3.day", has_text="2 Aug 2026")).to_have_count(1)
    assert abs(reading.evaluate(TOP) - before) < 2


def test_a_page_that_stayed_open_over_night_says_yesterday(opened: Open) -> None:
    page = opened()
    expect(page.locator("h3.day").last).to_have_text("Yesterday")
    page.clock.set_fixed_time(NOW - timedelta(days=1))
    page.reload()
    expect(page.locator(f"#message-{MESSAGES}")).to_be_in_viewport()
    expect(page.locator("h3.day").last).to_have_text("Today")
    page.clock.set_fixed_time(NOW)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("h3.day").last).to_have_text("Yesterday")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_one_goes_to_a_number_or_a_day_from_the_menu(
    opened: Open, check: Check, size: ViewportSize
) -> None:
    page = opened("Pacific/Auckland")
    page.set_viewport_size(size)
    dialog = page.get_by_role("dialog", name="Go to a message")

    def go_to(words: str) -> None:
        if not dialog.is_visible():
            page.get_by_label("Conversation menu").click()
            page.get_by_role("button", name="Go to a message").click()
        dialog.get_by_label("Message number or date").fill(words)
        page.keyboard.press("Enter")

    go_to("soon")
    expect(dialog).to_contain_text("“soon” is neither a message number nor a date such as 2026-10")
    check("a dialog that does not understand")
    go_to("2026-02-30")
    expect(dialog).to_contain_text("“2026-02-30” is neither")
    go_to("2026-10-12")
    expect(dialog).to_contain_text("Nothing was written here on 12 Oct 2026 or later.")
    go_to("2026-08-21")
    expect(dialog).to_be_hidden()
    # Its night began in Greenwich on the day before.
    expect(page.locator("#message-157")).to_be_focused()
    expect(page.locator("#message-157")).to_have_class(re.compile("found"))
    expect(page.locator("h3.day", has_text="21 Aug 2026")).to_be_in_viewport()
    go_to("#12")
    expect(page.locator("#message-12")).to_be_focused()
    expect(page.locator("#message-12")).to_be_in_viewport()
    go_to("401")
    expect(page.locator("#notice")).to_have_text(re.compile("no message #401: the newest is #400"))


def test_one_goes_to_a_number_or_a_day_by_a_command(opened: Open) -> None:
    page = opened()
    say(page, "/goto 12")
    expect(page.locator("#message-12")).to_be_focused()
    expect(composer(page)).to_have_value("")
    say(page, "/goto tomorrow")
    expect(page.locator("#notice")).to_contain_text("“tomorrow” is neither")
    expect(composer(page)).to_have_value("/goto tomorrow")
    say(page, "/goto 2026-09-01")
    expect(page.locator("#message-249")).to_be_focused()
    expect(composer(page)).to_have_value("")
    say(page, "/goto ")
    expect(page.get_by_label("Message number or date")).to_be_focused()


def test_home_and_end_lead_to_the_ends_of_the_conversation(opened: Open) -> None:
    page = opened()
    first, last = page.locator("#message-1"), page.locator(f"#message-{MESSAGES}")
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Control+Home")  # nothing is written there
    expect(first).to_be_in_viewport()
    expect(page.locator("#earlier")).to_have_count(0)
    expect(composer(page)).to_be_focused()
    page.keyboard.press("Control+End")
    expect(last).to_be_in_viewport()

    composer(page).fill("One line")
    page.keyboard.press("Home")
    page.keyboard.type("> ")
    page.keyboard.press("Control+Home")
    page.keyboard.type("# ")
    expect(composer(page)).to_have_value("# > One line")
    expect(first).to_have_count(0)

    page.keyboard.press("Alt+ArrowUp")
    expect(last).to_be_focused()
    page.keyboard.press("Home")
    expect(first).to_be_focused()
    expect(first).to_be_in_viewport()
    page.keyboard.press("End")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    expect(page.get_by_role("button", name="Latest")).to_be_hidden()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_back_leads_to_where_the_reader_was(opened: Open, size: ViewportSize) -> None:
    page = opened()
    page.set_viewport_size(size)
    say(page, "/goto 200")
    expect(page.locator("#message-200")).to_be_focused()
    # The first one on the screen is there in part.
    reading = page.locator("#message-204")
    reading.evaluate("node => { node.scrollIntoView(); scroller.scrollTop += 60; }")
    before: float = reading.evaluate(TOP)
    say(page, "/goto 12")
    expect(page.locator("#message-12")).to_be_focused()
    say(page, "/goto 999")  # leads nowhere, and back from there neither
    expect(page.locator("#notice")).to_contain_text("no message #999")
    expect(reading).to_have_count(0)

    page.go_back()
    expect(reading).to_be_focused()
    assert abs(reading.evaluate(TOP) - before) < 2
    page.go_forward()
    expect(page.locator("#message-12")).to_be_focused()
    page.go_back()
    expect(reading).to_be_focused()
    page.go_back()
    expect(page.locator(f"#message-{MESSAGES}")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Latest")).to_be_hidden()


def test_back_from_a_hit_of_the_search_leads_to_where_the_reader_was(opened: Open) -> None:
    page = opened()
    page.set_viewport_size(PHONE)
    page.get_by_label("Open the sidebar").click()
    page.locator("#sidebar-search").fill("number 33")
    page.locator(".hits a[href$='#message-33']").first.click()
    expect(page.locator("#sidebar")).not_to_be_in_viewport()
    expect(page.locator("#message-33")).to_be_focused()
    page.go_back()
    expect(page.locator(f"#message-{MESSAGES}")).to_be_in_viewport()
