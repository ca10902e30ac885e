"""What is too large, and what stands between: the page says so and keeps the text."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Talk, answers, composer, say, wait_for_answer

pytestmark = pytest.mark.e2e

# Every handshake fails, as behind a proxy that does not know websockets.
BLOCK = """
  const Original = WebSocket;
  window.WebSocket = function (url) {
    return new Original(window.blocked === false ? url : url.replace("/ws/", "/nowhere/"));
  };
  Object.assign(window.WebSocket, { OPEN: 1, prototype: Original.prototype });
"""


def count_frames(page: Page) -> Callable[[], int]:
    """How many messages the page has sent since; what it repeats after a snapshot counts once."""
    page.evaluate("""() => {
      window.sentMessages = new Set();
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (data) {
        if (data.includes('"message.send"')) window.sentMessages.add(JSON.parse(data).client_id);
        send.call(this, data);
      };
    }""")
    return lambda: page.evaluate("window.sentMessages.size")


def put(page: Page, text_of: str) -> None:
    """Put a text, given as JavaScript, into the message box."""
    composer(page).evaluate(f"""(box) => {{
      box.value = {text_of};
      box.dispatchEvent(new Event("input", {{ bubbles: true }}));
    }}""")


def test_a_message_that_is_too_long_is_not_sent_at_all(chat: Page, scripted: DemoServer) -> None:
    sent = count_frames(chat)
    put(chat, '"word ".repeat(40_000) + "!"')
    composer(chat).press("Enter")
    notice = chat.locator("#notice")
    expect(notice).to_contain_text("200,001 characters; the limit is 200,000")
    assert composer(chat).evaluate("box => box.value.length") == 200_001
    assert sent() == 0
    # Counted as the server counts: six characters, each of two UTF-16 units.
    chat.locator("#composer").evaluate("form => (form.dataset.mostCharacters = 6)")
    scripted.script.reply("So many!", when=is_chat)
    say(chat, "😀" * 6)
    wait_for_answer(chat, 2)


def test_a_frame_that_the_server_does_not_take_is_kept_and_not_repeated(
    chat: Page, scripted: DemoServer
) -> None:
    sent = count_frames(chat)
    chat.locator("#composer").evaluate("form => (form.dataset.mostCharacters = 1e9)")
    # Six bytes each where they are sent; in words, for one long one takes seconds to lay out.
    put(chat, r'("\u0001".repeat(99) + " ").repeat(4_250)')
    composer(chat).press("Enter")
    expect(chat.locator("#notice")).to_contain_text("too large to send at once")
    assert composer(chat).evaluate("box => box.value.length") == 425_000
    # The socket is back: what is short enough goes out, and only that.
    scripted.script.reply("Better.", when=is_chat)
    say(chat, "Shorter")
    wait_for_answer(chat, 2)
    expect(answers(chat).last).to_contain_text("Better.")
    assert sent() == 2


def test_what_blocks_websockets_is_named(page: Page, talk: Talk) -> None:
    page.add_init_script(BLOCK)
    chat = talk(("Hello", "Hi!"))
    banner = chat.locator("#connection-banner")
    expect(banner).to_contain_text("blocks WebSocket connections")
    chat.evaluate("window.blocked = false")
    expect(banner).to_be_hidden()


def test_a_server_that_is_away_blocks_nothing(page: Page, talk: Talk) -> None:
    page.route(re.compile("/healthz"), lambda route: route.abort())
    page.add_init_script(BLOCK)
    handshakes: list[object] = []
    page.on("websocket", lambda socket: handshakes.append(socket))
    chat = talk(("Hello", "Hi!"))
    while len(handshakes) < 5:
        chat.wait_for_event("websocket")
    expect(chat.locator("#connection-banner")).to_have_text("Reconnecting…")


def test_too_many_tabs_are_named(page: Page, talk: Talk) -> None:
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close(code=4429))
    chat = talk(("Hello", "Hi!"))
    expect(chat.locator("#connection-banner")).to_contain_text("too many tabs")


def test_a_proxy_that_takes_less_has_words(chat: Page) -> None:
    chat.route(
        re.compile("/attachments/$"),
        lambda route: route.fulfill(status=413, content_type="text/html", body="<h1>413</h1>"),
    )
    file = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"notes"}
    chat.locator("#file-input").set_input_files(file)
    expect(chat.locator("#notice")).to_contain_text("notes.txt was not accepted: it is larger")
    chat.goto(chat.url.split("/c/")[0])
    chat.route(
        re.compile("/c/$"),
        lambda route: route.fulfill(status=413, content_type="text/html", body="<h1>413</h1>"),
    )
    say(chat, "Hello")
    expect(chat.locator("#notice")).to_contain_text("larger than the server, or a proxy")
    expect(composer(chat)).to_have_value("Hello")


def test_the_servers_own_limit_of_an_upload_is_read_by_the_page(chat: Page) -> None:
    chat.locator("#composer").evaluate("form => (form.dataset.mostBytes = 1e9)")
    chat.evaluate("""() => {
      const files = new DataTransfer();
      files.items.add(new File([new Uint8Array(40_000_000)], "huge.bin"));
      document.querySelector("#file-input").files = files.files;
      document.querySelector("#file-input").dispatchEvent(new Event("change"));
    }""")
    expect(chat.locator("#notice")).to_contain_text("huge.bin was not accepted: it is larger")
