"""What comes over the socket while something else happens: nothing is lost, nothing flickers."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import answers, composer, say, wait_for_answer
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.e2e

# Of a compaction, and what is said of them at its end.
SIZES = {
    "tokens_before": 900,
    "tokens_after": 100,
    "messages_before": 8,
    "messages_after": 3,
    "why": "on request",
}
COMPACTED = "Compacted 900 → 100 tokens, 8 → 3 messages (on request)"


def say_into_socket(tab: Page) -> Callable[[dict[str, Any]], None]:
    """Frames for the tab besides those of the server."""
    sockets: list[WebSocketRoute] = []

    def join(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: (socket.send(message), sockets.append(socket)))

    tab.route_web_socket(re.compile("/ws/"), join)
    tab.reload()
    expect(tab.locator("article[data-role=assistant] .actions").last).to_be_attached()
    while not sockets:  # until the first snapshot has come
        tab.evaluate("() => new Promise(requestAnimationFrame)")
    return lambda frame: sockets[-1].send(json.dumps(frame))


def test_a_snapshot_that_waits_for_http_does_not_draw_over_what_came_since(
    tab: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tell = say_into_socket(tab)
    held: list[Route] = []
    tab.route(re.compile(r"/messages/\?after="), lambda route: held.append(route))
    article = answers(tab).last
    html, pk = article.evaluate("node => [node.outerHTML, Number(node.dataset.messageId)]")
    turn = {"turn_id": 77, "kind": "answer", "status": "running", "message_id": pk, "number": 2}
    turn |= {"seq": 0, "html": "", "through": 0, "text": "", "thinking": "Hm.", "rows": ""}
    # A head that the page does not know: it asks over HTTP.
    tell({"type": "snapshot", "title": "", "head": 99, "turn": turn, "compaction": None})
    finished = {"type": "turn.finished", "turn_id": 77, "kind": "answer", "status": "completed"}
    tell(finished | {"message_id": pk, "html": html, "error": None})
    while not held:
        tab.evaluate("() => new Promise(requestAnimationFrame)")
    with tab.expect_response(re.compile(r"/messages/\?after=")):
        held[0].continue_()
    tab.wait_for_load_state("networkidle")
    expect(tab.locator("#status")).to_have_text("Response complete")
    expect(tab.locator(".thinking.running")).to_have_count(0)
    expect(article).to_contain_text("Hi!")


BEGUN = {
    "a code block in a list": (
        "1. Do *this*:\n\n   ```python\n   if x:\n       print(x)\n   ```\n2. **The [docs](https",
        "://a.example)**",
        [("pre", "if x:\n    print(x)"), ("em", "this"), ("strong", "The docs")],
    ),
    "a table": (
        "| Name | Size |\n|:--|--:|\n| a\\|b | 1 |\n| `x` | 2",
        "0 |",
        [("th.align-right", "Size"), ("tr:nth-child(1) td:first-child", "a|b"), ("code", "x")],
    ),
    "code": ("```sql\nSELECT 1\n```not the end\n| 2", "\n```", [("pre", "SELECT 1")]),
}


@pytest.mark.parametrize(("begun", "rest", "seen"), BEGUN.values(), ids=BEGUN.keys())
def test_what_is_being_written_looks_like_what_it_becomes(
    tab: Page, scripted: DemoServer, begun: str, rest: str, seen: list[tuple[str, str]]
) -> None:
    gate = scripted.script.stall(begun, then=rest, when=is_chat)
    say(tab, "Hello")
    body = tab.locator("article[data-role=assistant]").last.locator(".body")
    for element, text in seen:
        expect(body.locator(f".tail {element}")).to_contain_text(text)
    gate.release()
    wait_for_answer(tab, 1)
    expect(body.locator(".tail")).to_have_count(0)
    for element, text in seen:
        expect(body.locator(element).last).to_contain_text(text)


def test_code_that_was_scrolled_sideways_stays_so_while_it_goes_on(
    tab: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tell = say_into_socket(tab)
    answer = {"turn_id": 77, "message_id": int(answers(tab).last.get_attribute("data-message-id"))}
    begun = f"```\n{'x' * 400}\nsecond"
    turn = answer | {"kind": "answer", "status": "running", "number": 2, "seq": 0, "html": ""}
    turn |= {"through": 0, "text": begun, "thinking": "", "rows": ""}
    tell({"type": "snapshot", "title": "Hello", "head": 2, "turn": turn, "compaction": None})
    block = tab.locator(".tail pre")
    expect(block).to_contain_text("second")
    block.evaluate("node => (node.scrollLeft = 90)")
    tell({"type": "turn.delta", "seq": 1, "offset": len(begun), "text": " line"} | answer)
    expect(block).to_contain_text("second line")
    assert block.evaluate("node => node.scrollLeft") == 90


def test_a_row_that_was_opened_stays_open_when_the_answer_ends(
    tab: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tell = say_into_socket(tab)
    row = '<details class="row" data-call="c1"><summary>Call</summary><p>Result</p></details>'
    html, pk = answers(tab).last.evaluate(
        "(node, row) => [node.outerHTML.replace('</footer>', `</footer>${row}`),"
        " Number(node.dataset.messageId)]",
        row,
    )
    finished = {"type": "turn.finished", "turn_id": 77, "kind": "answer", "status": "completed"}
    finished |= {"message_id": pk, "html": html, "error": None}
    tell(finished)
    tab.get_by_text("Call", exact=True).click()
    expect(tab.get_by_text("Result", exact=True)).to_be_visible()
    tell(finished | {"html": html.replace("Result", "Final result")})
    expect(tab.get_by_text("Final result")).to_be_visible()


def test_a_compaction_that_is_over_at_once_locks_nothing(tab: Page, scripted: DemoServer) -> None:
    """As one that was prepared: its start and its end come together."""
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tell = say_into_socket(tab)
    tab.evaluate("""() => {
      window.locked = 0;
      new MutationObserver(() => (window.locked += 1)).observe(
        document.querySelector("#composer-text"), { attributeFilter: ["readonly"] });
    }""")
    common = {"compaction_id": 7, "messages": 3} | SIZES
    for kind in ("CompressionStarted", "CompressionCompleted"):
        tell({"type": kind, "success": True} | common)
    expect(tab.locator("#compaction-row")).to_contain_text(COMPACTED)
    assert tab.evaluate("window.locked") == 0


def test_the_note_on_how_a_summary_was_written_has_a_line_of_its_own(
    tab: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tell = say_into_socket(tab)
    pk = int(answers(tab).last.get_attribute("data-message-id"))
    divider = '<section class="divider" id="compaction-7"><details></details></section>'
    done = {"type": "CompressionCompleted", "compaction_id": 7, "success": True, "html": divider}
    done |= {"after_message_id": pk} | SIZES
    tell(done | {"note": "Written by rule."})
    row = tab.locator("#compaction-row")
    expect(row).to_contain_text("Written by rule.")
    assert row.inner_text() == f"{COMPACTED} · View summary\nWritten by rule."


def test_a_command_that_is_refused_stays(tab: Page, scripted: DemoServer) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    say(tab, "/compact the exact prices")
    expect(tab.locator("#notice")).to_contain_text("nothing to compact")
    expect(tab.locator("#notice")).to_have_class("info")  # not in the colour of an error
    expect(composer(tab)).to_have_value("/compact the exact prices")


SOCKET_THAT_OPENS_LATE = """
window.WebSocket = class extends EventTarget {
  static CONNECTING = 0;
  static OPEN = 1;
  readyState = 0;
  sent = [];
  constructor() {
    super();
    window.socket = this;
  }
  open() {
    this.readyState = 1;
    this.onopen();
    this.dispatchEvent(new Event("open"));
  }
  fail() {
    this.readyState = 3;
    this.onclose({ code: 1006 });
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
};"""


def test_a_command_that_comes_before_the_socket_is_open_waits_for_it(
    tab: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tab.add_init_script(SOCKET_THAT_OPENS_LATE)
    tab.reload()
    say(tab, "/compact the exact prices")
    assert tab.evaluate("socket.sent") == []
    tab.evaluate("socket.fail()")
    tab.wait_for_function("() => socket.readyState === WebSocket.CONNECTING")
    # At once: two seconds later the page asks for a snapshot.
    sent = tab.evaluate("() => { socket.open(); return socket.sent; }")
    assert sent == [{"type": "compact", "focus": "the exact prices"}]
    expect(tab.locator("#notice")).to_be_hidden()
    expect(composer(tab)).to_have_value("/compact the exact prices")


def test_a_sent_message_takes_no_other_tabs_draft_and_no_later_file(
    tab: Page, scripted: DemoServer
) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    other = tab.context.new_page()
    other.goto(tab.url)
    composer(tab).fill("From here")
    composer(other).fill("A draft over there")
    scripted.script.reply("Thanks.", when=is_chat)
    composer(tab).press("Enter")
    wait_for_answer(tab, 2)
    expect(composer(tab)).to_have_value("")
    expect(composer(other)).to_have_value("A draft over there")
    other.reload()
    expect(composer(other)).to_have_value("A draft over there")


# Two: the answer to an earlier question came just then, and what it repeated was lost too.
@pytest.mark.parametrize("losses", [1, 2])
def test_a_message_that_gets_no_answer_is_asked_after(
    tab: Page, scripted: DemoServer, losses: int
) -> None:
    """As on a socket that is open at this end only, for a while."""
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    tab.evaluate(
        """(losses) => {
          const send = WebSocket.prototype.send;
          WebSocket.prototype.send = function (data) {
            if (JSON.parse(data).type !== "message.send" || losses-- <= 0) send.call(this, data);
          };
        }""",
        losses,
    )
    scripted.script.reply("Now I hear you.", when=is_chat)
    say(tab, "Can you hear me?")
    expect(answers(tab).last).to_contain_text("Now I hear you.")
    expect(composer(tab)).to_have_value("")


def test_stop_says_so_where_it_cannot_be_sent(tab: Page, scripted: DemoServer) -> None:
    gate = scripted.script.stall("One mo", then="ment.", when=is_chat)
    say(tab, "Hello")
    assert gate.reached.wait(PATIENCE)
    expect(tab.locator("article[data-status=streaming]")).to_contain_text("One mo")
    tab.evaluate("""() => Object.defineProperty(
      WebSocket.prototype, "readyState", { get: () => WebSocket.CLOSED })""")
    tab.locator("#stop").click()
    expect(tab.locator("#notice")).to_contain_text("Not connected")
    gate.release()
    wait_for_answer(tab, 1)


def test_a_refused_budget_says_why_and_shows_what_counts(tab: Page, scripted: DemoServer) -> None:
    scripted.script.reply("Hi!", when=is_chat)
    say(tab, "Hello")
    wait_for_answer(tab, 1)
    gate = scripted.script.stall("One mo", then="ment.", when=is_chat)
    say(tab, "Again")
    assert gate.reached.wait(PATIENCE)
    tab.locator("#gauge").click()
    budget = tab.locator("#budget")
    before = budget.input_value()
    budget.select_option(index=0 if budget.evaluate("node => node.selectedIndex") else 1)
    expect(tab.locator("#notice")).to_contain_text("An answer or a compaction is running")
    expect(budget).to_have_value(before)
    gate.release()
    wait_for_answer(tab, 2)
