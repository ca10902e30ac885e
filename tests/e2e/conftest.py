"""What the walks share: a scripted model, and the steps that a person takes."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from agent.summary import HEADINGS
from demo.script import is_title
from demo.server import DemoServer
from tests.support.server import EverlongProcess

PASSWORD = "correct horse battery"
# Every word of an answer, so that its text can be compared letter by letter.
LONG_ANSWER = " ".join(f"word{n}" for n in range(2_300))
SUMMARY = "\n".join(f"## {heading}\nNone." for heading in HEADINGS).replace(
    "## Overview\nNone.", "## Overview\nThey counted words."
)


@pytest.fixture
def model() -> Iterator[DemoServer]:
    """A scripted model whose windows are small; the test fails if a request breaks a rule."""
    with DemoServer() as server:
        server.script.reply("Counting words", when=is_title, always=True)
        yield server
        server.script.assert_done()


@pytest.fixture
def small_window(model: DemoServer) -> dict[str, str]:
    """The environment of a server that compacts after three long answers."""
    return {
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_API_KEY": "test",
        "DEFAULT_MODEL": "claude-sonnet-5-5",
        "MODEL_WINDOWS": "claude-sonnet-5-5=17000",
        "MODEL_RETRIES": "0",
        "MESSAGES_PER_MINUTE": "1000",
    }


def set_up(page: Page, server: EverlongProcess) -> None:
    """First run: the link creates the administrator."""
    page.goto(server.url + server.setup_path)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url(f"{server.url}/")


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    composer(page).press("Enter")


def composer(page: Page):  # type: ignore[no-untyped-def]
    return page.locator("#composer textarea[name=text]")


def answers(page: Page):  # type: ignore[no-untyped-def]
    """The complete answers."""
    return page.locator("article[data-role=assistant][data-status=complete]")


def wait_for_answer(page: Page, number: int) -> None:
    """The answer with that number, 1 for the first, is complete and the composer free."""
    expect(answers(page)).to_have_count(number, timeout=20_000)
    expect(page.locator("#send")).to_be_visible()


def gauge(page: Page) -> int:
    """Percent of the budget."""
    return int(page.locator("#gauge-text").inner_text().replace("%", "").strip())


Start = Callable[..., EverlongProcess]
