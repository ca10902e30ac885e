"""What the model gets as a summary: each message says so, and a line while one is on the screen."""

from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from demo.api.script import is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, SecondWindow, Talk, composer, say

pytestmark = pytest.mark.e2e

ANSWER = "The answer has some words. " * 20
# px between the line at the side of a message and that of the one before.
GAPS = """nodes => {
    const lines = nodes.map((node) => {
        const {top, bottom} = node.getBoundingClientRect();
        const line = getComputedStyle(node, "::before");
        return [top + parseFloat(line.top), bottom - parseFloat(line.bottom)];
    });
    return lines.slice(1).map(([top], index) => top - lines[index][1]);
}"""
NUMBERS = "nodes => nodes.map(node => Number(node.dataset.number))"


@pytest.fixture
def chat(talk: Talk) -> Page:
    """Four exchanges, of which the summary holds some."""
    return talk(*((f"Question {n}?", ANSWER) for n in range(1, 5)))


def compact(page: Page, model: DemoServer) -> None:
    model.script.reply(SUMMARY, when=is_summary)
    say(page, "/compact")
    expect(page.locator("article[data-summarised]").first).to_be_attached()
    expect(composer(page)).to_be_editable()


def marked(page: Page) -> list[int]:
    """The numbers of the messages that are marked."""
    found: list[int] = page.locator("article[data-summarised]").evaluate_all(NUMBERS)
    return found


def has_line(article: Locator) -> bool:
    """Whether pixels are drawn at the side of an article, inside its box."""
    article.scroll_into_view_if_needed()
    picture = Image.open(BytesIO(article.screenshot())).convert("RGB")
    middle = picture.crop((0, picture.height // 3, 3, picture.height // 2))
    return len(middle.getcolors() or []) > 1


def test_summarised_messages_are_marked_live_and_by_the_server_and_no_more_after_a_revert(
    chat: Page, scripted: DemoServer, second_window: SecondWindow
) -> None:
    assert marked(chat) == []
    compact(chat, scripted)
    other = second_window(chat)
    through = marked(chat)[-1]
    assert marked(chat) == marked(other) == list(range(2, through + 1))  # the first one is kept
    # Also where the window ends before the divider.
    url = chat.locator("#chat").get_attribute("data-messages-url")
    fetch = "url => fetch(url).then(response => response.text())"
    before: str = chat.evaluate(fetch, f"{url}?before={through - 1}")
    assert before.count("data-summarised=") == through - 2
    assert 'class="divider"' not in before

    chat.get_by_role("button", name="Revert", exact=True).click()
    chat.locator("#dialog .danger").click()
    for tab in (chat, other):
        expect(tab.locator("article[data-summarised]")).to_have_count(0)
        expect(tab.locator("#in-summary")).to_be_hidden()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_line_is_drawn_at_their_side_and_one_above_names_the_chapter(
    chat: Page, scripted: DemoServer, width: int
) -> None:
    chat.set_viewport_size({"width": width, "height": 700})
    compact(chat, scripted)
    line = chat.locator("#in-summary")
    chat.locator("article").last.evaluate("node => node.scrollIntoView()")
    expect(line).to_be_hidden()
    chat.locator("#message-2").evaluate("node => node.scrollIntoView()")
    expect(line).to_have_text(f"Chapter 1 · #1–{marked(chat)[-1]} · in the summary")
    box, scroller = line.locator("span").bounding_box(), chat.locator("#scroller").bounding_box()
    assert box
    assert scroller
    assert abs(box["y"] - scroller["y"]) < 1
    assert box["height"] < 32
    assert has_line(chat.locator("#message-2"))
    gaps = chat.locator("article[data-summarised]").evaluate_all(GAPS)
    assert gaps
    assert max(gaps) <= 0, "the line at their side is one"
    assert not has_line(chat.locator("article").last)
