"""The agent in the page: exact recall after a compaction, rows of tool calls, memory."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from demo.api.protocol import ScriptedReply, text, thinking, tool_use
from demo.api.recording import RecordedRequest
from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    SUMMARY,
    SecondWindow,
    Talk,
    answers,
    composer,
    say,
    wait_for_answer,
)
from tests.support.job_board import CRITERIA, offer
from tests.support.patience import PATIENCE
from tests.support.server import EverlongProcess, LoggedProcess
from tests.support.services import free_port

# No value, path or name, which the summary's index would keep.
DETAIL = "For the record: the spare key of the shed lies under the biggest flowerpot."
FILLER = "The answer has some words. " * 60

pytestmark = pytest.mark.e2e


def results_of(request: RecordedRequest) -> str:
    """The tool results that a request ends with, as the model reads them."""
    blocks = request.messages[-1]["content"]
    return "\n".join(str(b["content"]) for b in blocks if b["type"] == "tool_result")


def cite(request: RecordedRequest) -> ScriptedReply:
    """An answer from what the search returned, and nothing else."""
    found = results_of(request)
    place = re.search(r"under the \w+ flowerpot", found)
    number = re.search(r"\[(#\d+)\] user", found)
    assert place, found
    assert number, found
    return ScriptedReply((text(f"The key lies {place[0]}, see [{number[1]}]."),))


def test_a_detail_that_only_the_originals_hold_is_found_cited_and_jumped_to(
    talk: Talk, scripted: DemoServer
) -> None:
    said = ["Plan the move of the shop.", DETAIL, *["Go on."] * 14]
    tab = talk(*((words, FILLER) for words in said), ("/compact", SUMMARY))
    expect(composer(tab)).to_be_editable()

    query = {"query": "spare key shed"}
    scripted.script.reply([thinking("Not in the summary."), tool_use("search_history", query)])
    scripted.script.reply(cite)
    say(tab, "Where does the spare key of the shed lie?")
    expect(answers(tab).last).to_contain_text("under the biggest flowerpot")
    expect(tab.locator("#send")).to_be_visible()
    asked = scripted.script.requests[-2]
    assert "flowerpot" not in str(asked.body)

    row = tab.locator("details.row.tool")
    expect(row).to_contain_text("search_history")
    expect(row).to_contain_text("done")
    assert row.get_attribute("open") is None
    before = row.evaluate("node => node.outerHTML")
    row.locator("summary").focus()
    tab.keyboard.press("Enter")
    expect(row.locator(".row-body")).to_contain_text("flowerpot")

    answers(tab).last.get_by_role("link", name="#3", exact=True).click()
    original = tab.locator("#message-3")
    expect(original).to_be_in_viewport()
    expect(original).to_contain_text(DETAIL)
    expect(tab.locator("#message-3[data-summarised]")).to_be_attached()

    tab.goto(tab.url.partition("#")[0])  # the end of the conversation, not the message above
    assert tab.locator("details.row.tool").evaluate("node => node.outerHTML") == before


@pytest.fixture
def job_board(tmp_path: Path) -> Iterator[str]:
    """The URL of an MCP server that finds jobs."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.mcp_server", str(port)]
    process = LoggedProcess(command, tmp_path, {}).start()
    process.wait_for_log("Uvicorn running")
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()


def register(page: Page, site: str, url: str) -> None:
    """As the administrator does."""
    page.goto(f"{site}/admin/chat/mcpserver/add/")
    page.get_by_label("Name").fill("board")
    page.get_by_label("Url").fill(url)
    page.get_by_label("Secret variable").fill("MCP_SECRET_BOARD")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/mcpserver/")
    page.goto(site)


def choose_board(page: Page) -> None:
    page.get_by_label("Conversation menu").click()
    page.get_by_role("button", name="Settings and system prompt").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("group", name="Tool servers", exact=True).get_by_label("board").check()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()


def allow_board(page: Page, other: Page) -> None:
    """The question stands in both windows, survives a reload, and is answered by the keyboard."""
    for window in (page, other):
        expect(window.locator(".question")).to_contain_text("find_jobs of board")
    page.reload()
    expect(page.locator(".question pre")).to_have_text('{\n  "page": 0\n}')
    page.get_by_role("button", name="Always allow board in this chat").focus()
    page.keyboard.press("Enter")
    for window in (page, other):
        expect(window.locator(".question")).to_have_count(0)


def cite_offer(request: RecordedRequest) -> ScriptedReply:
    """The offer as the result before has it, and where that stands."""
    found = results_of(request)
    line = re.search(r"Offer 33:[^\n]+\?ref=\w+", found)
    number = re.search(r"\[(#\d+)\] user", found)
    assert line, found
    assert number, found
    return ScriptedReply((text(f"{line[0]} is remote and fits, see [{number[1]}]."),))


def test_a_long_job_search_keeps_criteria_scores_and_urls(
    tab: Page,
    server: EverlongProcess,
    scripted: DemoServer,
    job_board: str,
    second_window: SecondWindow,
) -> None:
    register(tab, server.url, job_board)
    scripted.script.reply("Where shall I look?", when=is_chat)
    say(tab, CRITERIA)
    wait_for_answer(tab, 1)
    choose_board(tab)
    for number, words in enumerate(["On the board.", "The second page too."]):
        search = tool_use("board__find_jobs", {"page": number}, f"toolu_page{number}")
        scripted.script.reply([text("I search."), search], when=is_chat)
        scripted.script.reply(f"Page {number} read.", when=is_chat)
        say(tab, words)
        if number == 0:
            allow_board(tab, second_window(tab))
        wait_for_answer(tab, 3 + 2 * number)
    for number in range(6, 9):
        scripted.script.reply("Good.", when=is_chat)
        say(tab, "Go on.")
        wait_for_answer(tab, number)
    scripted.script.reply(SUMMARY, when=is_summary)
    say(tab, "/compact")
    expect(tab.locator(".divider")).to_be_visible()
    expect(composer(tab)).to_be_editable()

    query = {"query": "Acme33 offer score URL"}
    scripted.script.reply(tool_use("search_history", query, "toolu_search"), when=is_chat)
    read = tool_use("read_messages", {"from": 5, "to": 5}, "toolu_read")
    scripted.script.reply(read, when=is_chat).reply(cite_offer, when=is_chat)
    say(tab, "Which score and URL has the offer of Acme33, and does it fit my criteria?")
    wait_for_answer(tab, 11)
    asked = scripted.script.requests[-3].body
    assert CRITERIA in str(asked["messages"][0])
    assert "offer/0033" not in str(asked)
    answer = answers(tab).last
    expect(answer).to_contain_text(offer(33))

    row = tab.locator("article[data-number='4'] details.row.tool")
    assert row.get_attribute("open") is None
    expect(row).not_to_contain_text(offer(33))  # beyond what the page shows of a result
    answer.get_by_role("link", name="#5", exact=True).click()
    expect(row).to_be_in_viewport()
    expect(row).to_have_attribute("open", "")
    expect(row).to_contain_text(offer(33))


def test_thinking_and_calls_are_seen_while_they_happen(
    tab: Page,
    scripted: DemoServer,
    second_window: SecondWindow,
) -> None:
    thought = "First the one thing, then the other. " * 12
    call = tool_use("recall", {"query": "colours"})
    paused = scripted.script.pause(ScriptedReply((thinking(thought), text("I look."), call)), 2)
    gate = scripted.script.stall("Nothing", then=" is remembered.", when=is_chat)
    say(tab, "What colours do I like?")
    live = tab.locator("details.row.thinking.running")
    expect(live).to_have_attribute("open", "")
    expect(live).to_contain_text("First the one thing")
    paused.release()
    assert gate.reached.wait(PATIENCE)
    row = tab.locator("details.row.tool")
    expect(row).to_contain_text("done")
    expect(tab.locator("details.row.thinking")).not_to_have_attribute("open", "")
    second = second_window(tab)
    expect(second.locator("article[data-status=streaming]")).to_contain_text("Nothing")
    gate.release()
    wait_for_answer(tab, 2)
    expect(tab.locator("details.row.tool")).to_have_count(1)
    shown = tab.locator("#transcript").inner_text()
    tab.reload()
    tab.locator("details.row.tool").wait_for()
    assert tab.locator("#transcript").inner_text() == shown


def test_remember_by_command_and_change_it_in_the_dialog_and_on_its_page(
    page: Page, chat: Page, scripted: DemoServer
) -> None:
    say(page, "/remember I like short answers")
    expect(page.locator("#notice")).to_contain_text("Remembered: “I like short answers”")
    expect(composer(page)).to_have_value("")
    scripted.script.reply("Short.", when=is_chat)
    say(page, "Tell me more")
    wait_for_answer(page, 2)
    assert "I like short answers" in str(scripted.script.requests[-1].body["system"])

    page.locator(".user-menu summary").click()
    page.get_by_role("link", name="Settings").click()
    dialog = page.locator("#dialog")
    dialog.get_by_role("link", name="Memory").click()
    fact = dialog.get_by_label("Fact")
    expect(fact).to_have_value("I like short answers")
    page.get_by_label("Remember something").fill("I live in Lisbon")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Remembered: “I live in Lisbon”")
    expect(fact).to_have_count(2)
    fact.first.fill("I live in Porto")
    fact.last.fill("I like very short answers")
    dialog.get_by_role("button", name="Save").last.click()
    expect(dialog).to_contain_text("Saved")
    expect(fact.first).to_have_value("I live in Porto")  # not saved, and not lost
    dialog.get_by_role("button", name="Delete").first.click()
    expect(fact).to_have_count(1)
    page.keyboard.press("Enter")  # undo has the focus
    expect(fact).to_have_count(2)
    expect(fact.first).to_have_value("I live in Lisbon")
    dialog.get_by_role("button", name="Delete").first.click()
    expect(fact).to_have_count(1)
    page.goto(dialog.get_by_role("link", name="Memory").evaluate("link => link.href"))

    expect(page.get_by_role("heading", name="Memory")).to_be_visible()
    fact = page.get_by_label("Fact")
    expect(fact).to_have_value("I like very short answers")
    fact.fill("I like short answers")
    page.get_by_role("button", name="Save").click()
    expect(fact).to_have_value("I like short answers")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("body")).to_contain_text("Nothing is remembered yet")
