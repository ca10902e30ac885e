"""The colours of the gauge: calm where nobody waits, red only where something will be lost."""

import json

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import (
    SUMMARY,
    Talk,
    Tell,
    say,
    wait_for_answer,
)

pytestmark = pytest.mark.e2e

# Three of them fill four fifths of the window.
LONG_ANSWER = " ".join(f"word{n}" for n in range(2_000))
READY = "A summary is ready and swaps in"


def test_a_prepared_summary_calms_the_gauge_and_swaps_in_with_the_next_message(
    page: Page, talk: Talk, scripted: DemoServer
) -> None:
    talk(("Count the words.", LONG_ANSWER), ("Again.", LONG_ANSWER))
    scripted.script.reply(SUMMARY, when=is_summary)
    scripted.script.reply(LONG_ANSWER, when=is_chat)
    say(page, "And again.")
    wait_for_answer(page, 3)
    gauge = page.locator("#gauge")
    expect(gauge).to_have_attribute("data-level", "neutral")
    gauge.click()
    expect(page.locator("#gauge-hint")).to_contain_text(f"{READY} with your next message.")
    page.reload()
    expect(gauge).to_have_attribute("title", f"{READY} with your next message.")
    gauge.click()
    expect(page.locator("#gauge-hint")).to_contain_text(f"{READY} with your next message.")
    scripted.script.reply("Here.", when=is_chat)
    say(page, "And now?")
    wait_for_answer(page, 4)
    expect(page.locator(".divider")).to_be_visible()
    expect(page.locator("#gauge-hint")).not_to_contain_text(READY)


def test_the_panel_tells_what_the_conversation_has_cost_each_time_that_it_opens(
    page: Page, talk: Talk, scripted: DemoServer
) -> None:
    talk(("Hello", "Hi!"))
    totals = page.locator("#gauge-totals")
    written = totals.locator("dd").nth(1)
    page.locator("#gauge").click()
    expect(written).to_have_text("3")
    page.keyboard.press("Escape")
    scripted.script.reply("word " * 90, when=is_chat)
    say(page, "And now?")
    wait_for_answer(page, 2)
    page.locator("#gauge").click()
    expect(written).not_to_have_text("3")
    expect(totals).to_contain_text("0 compactions")


# Each is another picture than the one before.
TOLD = [
    ({"ratio": 0.95}, "amber"),
    ({"ratio": 0.95, "ready": True}, "neutral"),
    ({"ratio": 0.95, "automatic": False}, "red"),
    ({"ratio": 0.75, "ready": True}, "neutral"),
    ({"ratio": 0.95, "automatic": False, "ready": True}, "red"),
    ({"ratio": 0.95, "held": True}, "amber"),
]


def test_red_is_only_what_will_be_lost(page: Page, tell: Tell) -> None:
    usage = json.loads(page.locator("#usage-data").inner_text())
    for told, level in TOLD:
        tell(usage | {"type": "context.usage"} | told)
        expect(page.locator("#gauge-text")).to_have_text(f"{told['ratio']:.0%}".replace("%", " %"))
        expect(page.locator("#gauge")).to_have_attribute("data-level", level)
