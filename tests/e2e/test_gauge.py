"""The colours of the gauge: calm where nobody waits, red only where something will be lost."""

import json

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import LONG_ANSWER, SUMMARY, Start, say, set_up, wait_for_answer
from tests.e2e.test_while_answering import say_into_socket

pytestmark = pytest.mark.e2e

READY = "A summary is ready and swaps in"


def test_a_prepared_summary_calms_the_gauge_and_swaps_in_with_the_next_message(
    page: Page, start_everlong: Start, small_window: dict[str, str], model: DemoServer
) -> None:
    set_up(page, start_everlong(**small_window))
    model.script.reply(SUMMARY, when=is_summary)
    for number in range(1, 4):
        model.script.reply(LONG_ANSWER, when=is_chat)
        say(page, "Count the words.")
        wait_for_answer(page, number)
    gauge = page.locator("#gauge")
    expect(gauge).to_have_attribute("data-level", "neutral")
    gauge.click()
    expect(page.locator("#gauge-hint")).to_contain_text(f"{READY} with your next message.")
    page.reload()
    expect(gauge).to_have_attribute("title", f"{READY} with your next message")
    gauge.click()
    expect(page.locator("#gauge-hint")).to_contain_text(f"{READY} with your next message.")
    model.script.reply("Here.", when=is_chat)
    say(page, "And now?")
    wait_for_answer(page, 4)
    expect(page.locator(".divider")).to_be_visible()
    expect(page.locator("#gauge-hint")).not_to_contain_text(READY)


@pytest.mark.parametrize(
    ("told", "level"),
    [
        ({"ratio": 0.95}, "amber"),
        ({"ratio": 0.95, "ready": True}, "neutral"),
        ({"ratio": 0.75, "ready": True}, "neutral"),
        ({"ratio": 0.95, "held": True}, "amber"),
        ({"ratio": 0.95, "automatic": False}, "red"),
        ({"ratio": 0.95, "automatic": False, "ready": True}, "red"),
    ],
)
def test_red_is_only_what_will_be_lost(
    tab: Page, scripted: DemoServer, told: dict[str, object], level: str
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tell = say_into_socket(tab)
    usage = json.loads(tab.locator("#usage-data").inner_text())
    tell(usage | {"type": "context.usage"} | told)
    expect(tab.locator("#gauge-text")).to_have_text(f"{told['ratio']:.0%}".replace("%", " %"))
    expect(tab.locator("#gauge")).to_have_attribute("data-level", level)
