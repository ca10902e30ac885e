"""A connection that dies without a word, and a network that is away: the page goes on by itself."""

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import composer, say, wait_for_answer
from tests.support.server import EverlongProcess
from tests.support.silent_proxy import SilentProxy

pytestmark = pytest.mark.e2e

# Seconds: of quiet after which the page asks, and that an answer may take. A frame begins them.
SET = """([lease, ping, grace]) => {
  Object.assign(document.querySelector("#chat").dataset, { lease, ping, grace });
  dispatchEvent(new Event("online"));
}"""
SOON, NEVER, GRACE = 0.3, 1_000, 5


def test_a_connection_that_died_without_a_word_is_left_and_nothing_is_lost_or_sent_twice(
    chat: Page, server: EverlongProcess, scripted: DemoServer
) -> None:
    banner = chat.locator("#connection-banner")
    with SilentProxy(server.port) as proxy:
        chat.goto(chat.url.replace(server.url, proxy.url))
        # A quiet page.
        chat.evaluate(SET, [NEVER, SOON, GRACE])
        with chat.expect_websocket():
            proxy.silence()
        expect(banner).to_be_hidden()
        # While an answer is written, whose end is fetched by a connection that died too.
        gate = scripted.script.stall("Yes.\n\nInd", then="eed.", when=is_chat)
        say(chat, "While it is written")
        expect(chat.locator("#stop")).to_be_visible()
        chat.evaluate(SET, [SOON, NEVER, GRACE])
        with chat.expect_websocket():
            proxy.silence()
        gate.release()
        wait_for_answer(chat, 2)
        # A message that goes out into the silence.
        scripted.script.reply("Once.", when=is_chat)
        with chat.expect_websocket():
            proxy.silence()
            say(chat, "Into the silence")
        wait_for_answer(chat, 3)
        expect(chat.locator("article[data-role=user]")).to_have_count(3)
        expect(chat.locator("#notice")).to_be_hidden()
        expect(banner).to_be_hidden()


def test_a_network_that_is_away_is_told_and_the_message_goes_out_when_it_is_back(
    chat: Page, scripted: DemoServer
) -> None:
    banner = chat.locator("#connection-banner")
    chat.context.set_offline(True)
    expect(banner).to_contain_text("You are offline")
    say(chat, "From the train")
    expect(chat.locator("#notice")).to_contain_text("when the connection is back")
    scripted.script.reply("Arrived.", when=is_chat)
    chat.context.set_offline(False)
    wait_for_answer(chat, 2)
    expect(chat.locator("article[data-role=user]")).to_have_count(2)
    expect(banner).to_be_hidden()
    expect(chat.locator("#notice")).to_be_hidden()
    # On the start page too, which has no socket.
    chat.get_by_role("link", name="New chat").click()
    expect(chat.locator("#recent")).to_be_visible()
    chat.context.set_offline(True)
    expect(banner).to_contain_text("You are offline")
    chat.context.set_offline(False)
    expect(banner).to_be_hidden()
    expect(composer(chat)).to_be_editable()
