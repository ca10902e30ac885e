"""Blocks of code and tables: their buttons, the header that stays, folding, and the edges."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, Check, Talk, answers, composer, say, wait_for_answer
from tests.shots import TWO_FRAMES
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.e2e

PHONE = {"width": 390, "height": 844}
LONG_LINE = "total = " + " + ".join(f"room_{n}" for n in range(60))
CODE = "\n".join([LONG_LINE, *(f"line_{n} = {n}" for n in range(2, 121))]) + "\n"
QUESTION = "What do you think?"
WORDS = "Some words that follow. " * 300
ANSWER = f"Here it is:\n\n```python\n{CODE}```\n\n{WORDS}"
TABLE = "\n".join(
    [
        "| option | " + " | ".join(f"column {n}" for n in range(12)) + " |",
        "|---|" + "--:|" * 12,
        '| Redis, a queue | say "now" | a \\| b |' + " x |" * 10,
    ]
)
CSV = (
    "option," + ",".join(f"column {n}" for n in range(12)) + "\r\n"
    '"Redis, a queue","say ""now""",a | b' + ",x" * 10 + "\r\n"
)


@pytest.fixture
def chat(talk: Talk) -> Page:
    """A conversation whose answer is a long block of code and words below it."""
    tab = talk((QUESTION, ANSWER))
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return tab


def ask(page: Page, model: DemoServer, answer: str) -> None:
    number = answers(page).count() + 1
    model.script.reply(answer, when=is_chat)
    say(page, QUESTION)
    wait_for_answer(page, number)


def block_of(page: Page) -> Locator:
    return page.locator(".code-block").last


def top_of(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["y"]


def is_whole(block: Locator) -> bool:
    """Whether nothing of the code is clipped."""
    return bool(block.locator("pre").evaluate("pre => pre.scrollHeight <= pre.clientHeight + 1"))


def copied(page: Page, button: Locator) -> str:
    button.click()
    expect(page.locator("#status")).to_have_text("Copied")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def scroll_to(page: Page, locator: Locator, by: int = 0) -> None:
    locator.evaluate("node => node.scrollIntoView({block: 'start'})")
    page.locator("#scroller").evaluate("(node, by) => { node.scrollTop += by }", by)
    page.evaluate(TWO_FRAMES)


def test_code_is_copied_and_downloaded_whole_while_it_is_folded(chat: Page) -> None:
    block = block_of(chat)
    expect(block.locator(".fold")).to_have_text("Show all 120 lines")
    assert copied(chat, block.get_by_role("button", name="Copy")) == CODE
    expect(block.get_by_text("Copied")).to_have_count(0)  # it said so for a moment
    expect(block.get_by_role("button", name="Copy")).to_be_visible()
    with chat.expect_download() as saved:
        block.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "code.py"
    assert Path(saved.value.path()).read_text() == CODE


def test_code_of_a_language_without_an_extension_is_downloaded_as_text(
    tab: Page, scripted: DemoServer
) -> None:
    ask(tab, scripted, "```constructor\nx\n```")
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "code.txt"


def test_wrapping_is_remembered(chat: Page) -> None:
    scrolls = "pre => pre.scrollWidth > pre.clientWidth"
    wrap = block_of(chat).get_by_role("button", name="Wrap")
    assert block_of(chat).locator("pre").evaluate(scrolls)
    wrap.click()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert not block_of(chat).locator("pre").evaluate(scrolls)
    chat.reload()
    expect(wrap).to_have_attribute("aria-pressed", "true")
    assert not block_of(chat).locator("pre").evaluate(scrolls)
    wrap.press("Enter")
    expect(wrap).to_have_attribute("aria-pressed", "false")
    assert block_of(chat).locator("pre").evaluate(scrolls)


def test_a_long_block_is_folded_and_what_follows_stays_when_it_is_folded_again(chat: Page) -> None:
    block, fold = block_of(chat), block_of(chat).locator(".fold")
    assert not is_whole(block)
    lines = block.locator("code").evaluate("node => node.getClientRects()[0].height / 120")
    height = block.locator("pre").evaluate("node => node.clientHeight")
    assert 29 < height / lines < 32
    scroll_to(chat, fold, -200)
    before = top_of(block)
    fold.press("Enter")
    expect(fold).to_have_text("Show less")
    expect(fold).to_have_attribute("aria-expanded", "true")
    assert is_whole(block)
    assert abs(top_of(block) - before) < 2
    scroll_to(chat, fold, -200)
    before = top_of(fold)
    fold.click()
    expect(fold).to_have_text("Show all 120 lines")
    assert not is_whole(block)
    assert abs(top_of(fold) - before) < 2


def test_a_search_in_the_page_unfolds_what_it_finds(chat: Page) -> None:
    block = block_of(chat)
    hit = block.get_by_text("line_97", exact=True)
    expect(block.locator(".fold")).to_have_text("Show all 120 lines")
    # As the browser's own search and links to text do; no script can call them.
    hit.evaluate("node => node.scrollIntoView({block: 'center'})")
    expect(block.locator(".fold")).to_have_text("Show less")
    assert is_whole(block)
    assert top_of(chat.locator("#scroller")) < top_of(hit) < top_of(composer(chat))


def test_nothing_is_folded_that_is_written_or_read_and_what_is_read_does_not_move(
    tab: Page, scripted: DemoServer
) -> None:
    gate = scripted.script.stall(ANSWER, then="The end.", when=is_chat)
    say(tab, "Show me.")
    assert gate.reached.wait(PATIENCE)
    words = tab.locator("article", has=tab.locator(".code-block")).locator(".tail > div").last
    expect(words).to_contain_text("words that follow")
    expect(block_of(tab).get_by_role("button", name="Copy")).to_be_visible()
    assert is_whole(block_of(tab))
    # Its reader is below it, and not at the end.
    scroll_to(tab, words, 100)
    before = top_of(words)
    gate.release()
    expect(block_of(tab).locator(".fold")).to_have_text("Show all 120 lines")
    assert abs(top_of(answers(tab).locator("p").last) - before) < 2


def test_a_block_on_the_screen_is_not_folded_when_its_answer_ends(
    tab: Page, scripted: DemoServer
) -> None:
    gate = scripted.script.stall(f"```python\n{CODE}```\n\nThat", then=" is it.", when=is_chat)
    say(tab, "Show me.")
    assert gate.reached.wait(PATIENCE)
    expect(block_of(tab).get_by_role("button", name="Copy")).to_be_visible()
    gate.release()
    wait_for_answer(tab, 1)
    tab.evaluate(TWO_FRAMES)
    expect(tab.locator(".fold")).to_have_count(0)
    assert is_whole(block_of(tab))
    ask(tab, scripted, "Yes.")
    assert is_whole(block_of(tab))
    tab.reload()
    expect(block_of(tab).locator(".fold")).to_have_text("Show all 120 lines")


def test_whoever_is_at_the_end_stays_there_when_wrapped_code_comes(
    tab: Page, scripted: DemoServer
) -> None:
    long_lines = "\n".join(f"```js\n{LONG_LINE}\n```\n" for _ in range(6))
    ask(tab, scripted, long_lines)
    block_of(tab).get_by_role("button", name="Wrap").click()
    gate = scripted.script.stall(f"{long_lines}\nAnd", then=f" on.\n\n{long_lines}", when=is_chat)
    say(tab, "More?")
    assert gate.reached.wait(PATIENCE)
    expect(tab.locator(".live .code-block.wrapped")).to_have_count(6)
    tab.get_by_role("button", name="Latest").click()
    below = "node => node.scrollHeight - node.scrollTop - node.clientHeight"
    assert tab.locator("#scroller").evaluate(below) < 2
    gate.release()
    wait_for_answer(tab, 2)
    expect(answers(tab).last.locator(".code-block.wrapped")).to_have_count(12)
    assert tab.locator("#scroller").evaluate(below) < 2


def test_code_of_a_user_has_the_same(tab: Page, scripted: DemoServer) -> None:
    scripted.script.reply("Seen.", when=is_chat)
    say(tab, f"What is this?\n```js\n{CODE}```")
    wait_for_answer(tab, 1)
    block = tab.locator("article[data-role=user] .code-block")
    expect(block.locator(".fold")).to_have_text("Show all 120 lines")
    with tab.expect_download() as saved:
        block.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "code.js"


def test_without_scripts_all_of_a_block_is_shown(
    chat: Page, browser: Browser, state: StorageState
) -> None:
    context = browser.new_context(storage_state=state, java_script_enabled=False)
    page = context.new_page()
    page.goto(chat.url)
    expect(page.locator(".code-block code")).to_contain_text("line_120 = 120")
    expect(page.locator(".code-block .code-header")).to_have_text("python")
    expect(page.locator(".code-block button")).to_have_count(0)
    context.close()


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE])
def test_the_header_stays_below_the_line_of_the_summary(
    talk: Talk, scripted: DemoServer, size: dict[str, int]
) -> None:
    tab = talk(*((QUESTION, answer) for answer in (ANSWER, "One.", "Two.", WORDS)))
    tab.set_viewport_size(size)  # type: ignore[arg-type]
    block = tab.locator(".code-block")
    header, scroller = block.locator(".code-header"), tab.locator("#scroller")
    block.locator(".fold").click()
    scroll_to(tab, block, 900)
    assert abs(top_of(header) - top_of(scroller)) < 1
    scripted.script.reply(SUMMARY, when=is_summary)
    say(tab, "/compact")
    expect(tab.locator(".divider")).to_have_count(1)
    scroll_to(tab, block, 900)
    line = tab.locator("#in-summary span")
    expect(line).to_be_visible()
    box = line.bounding_box()
    assert box
    assert abs(top_of(header) - (box["y"] + box["height"])) < 1
    # What is at its place is the header, and no code above it.
    header.get_by_role("button", name="Wrap").click()
    expect(block.locator(".block-tools button").first).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, PHONE])
def test_a_table_is_copied_as_csv_and_fades_where_it_goes_on(
    tab: Page, scripted: DemoServer, check: Check, size: dict[str, int]
) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.set_viewport_size(size)  # type: ignore[arg-type]
    ask(tab, scripted, f"{TABLE}\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    wide, narrow = tab.locator(".table-block").all()
    assert copied(tab, wide.get_by_role("button", name="Copy as CSV")) == CSV
    faded = "node => ['::before', '::after'].map(side => getComputedStyle(node, side).opacity)"
    expect(wide).to_have_class("table-block dressed more-right")
    check("a wide table")  # without motion, too
    assert wide.evaluate(faded) == ["0", "1"]
    assert narrow.evaluate(faded) == ["0", "0"]
    wide.locator(".table-scroll").evaluate("node => node.scrollBy(40, 0)")
    expect(wide).to_have_class("table-block dressed more-right more-left")
    wide.locator(".table-scroll").evaluate("node => node.scrollBy(9000, 0)")
    expect(wide).to_have_class("table-block dressed more-left")
    assert wide.evaluate(faded) == ["1", "0"]


def test_the_buttons_on_a_phone_are_large_enough_and_break_no_rule(
    chat: Page, scripted: DemoServer, check: Check
) -> None:
    chat.set_viewport_size(PHONE)  # type: ignore[arg-type]
    ask(chat, scripted, "```mermaid\ngraph TD\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    expect(block_of(chat).locator(".code-language")).to_have_text("mermaid · diagram source")
    for button in chat.locator(".block-tools button, .fold").all():
        box = button.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 24
    check("blocks on a phone")
    chat.locator(".fold").click()
    check("a block that is unfolded")
