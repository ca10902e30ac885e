"""The whole hostile corpus in Chromium, on a real server: in messages, titles, summaries, admin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.data.corpus import Corpus
from tests.data.danger import dangers_below
from tests.data.watching import OVERFLOW, Watched, seed, sign_in
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

PLACES = ["answers", "prompts", "tools", "results", "summary", "titles"]
WIDTHS = [(1280, 800), (390, 844)]
# Whether the whole conversation is on the page; what is earlier is loaded where one comes near.
ALL_SHOWN = """() => {
  const earlier = document.querySelector("#earlier");
  earlier?.scrollIntoView();
  return !earlier;
}"""


class Site:
    """A server with the hostile corpus in all places."""

    def __init__(self, server: EverlongProcess, data: Path) -> None:
        self.server = server
        self.hostile: dict[str, Any] = seed(server, data, "hostile")["hostile"]


@pytest.fixture(scope="module")
def site_of_texts(
    tmp_path_factory: pytest.TempPathFactory, site: Path, data_directory: Path
) -> Iterator[Site]:
    server = EverlongProcess(tmp_path_factory.mktemp("hostile"), site).start()
    try:
        yield Site(server, data_directory)
    finally:
        server.kill()


@pytest.fixture
def watched(context: BrowserContext, site_of_texts: Site) -> Watched:
    sign_in(context, site_of_texts.server, site_of_texts.hostile["session"])
    context.set_default_timeout(60_000)
    return Watched(context, site_of_texts.server.url)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_runs_and_nothing_breaks_the_layout(
    place: str,
    watched: Watched,
    page: Page,
    site_of_texts: Site,
    hostile: Corpus,
    report: dict[str, list[str]],
) -> None:
    address = site_of_texts.server.url + site_of_texts.hostile["pages"][place]
    page.goto(address)
    page.locator("#gauge[data-level]").wait_for()  # the scripts run
    page.wait_for_function(ALL_SHOWN)
    found = dangers_below(page, "#transcript")
    overflow = []
    for width, height in WIDTHS:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(
            "() => document.querySelectorAll('#transcript details').forEach(d => d.open = true)"
        )
        overflow += [f"{width} px: {what}" for what in page.evaluate(OVERFLOW)]
    texts = page.locator("#transcript article .text, #transcript article .row").count()
    shown = page.locator("#sidebar-list a").count()
    noticed = watched.problems(page)
    lines = report.setdefault("hostile texts in Chromium", [])
    lines.append(
        f"{place:10} {texts:5} texts and rows, {shown} titles: {len(found)} dangerous elements, "
        f"{len(noticed)} scripts, policy violations or foreign requests, {len(overflow)} overflows"
    )
    assert not found, "\n".join(found[:20])
    assert not noticed, "\n".join(noticed[:20])
    assert not overflow, "\n".join(overflow[:20])
    if place in ("answers", "prompts"):
        assert texts > len(hostile.texts) * 0.97


def test_nothing_runs_among_the_memories(watched: Watched, page: Page, site_of_texts: Site) -> None:
    page.goto(site_of_texts.server.url + site_of_texts.hostile["pages"]["memories"])
    remembered = site_of_texts.hostile["memories"]
    assert page.locator(".memory-list li + li textarea").count() == remembered
    overflow = []
    for width, height in WIDTHS:
        page.set_viewport_size({"width": width, "height": height})
        overflow += [f"{width} px: {what}" for what in page.evaluate(OVERFLOW)]
    noticed = watched.problems(page)
    assert not noticed, "\n".join(noticed[:20])
    assert not overflow, "\n".join(overflow[:20])
