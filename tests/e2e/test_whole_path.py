"""The whole path in the browser: first run, chat, both ways of compaction, reload, admin."""

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    LONG_ANSWER,
    SUMMARY,
    SecondWindow,
    Start,
    answers,
    composer,
    create_administrator,
    gauge,
    say,
    set_up,
    wait_for_answer,
)
from tests.e2e.talking import hold_conversation
from tests.support.patience import PATIENCE
from tests.support.server import CeleryProcess

pytestmark = pytest.mark.e2e

# A frame sent past the page's own lock, and the first error that comes back.
RAW_FRAME = """
([path, frame]) => new Promise((resolve) => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + path);
  socket.onmessage = (event) => {
    const data = JSON.parse(event.data);
    if (data.type === "snapshot") socket.send(JSON.stringify(frame));
    if (data.type === "error") { resolve(data.code); socket.close(); }
  };
})
"""


def locked(page: Page) -> None:
    """The composer is locked, with its text kept, and the page says why."""
    expect(composer(page)).not_to_be_editable()
    expect(page.locator("#compaction-row")).to_contain_text("Compacting conversation…")


def unlocked(page: Page) -> None:
    expect(composer(page)).to_be_editable()
    expect(page.locator("#send")).to_be_visible()


def raw_message(page: Page) -> str:
    """The error code that answers a message sent past the lock."""
    path = page.locator("#chat").get_attribute("data-socket")
    frame = {"type": "message.send", "client_id": "past-the-lock", "text": "Now!"}
    code: str = page.evaluate(RAW_FRAME, [path, frame])
    return code


def fill_context(page: Page, model: DemoServer) -> None:
    """Three long answers: the next message is over 80 % of the small window."""
    set_before = 0
    for number, question in enumerate(["Count the words.", "Again.", "And again."], 1):
        model.script.reply(LONG_ANSWER, when=is_chat)
        say(page, question)
        wait_for_answer(page, number)
        expect(page.locator("#gauge-text")).not_to_have_text(f"{set_before} %")
        assert gauge(page) > set_before
        set_before = gauge(page)


def test_from_the_first_run_to_the_admin(
    page: Page,
    start_everlong: Start,
    small_window: dict[str, str],
    model: DemoServer,
    second_window: SecondWindow,
) -> None:
    server = start_everlong(**small_window, COMPACTION_PREPARE="0")
    set_up(page, server)
    fill_context(page, model)
    second = second_window(page)

    # The summary stalls: both tabs are locked, and the server holds the lock, not the page.
    gate = model.script.stall(SUMMARY[:40], then=SUMMARY[40:], when=is_summary)
    model.script.reply("After the compaction.", when=is_chat)
    composer(second).fill("A draft in the second tab")
    say(page, "And once more.")
    assert gate.reached.wait(PATIENCE)
    locked(page)
    locked(second)
    assert raw_message(second) == "conversation_busy"

    # It completes: the answer comes, the gauge falls, the divider stands in both tabs.
    gate.release()
    wait_for_answer(page, 4)
    for tab in (page, second):
        unlocked(tab)
        expect(tab.locator(".divider")).to_contain_text("Conversation compacted")
    expect(composer(second)).to_have_value("A draft in the second tab")
    assert gauge(page) < 80
    first_message = page.locator("article[data-role=user]").first
    expect(first_message).to_contain_text("Count the words.")

    # By hand, with a focus.
    model.script.reply(LONG_ANSWER, when=is_chat)
    say(page, "One more long one.")
    wait_for_answer(page, 5)
    model.script.reply(
        SUMMARY.replace("They counted words.", "They kept the count."), when=is_summary
    )
    say(page, "/compact the count")
    expect(page.locator(".divider")).to_have_count(2)
    unlocked(page)
    summariser = model.script.requests[-1]
    assert "the count" in summariser.last_user_text

    # A reload in mid-stream, and the second tab, show the same text.
    gate = model.script.stall(LONG_ANSWER[:3_000], then=LONG_ANSWER[3_000:], when=is_chat)
    say(page, "And the last one.")
    assert gate.reached.wait(PATIENCE)
    page.reload()
    for tab in (page, second):
        live = tab.locator("article[data-status=streaming]")
        expect(live).to_contain_text(LONG_ANSWER[2_900:2_990])
    gate.release()
    for tab in (page, second):
        expect(tab.locator("article[data-status=streaming]")).to_have_count(0)
        text = answers(tab).last.locator(".body").inner_text()
        assert " ".join(text.split()) == LONG_ANSWER

    page.goto(server.url + "/admin/chat/compaction/")
    page.locator("#result_list tbody a").first.click()
    expect(page.locator("body")).to_contain_text("They kept the count.")


@pytest.mark.services
def test_a_killed_worker_unlocks_both_tabs_within_a_lease(
    start_everlong: Start,
    start_worker,  # type: ignore[no-untyped-def]
    small_window: dict[str, str],
    model: DemoServer,
    page: Page,
    second_window: SecondWindow,
    scaled_environment: dict[str, str],
) -> None:
    server = start_everlong(
        "--no-worker",
        **small_window,
        **scaled_environment,
        LEASE_SECONDS="4",
        COMPACTION_PREPARE="0",
    )
    worker: CeleryProcess = start_worker(server)
    create_administrator(page.context, server)
    for _ in range(3):  # the next message is over 80 % of the small window
        model.script.reply(LONG_ANSWER, when=is_chat)
    said = ("Count the words.", "Again.", "And again.")
    page.goto(hold_conversation(server, page.context.storage_state(), *said))
    second = second_window(page)
    gate = model.script.stall(SUMMARY[:40], then=SUMMARY[40:], when=is_summary)
    model.script.reply("Without a summary.", when=is_chat)
    say(page, "And once more.")
    assert gate.reached.wait(PATIENCE)
    locked(page)
    locked(second)
    worker.kill()
    wait_for_answer(page, 4)
    for tab in (page, second):
        unlocked(tab)
        expect(tab.locator("#transcript, #live-rows").first).to_be_visible()
        expect(tab.locator(".divider")).to_have_count(0)
    gate.release()
    start_worker(server)
    model.script.reply(SUMMARY, when=is_summary, always=True)  # in parts, where one has no room
    say(page, "/compact")
    expect(page.locator(".divider")).to_have_count(1)
