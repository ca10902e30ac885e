"""What the page offers when something went wrong: the next step is a button. And chips of files."""

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    SUMMARY,
    Start,
    Talk,
    answers,
    become_administrator,
    composer,
    say,
    wait_for_answer,
)

pytestmark = pytest.mark.e2e


TALK = [(f"Question {n}?", "Some words of an answer. " * 60) for n in range(1, 5)]


@pytest.fixture
def chat(talk: Talk) -> Page:
    """Four short questions and answers."""
    return talk(*TALK)


def test_a_request_that_is_too_long_is_compacted_and_sent_again(
    chat: Page, scripted: DemoServer
) -> None:
    chat.get_by_label("Conversation menu").click()
    chat.get_by_role("button", name="Settings and system prompt").click()
    chat.get_by_label("Compact automatically").uncheck()
    chat.get_by_role("button", name="Save").click()
    expect(chat.locator("#dialog")).to_be_hidden()
    too_long = "prompt is too long: 9 tokens > 8 maximum"
    scripted.script.error(400, message=too_long, when=is_chat)
    scripted.script.error(400, message=too_long, when=is_chat)  # without the oldest messages too
    say(chat, "One more.")
    card = chat.locator(".error-card")
    expect(card).to_contain_text("prompt is too long: 9 tokens > 8 maximum")
    scripted.script.reply(SUMMARY, when=is_summary)
    scripted.script.reply("Now it fits.", when=is_chat)
    card.get_by_role("button", name="Compact and retry").click()
    expect(answers(chat).last).to_contain_text("Now it fits.")
    expect(chat.locator(".divider")).to_have_count(1)
    expect(card).to_have_count(0)


def test_an_answer_that_was_cut_is_continued_and_the_draft_stays(
    chat: Page, scripted: DemoServer
) -> None:
    scripted.script.cut("The first half", when=is_chat)
    say(chat, "Tell me.")
    composer(chat).fill("A draft")
    card = chat.locator(".error-card")
    scripted.script.reply("and the second.", when=is_chat)
    card.get_by_role("button", name="Continue").click()
    expect(answers(chat).last).to_contain_text("and the second.")
    expect(chat.locator("#transcript")).to_contain_text("The first half")
    expect(composer(chat)).to_have_value("A draft")
    assert "The first half" in str(scripted.script.requests[-1].messages)


def test_the_chip_of_a_text_shows_how_it_begins(tab: Page) -> None:
    source = b"\nimport antigravity\nprint(1)\n"
    tab.set_input_files(
        "#file-input", [{"name": "a.py", "mimeType": "text/plain", "buffer": source}]
    )
    chip = tab.locator("#tray li")
    expect(chip).to_contain_text("import antigravity")
    expect(chip).not_to_contain_text("print(1)")
    tab.reload()
    expect(chip).to_contain_text("import antigravity")


def test_what_grows_leaves_the_message_box_and_the_conversation_in_the_window(
    chat: Page, scripted: DemoServer
) -> None:
    names = [f"{n:02}-{'minutes-of-the-meeting-' * 4}.txt" for n in range(26)]
    files: list[FilePayload] = [
        {"name": name, "mimeType": "text/plain", "buffer": name.encode()} for name in names
    ]
    chat.set_input_files("#file-input", files)
    expect(chat.locator("#tray input[name=attachments]")).to_have_count(20)
    notice = chat.locator("#notice")
    for name in names[20:]:
        expect(notice).to_contain_text(name)
    expect(notice).not_to_contain_text(names[19])
    expect(notice).to_contain_text("a message takes at most 20 files")
    composer(chat).fill("line\n" * 90)
    for width, height in (1440, 800), (360, 640), (360, 360), (640, 360):
        chat.set_viewport_size({"width": width, "height": height})
        expect(chat.locator("#send")).to_be_in_viewport(ratio=1)
        expect(chat.get_by_role("button", name="Dismiss")).to_be_in_viewport(ratio=1)
        room = "document.querySelector('#scroller').clientHeight / innerHeight"
        assert chat.evaluate(room) > (0.3 if height > 700 else 0.1)
        assert chat.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chat.get_by_role("button", name="Dismiss").click()
    composer(chat).fill("")
    composer(chat).press_sequentially("/")
    for _ in range(3):  # from the first to those at the end
        composer(chat).press("ArrowUp")
        expect(chat.locator("#slash-menu [aria-selected=true]")).to_be_in_viewport(ratio=1)
    expect(chat.locator("#slash-menu")).to_be_in_viewport(ratio=1)
    composer(chat).fill("")
    chat.get_by_label("Conversation menu").click()
    expect(chat.locator("#conversation-menu .menu-panel")).to_be_in_viewport(ratio=1)
    chat.keyboard.press("Escape")
    composer(chat).fill("What do they say?")
    scripted.script.reply("Much.", when=is_chat)
    composer(chat).press("Enter")
    expect(chat.locator("article[data-role=user]").last.locator("a.chip")).to_have_count(20)
    expect(answers(chat).last).to_contain_text("Much.")


CODE = "def f(x):\n\treturn  x\n\n\n# end"
LINKED = f"See [the book](https://example.org/book?a=1).\n\n```python\n{CODE}\n```\n\nDone."
COPY = """() => {
    const range = document.createRange();
    range.setStart(document.querySelector('#message-9 .body'), 0);
    const last = document.querySelector('#message-12');
    range.setEnd(last, last.childNodes.length);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    let copied = null;
    const read = ({clipboardData}) => copied = ["text/plain", "text/html"].map(
        (kind) => clipboardData.getData(kind));
    document.addEventListener("copy", read, {once: true});
    document.execCommand("copy");
    return copied;
}"""


def test_a_transcript_is_copied_and_printed_without_what_belongs_to_the_page(
    talk: Talk, scripted: DemoServer
) -> None:
    page = talk(*TALK, ("How?", LINKED), ("And then?", "That is **all**."))
    expect(page.locator(".code-block").get_by_role("button", name="Copy")).to_be_attached()
    text, html = page.evaluate(COPY)
    assert CODE in text
    assert [line for line in text.replace(CODE, "CODE").split("\n") if line.strip()] == [
        *("How?", "See the book.", "CODE", "Done."),
        *("And then?", "That is all."),
    ]
    assert not set(re.findall(r"<(\w+)", html)) & {"button", "time", "footer"}
    assert re.search(r"<strong[^>]*>all</strong>", html)
    assert ">python<" not in html

    scripted.script.error(401, when=is_summary)
    say(page, "/compact")
    outcome = page.locator("#compaction-row.outcome")
    expect(outcome).to_contain_text("by rule because the API key was not accepted, so no model")
    scripted.script.reply(SUMMARY, when=is_summary)
    outcome.get_by_role("button", name="Try again").click()
    expect(page.locator(".divider")).to_contain_text("written again on request")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (
        "#composer",
        "#sidebar",
        ".block-tools",
        ".divider-actions",
        "[data-action=copy]",
    ):
        expect(page.locator(hidden).first).to_be_hidden()
    for shown in ("A title", "They counted words.", "How?", "That is all.", "#12"):
        expect(page.get_by_text(shown, exact=True).last).to_be_visible()
    colours = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colours) == "rgb(255, 255, 255)"
    address = "getComputedStyle(document.querySelector('#message-10 .body a'), '::after').content"
    assert "https://example.org/book?a=1" in page.evaluate(address)
    assert page.evaluate("document.documentElement.scrollHeight > innerHeight"), "nothing scrolls"
    page.emulate_media(media="screen")

    page.goto(f"{page.url}print/")
    expect(page.locator("h2.day")).to_have_text(re.compile(r"^\d{1,2} [A-Z][a-z]{2} \d{4}$"))
    expect(page.get_by_text("They counted words.", exact=True).last).to_be_visible()
    page.get_by_label("From message").fill("11")
    page.get_by_role("button", name="Show this range").click()
    expect(page.locator("article")).to_have_count(2)
    page.emulate_media(media="print")
    expect(page.get_by_label("From message")).to_be_hidden()
    page.emulate_media(media="screen")
    page.evaluate("window.print = () => document.title = 'printed'")
    page.get_by_role("button", name="Print", exact=True).click()
    expect(page).to_have_title("printed")


def test_what_belongs_to_messages_takes_no_room_and_covers_nothing(chat: Page) -> None:
    bodies = chat.locator("article .body")
    boxes = [box for each in bodies.all() if (box := each.bounding_box())]
    spaces = [
        later["y"] - former["y"] - former["height"]
        for former, later in zip(boxes, boxes[1:], strict=False)
    ]
    assert max(spaces) < 40, spaces
    place = """() => ["5", "6"].map((number) => document.querySelector(
        `#message-${number} .body`).getBoundingClientRect().top).reduce((a, b) => b - a)"""
    before = chat.evaluate(place)
    chat.locator("#message-5 .body").hover()
    expect(chat.locator("#message-5 .actions")).to_have_css("opacity", "1")
    assert chat.evaluate(place) == before
    chat.set_viewport_size({"width": 900, "height": 400})
    chat.evaluate("document.querySelector('#scroller').scrollTop = 0")
    expect(chat.get_by_role("button", name="Latest")).to_be_visible()
    latest = chat.get_by_role("button", name="Latest").bounding_box()
    scroller = chat.locator("#scroller").bounding_box()
    assert latest
    assert scroller
    assert latest["y"] >= scroller["y"] + scroller["height"], "it covers no text"


def test_a_failed_compaction_loses_nothing_and_automatic_ones_pause(
    page: Page, start_everlong: Start, small_window: dict[str, str], model: DemoServer
) -> None:
    rests = {"COMPACTION_EXTRACT": "0", "COMPACTION_BREAKER_FAILURES": "1"}
    server = start_everlong(**small_window, **rests, COMPACTION_THRESHOLD="0.05")
    model.script.error(401, when=is_summary, always=True)
    become_administrator(page, server)
    for number, (question, answer) in enumerate(TALK, 1):
        model.script.reply(answer, when=is_chat)
        say(page, question)
        wait_for_answer(page, number)
    model.script.reply("Still here.", when=is_chat)
    say(page, "And now?")
    expect(answers(page).last).to_contain_text("Still here.")
    expect(page.locator("#transcript")).to_contain_text("Automatic compaction is paused")
    say(page, "/compact")
    row = page.locator("#compaction-row.failed")
    expect(row).to_contain_text("Nothing was lost")
    row.get_by_role("button", name="Continue without").click()
    expect(row).to_have_count(0)
    expect(composer(page)).to_be_focused()
    expect(composer(page)).to_be_editable()
