"""What the page must do in every browser: the main walks of tests/e2e once more, in short."""

from pathlib import Path

from agent.compaction.skills import HEADINGS
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.browsers.driver import CONTROL, ENTER, ESCAPE, Window
from tests.support.patience import PATIENCE

ANSWER = (
    "**Bold** words, and `code`.\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
)
SUMMARY = "\n".join(f"## {heading}\nNone." for heading in HEADINGS)
DONE = "article[data-role=assistant][data-status=complete]"


def say(window: Window, text: str) -> None:
    window.type("#composer-text", text + ENTER)


def wait_for_answers(window: Window, count: int) -> None:
    window.until("document.querySelectorAll(arguments[0]).length === arguments[1]", DONE, count)
    window.find("#send")


def test_an_answer_streams_is_stopped_edited_and_drawn(window: Window, model: DemoServer) -> None:
    gate = model.script.stall("Once upon a ti", then="me.", when=is_chat)
    say(window, "A story")
    assert gate.reached.wait(PATIENCE)
    window.see("Once upon a ti", "#transcript")
    gate.release()
    wait_for_answers(window, 1)
    window.see("Once upon a time.", "#transcript")

    gate = model.script.stall("And then ", when=is_chat)
    say(window, "Go on")
    assert gate.reached.wait(PATIENCE)
    window.click("#stop")
    window.until("document.querySelector('article[data-status=interrupted]')")

    model.script.reply(ANSWER, when=is_chat)
    window.run("document.querySelector('article [data-action=edit]').click()")
    window.type(".edit-form textarea", " in verse")
    window.click(".edit-form .primary")
    wait_for_answers(window, 1)
    window.see("A story in verse", "#transcript")
    window.until("document.querySelector('#transcript strong').innerText === 'Bold'")
    window.until("document.querySelectorAll('#transcript .block-tools').length === 2")
    window.reload()
    window.see("Bold words", "#transcript")


def test_a_conversation_is_compacted_and_its_summary_opened(
    window: Window, model: DemoServer
) -> None:
    for number in range(1, 5):
        model.script.reply("The answer has some words. " * 60, when=is_chat)
        say(window, f"Question {number}?")
        wait_for_answers(window, number)
    cited = SUMMARY.replace("None.", "- The answer has some words. [#2]", 1)
    model.script.reply(cited, when=is_summary)
    say(window, "/compact ")
    window.click(".divider .summary > summary")
    window.see("The answer has some words.", ".divider .summary")
    window.click(".divider .summary a[href$='#message-2']")
    window.until("document.activeElement.id === 'message-2'")
    window.click("#gauge")
    window.see("of 16k tokens", "#gauge-panel")
    window.press(ESCAPE)


def test_a_file_goes_with_a_message_and_a_search_finds_it(
    window: Window, model: DemoServer, tmp_path: Path
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Quinces and medlars.")
    window.type("#file-input", str(file))
    window.see("notes.txt", "#tray")
    window.until("document.querySelector('#tray [name=attachments]')")
    model.script.reply("They are fruits.", when=is_chat)
    say(window, "Persimmons?")
    wait_for_answers(window, 1)
    window.see("notes.txt", "article[data-role=user]")
    window.press(CONTROL, "k")
    window.type("#palette input", "in:here persimmons")
    window.see("#1", "#palette-found")
    window.type("#palette input", ENTER)
    window.until("document.activeElement.id === 'message-1'")
    window.until("!document.querySelector('#palette').open")


def test_another_chat_takes_the_place_of_the_one_that_is_shown(
    window: Window, model: DemoServer
) -> None:
    for name in "Apples", "Pears":
        model.script.reply(f"{name} are fruits.", when=is_chat)
        say(window, name)
        wait_for_answers(window, 1)
        if name == "Apples":
            window.run("document.querySelector('#new-chat').click()")
            window.until("!document.querySelector('#transcript')")
    window.run("window.list = document.querySelector('#sidebar-list')")
    window.type("#sidebar-search", "apples")
    window.click("#sidebar-list .hits a[href$='#message-2']")
    window.until("document.activeElement.id === 'message-2'")
    window.see("Apples are fruits.", "#transcript")
    window.type("#composer-text", "A draft")
    window.run("history.back()")
    window.see("Pears are fruits.", "#transcript")
    assert window.run("return document.querySelector('#composer-text').value") == ""
    window.run("history.forward()")
    window.see("Apples are fruits.", "#transcript")
    assert window.run("return document.querySelector('#composer-text').value") == "A draft"
    assert window.run("return window.list === document.querySelector('#sidebar-list')")


def test_arabic_runs_from_the_right(window: Window, model: DemoServer) -> None:
    model.script.reply("أولاً، ثم `pip install`.\n\n- الخطوة", when=is_chat)
    window.type("#composer-text", "مرحبا")
    way = "getComputedStyle(document.querySelector(arguments[0])).direction"
    assert window.run(f"return {way}", "#composer-text") == "rtl"
    window.type("#composer-text", ENTER)
    wait_for_answers(window, 1)
    for selector in (f"{DONE} .prose p", f"{DONE} .prose li", "article[data-role=user] .plain"):
        assert window.run(f"return {way}", selector) == "rtl", selector


def test_nothing_is_wider_than_a_narrow_window(window: Window, model: DemoServer) -> None:
    model.script.reply(ANSWER + "\n\n" + "x" * 300, when=is_chat)
    window.size(390, 844)
    try:
        say(window, "Hello")
        wait_for_answers(window, 1)
        window.click("#sidebar-open")
        window.see("New chat", "#sidebar")
        window.press(ESCAPE)
        assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        window.size(1280, 900)
