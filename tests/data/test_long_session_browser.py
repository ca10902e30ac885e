"""The long session in Chromium: it opens, scrolls back to its beginning, and compacts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chat.importers.pi import Session
from demo.api.script import is_summary
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.data.recordings import read, summary_of
from tests.data.watching import Watched, seed, sign_in
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e

MOST_SHOWN = 150  # in the DOM
NUMBERS = "nodes => nodes.map(node => Number(node.dataset.number))"


@pytest.fixture
def session(session_path: Path) -> Session:
    return read(session_path)


@pytest.fixture
def model(session: Session) -> Iterator[DemoServer]:
    """A server of the session's own model."""
    own = ListedModel(session.model, window=200_000, max_output=64_000)
    with DemoServer(models=[own]) as server:
        server.script.reply(summary_of(session), when=is_summary, always=True)
        yield server


def test_it_opens_scrolls_back_and_compacts(
    model: DemoServer,
    tmp_path: Path,
    site: Path,
    data_directory: Path,
    session_path: Path,
    session: Session,
    context: BrowserContext,
    page: Page,
    report: dict[str, list[str]],
) -> None:
    server = EverlongProcess(tmp_path, site, ANTHROPIC_BASE_URL=model.base_url).start()
    try:
        made = seed(server, data_directory, "harmless")
        command = ("import_session", str(session_path), "--owner", "harmless")
        (address,) = re.findall(r"/c/[0-9a-f-]+/", manage(server.environment, *command))
        sign_in(context, server, made["harmless"]["session"])
        context.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        watched = Watched(context, server.url)
        page.goto(server.url + address)
        page.locator("#gauge[data-level]").wait_for()  # the scripts run
        compact(page)
        pages, kept, numbers = scroll_back(page)
        assert numbers == set(range(1, max(numbers) + 1))
        noticed = watched.problems(page)
    finally:
        server.kill()
    assert not noticed, "\n".join(noticed[:20])
    assert model.script.problems() == []
    report[f"the long session {session_path.stem} in Chromium"] = [
        f"{len(numbers)} messages in {pages} pages, all in order; what was read "
        f"stayed in place {kept} of {pages - 1} times; compacted from the page"
    ]
    assert kept == pages - 1


def scroll_back(page: Page) -> tuple[int, int, set[int]]:
    """Scroll to the top until nothing is above: pages seen, how often the view did not jump, and
    the numbers of all messages seen. The summary's divider stands on the way."""
    articles = page.locator("#transcript article")
    divider = page.locator("#transcript .divider")
    first = articles.first
    expect(first).to_be_attached()
    pages, kept, dividers = 1, 0, divider.count()
    seen = set(articles.evaluate_all(NUMBERS))
    while page.locator("#earlier").count():
        before = first.get_attribute("data-number")
        page.locator("#scroller").evaluate("node => { node.scrollTop = 0 }")
        expect(first).not_to_have_attribute("data-number", before or "")
        page.wait_for_function("() => document.querySelector('#scroller').scrollTop > 0")
        anchor = page.locator(f"#message-{before}")
        kept += anchor.evaluate("node => Math.abs(node.getBoundingClientRect().top) < 400")
        pages += 1
        seen |= set(articles.evaluate_all(NUMBERS))
        dividers += divider.count()
        assert articles.count() <= MOST_SHOWN
    assert dividers
    return pages, kept, seen


def compact(page: Page) -> None:
    full = page.locator("#gauge-text").inner_text()
    page.locator("#gauge").click()
    page.locator("#compact-now").click()
    page.locator("#compact-form button[type=submit]").click()
    expect(page.locator("#gauge-text")).not_to_have_text(full)
