"""What somebody has spent, the administration's charts of it, and the line above all pages."""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Check, Talk, wait_until
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e

PHONE = {"width": 390, "height": 844}
IS_WIDE = "document.documentElement.scrollWidth > innerWidth"
TEXT = "Down on Sunday from 8:00 to 9:00"
# The scripted model costs nothing.
SPEND = """
from decimal import Decimal
from django.utils import timezone
from accounts.models import User
from spending.models import ModelCall
ModelCall.objects.create(user=User.objects.get(), opened_at=timezone.now(), model="dear-model",
                         kind="answer", state="lost", cost=Decimal("0.5"))
"""
WRITE = f"""
from chat.models import Announcement
from chat.services.site.announcements import save_announcement
save_announcement(Announcement(text="{TEXT}", level="warning"))
"""
REFRESH = "document.getElementById('sidebar-list').dispatchEvent(new Event('sidebar-refresh'))"
DELETE = "from chat.models import Announcement; Announcement.objects.all().delete()"


def in_server(server: EverlongProcess, command: str) -> None:
    manage(server.environment, "shell", "--verbosity", "0", "--command", command)


@pytest.fixture
def nothing_announced(server: EverlongProcess) -> Iterator[None]:
    """To the walks after this one."""
    yield
    in_server(server, DELETE)


def test_an_answer_is_on_the_usage_page_in_the_charts_and_in_the_file(
    talk: Talk, server: EverlongProcess, check: Check
) -> None:
    page = talk(("What does it cost?", "Little."))
    in_server(server, SPEND)
    page.click(".user-menu summary")
    page.get_by_role("link", name="Usage", exact=True).click()
    expect(page.get_by_role("heading", name="Usage")).to_be_visible()
    expect(page.locator(".lines").first).to_contain_text("test-model")
    check("usage")
    page.set_viewport_size(PHONE)
    assert not page.evaluate(IS_WIDE)
    check("usage on a phone")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the calls of this month (CSV)").click()
    rows = list(csv.DictReader(StringIO(Path(download.value.path()).read_text())))
    assert {row["model"] for row in rows} >= {"dear-model", "test-model"}
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{server.url}/admin/")
    page.get_by_role("link", name="Today").click()
    expect(page.get_by_role("heading", name="By model")).to_be_visible()
    page.get_by_label("Time").select_option("30")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".days svg")).to_be_visible()
    check("charts")
    page.get_by_text("As a table").click()
    check("charts with their table")
    page.set_viewport_size(PHONE)
    assert not page.evaluate(IS_WIDE)
    page.locator(".lines a", has_text="test-model").click()
    expect(page.locator("#result_list")).to_contain_text("test-model")


@pytest.mark.usefixtures("nothing_announced")
def test_a_new_line_comes_into_an_open_chat_until_it_is_put_away(
    talk: Talk, server: EverlongProcess, check: Check
) -> None:
    page = talk(("Hello", "Hi!"))
    page.evaluate("window.isTheSamePage = true")
    in_server(server, WRITE)
    line = page.locator("#announcement")

    def is_brought() -> bool:
        with page.expect_response("**/sidebar/**"):
            page.evaluate(REFRESH)
        return TEXT in line.inner_text()

    # Another process has written it, whose layer is not this one's: the list brings it, as soon as
    # this one reads anew what it keeps.
    wait_until(page, is_brought)
    check("a line above a chat")
    page.set_viewport_size(PHONE)
    expect(page.locator("#composer-text")).to_be_in_viewport()
    assert not page.evaluate(IS_WIDE)
    check("a line above a chat on a phone")
    line.get_by_role("button", name="Dismiss").press("Enter")
    expect(line).to_be_empty()
    assert page.evaluate("window.isTheSamePage")
    for address in "/", "/usage/", "/admin/":
        page.goto(server.url + address)
        expect(page.locator("#content, main").first).to_be_visible()
        expect(page.get_by_text(TEXT)).to_have_count(0)


@pytest.mark.usefixtures("nothing_announced")
def test_an_administrators_line_reaches_open_chats_by_itself(
    talk: Talk, server: EverlongProcess, check: Check
) -> None:
    page = talk(("Hello", "Hi!"))
    editor = page.context.new_page()
    editor.goto(f"{server.url}/admin/chat/announcement/add/")
    editor.get_by_label("Text").fill(TEXT)
    editor.get_by_role("button", name="Save", exact=True).click()
    expect(editor.locator("#announcement")).to_contain_text(TEXT)
    expect(page.locator("#announcement")).to_contain_text(TEXT)
    editor.get_by_role("button", name="Dismiss").click()
    expect(editor.locator("#result_list")).to_contain_text(TEXT)
    expect(editor.locator("#announcement")).to_have_count(0)
