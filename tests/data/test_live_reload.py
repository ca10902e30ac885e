"""The Markdown corpus as answers of a scripted server: the DOM that the live stream leaves is the
DOM of a reload."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from agent.messages import sanitise
from demo.api.protocol import ScriptedReply, text
from demo.api.recording import RecordedRequest
from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.data.corpus import Corpus
from tests.data.danger import dangers_below
from tests.data.recordings import need
from tests.data.watching import Watched, seed, sign_in
from tests.support.server import EverlongProcess

pytestmark = pytest.mark.e2e

DRIVE = (Path(__file__).parent / "drive.js").read_text("utf-8")
TABS = 2
TOGETHER = 4  # texts in one answer, each a content block of its own
INTERVAL = 0.001  # seconds between deltas


@pytest.fixture
def answers(hostile: Corpus) -> list[list[str]]:
    markdown_of_xss = [c for c in hostile.xss if c.name.startswith("markdown")]
    texts = sanitise([case.text for case in [*hostile.markdown, *markdown_of_xss] if case.text])
    need(hostile.markdown, "Markdown")
    return [texts[at : at + TOGETHER] for at in range(0, len(texts), TOGETHER)]


@pytest.fixture
def model(answers: list[list[str]]) -> Iterator[DemoServer]:
    """Answers `Text 7` with texts 28 to 31, in deltas of varying size."""

    def answer(request: RecordedRequest) -> ScriptedReply:
        number = int(request.last_user_text.split()[-1])
        sizes = (2, 5, 17, 64)
        return ScriptedReply(tuple(map(text, answers[number])), piece_chars=sizes[number % 4])

    with DemoServer() as server:
        server.script.reply(answer, when=is_chat, always=True, interval_s=INTERVAL)
        server.script.reply("A title", always=True)
        yield server


def test_a_reload_shows_what_the_live_stream_left(
    answers: list[list[str]],
    model: DemoServer,
    tmp_path: Path,
    site: Path,
    data_directory: Path,
    context: BrowserContext,
    report: dict[str, list[str]],
) -> None:
    server = EverlongProcess(
        tmp_path, site, ANTHROPIC_BASE_URL=model.base_url, MESSAGES_PER_MINUTE="100000"
    ).start()
    try:
        sign_in(context, server, seed(server, data_directory, "harmless")["harmless"]["session"])
        context.set_default_timeout(240_000)
        watched = Watched(context, server.url)
        tabs = [start(context, server, tab, answers) for tab in range(TABS)]
        different, compared = [], 0
        for tab in tabs:
            live: list[str] = tab.evaluate("() => window.__driven")
            found = dangers_below(tab, "#transcript")
            assert not found, found[:5]
            tab.reload()
            again = reloaded(tab)
            assert len(again) == len(live)
            different += [(a, b) for a, b in zip(live, again, strict=True) if a != b]
            compared += len(live)
            assert not (noticed := watched.problems(tab)), noticed[:10]
    finally:
        server.kill()
    assert model.script.problems() == []
    report["live answers after a reload"] = [
        f"{sum(map(len, answers))} texts in {compared} answers streamed through {TABS} tabs: "
        f"{len(different)} differ after a reload"
    ]
    assert compared == len(answers)
    assert not different, "\n".join(f"{a[:600]}\n---\n{b[:600]}" for a, b in different[:3])


def start(
    context: BrowserContext, server: EverlongProcess, tab: int, answers: list[list[str]]
) -> Page:
    """A new conversation whose page goes on by itself with the tab's share of the texts."""
    mine = list(range(tab, len(answers), TABS))
    page = context.new_page()
    page.goto(server.url)
    page.locator("#composer-text").fill(f"Text {mine[0]}")
    page.locator("#send").click()
    page.wait_for_url("**/c/*/")
    page.evaluate(f"(numbers) => {{ window.__driven = ({DRIVE})(numbers) }}", mine[1:])
    return page


def reloaded(page: Page) -> list[str]:
    """The answers of the whole transcript, back to the first."""
    page.bring_to_front()  # a tab behind another one draws once a second
    page.locator("#gauge[data-level]").wait_for()  # the scripts run
    articles = "#transcript article"
    while (earlier := page.locator("#earlier")).count():
        shown = page.locator(articles).count()
        # Not a click: what comes near is loaded by itself, and the button may be gone by then.
        earlier.evaluate_all("buttons => buttons.forEach(button => button.scrollIntoView())")
        page.wait_for_function(
            """([articles, shown]) => !document.querySelector("#earlier")
                || document.querySelectorAll(articles).length > shown""",
            arg=[articles, shown],
        )
    found: Any = page.locator(f"{articles}[data-role=assistant]").evaluate_all(
        "nodes => nodes.map(node => node.outerHTML)"
    )
    return list(found)
