"""What comes over the socket while something else happens: nothing is lost, nothing flickers."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from demo.api.script import is_chat
from demo.api.server import DemoServer
from tests.e2e.conftest import Tell, answers, composer, say, wait_for_answer, wait_until
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


def test_a_snapshot_that_waits_for_http_does_not_draw_over_what_came_since(
    page: Page, tell: Tell
) -> None:
    held: list[Route] = []
    page.route(re.compile(r"/messages/\?after="), lambda route: held.append(route))
    article = answers(page).last
    html, pk = article.evaluate("node => [node.outerHTML, Number(node.dataset.messageId)]")
    turn = {"turn_id": 77, "kind": "answer", "status": "running", "message_id": pk, "number": 2}
    turn |= {"seq": 0, "html": "", "through": 0, "text": "", "thinking": "Hm.", "rows": ""}
    # A head that the page does not know: it asks over HTTP.
    tell({"type": "snapshot", "title": "", "head": 99, "turn": turn, "compaction": None})
    finished = {"type": "turn.finished", "turn_id": 77, "kind": "answer", "status": "completed"}
    tell(finished | {"message_id": pk, "html": html, "error": None})
    wait_until(page, lambda: bool(held))
    with page.expect_response(re.compile(r"/messages/\?after=")):
        held[0].continue_()
    page.wait_for_load_state("networkidle")
    expect(page.locator("#status")).to_have_text("Response complete")
    expect(page.locator(".thinking.running")).to_have_count(0)
    expect(article).to_contain_text("Hi!")


BEGUN = [
    (
        "1. Do *this*:\n\n   ```python\n   if x:\n       print(x)\n   ```\n2. **The [docs](https",
        "://a.example)**",
        [("pre", "if x:\n    print(x)"), ("em", "this"), ("strong", "The docs")],
    ),
    (
        "| Name | Size |\n|:--|--:|\n| a\\|b | 1 |\n| `x` | 2",
        "0 |",
        [("th.align-right", "Size"), ("tr:nth-child(1) td:first-child", "a|b"), ("code", "x")],
    ),
    ("```sql\nSELECT 1\n```not the end\n| 2", "\n```", [("pre", "SELECT 1")]),
]


def test_what_is_being_written_looks_like_what_it_becomes(tab: Page, scripted: DemoServer) -> None:
    """A code block in a list, a table, and code."""
    for number, (begun, rest, seen) in enumerate(BEGUN, 1):
        gate = scripted.script.stall(begun, then=rest, when=is_chat)
        say(tab, "Hello")
        body = tab.locator(f"article[data-number='{2 * number}'] .body")
        for element, text in seen:
            expect(body.locator(f".tail {element}")).to_contain_text(text)
        gate.release()
        wait_for_answer(tab, number)
        expect(body.locator(".tail")).to_have_count(0)
        for element, text in seen:
            expect(body.locator(element).last).to_contain_text(text)


def test_code_that_was_scrolled_sideways_stays_so_while_it_goes_on(page: Page, tell: Tell) -> None:
    answer = {"turn_id": 77, "message_id": int(answers(page).last.get_attribute("data-message-id"))}
    begun = f"```\n{'x' * 400}\nsecond"
    turn = answer | {"kind": "answer", "status": "running", "number": 2, "seq": 0, "html": ""}
    turn |= {"through": 0, "text": begun, "thinking": "", "rows": ""}
    tell({"type": "snapshot", "title": "Hello", "head": 2, "turn": turn, "compaction": None})
    block = page.locator(".tail pre")
    expect(block).to_contain_text("second")
    block.evaluate("node => (node.scrollLeft = 90)")
    tell({"type": "turn.delta", "seq": 1, "offset": len(begun), "text": " line"} | answer)
    expect(block).to_contain_text("second line")
    assert block.evaluate("node => node.scrollLeft") == 90


def test_a_row_that_was_opened_stays_open_when_the_answer_ends(page: Page, tell: Tell) -> None:
    row = '<details class="row" data-call="c1"><summary>Call</summary><p>Result</p></details>'
    html, pk = answers(page).last.evaluate(
        "(node, row) => [node.outerHTML.replace('</footer>', `</footer>${row}`),"
        " Number(node.dataset.messageId)]",
        row,
    )
    finished = {"type": "turn.finished", "turn_id": 77, "kind": "answer", "status": "completed"}
    finished |= {"message_id": pk, "html": html, "error": None}
    tell(finished)
    page.get_by_text("Call", exact=True).click()
    expect(page.get_by_text("Result", exact=True)).to_be_visible()
    tell(finished | {"html": html.replace("Result", "Final result")})
    expect(page.get_by_text("Final result")).to_be_visible()


def test_a_compaction_that_is_over_at_once_locks_nothing(page: Page, tell: Tell) -> None:
    """As one that was prepared: its start and its end come together."""
    page.evaluate("""() => {
      window.locked = 0;
      new MutationObserver(() => (window.locked += 1)).observe(
        document.querySelector("#composer-text"), { attributeFilter: ["readonly"] });
    }""")
    common = {"compaction_id": 7, "messages": 3} | SIZES
    for kind in ("CompressionStarted", "CompressionCompleted"):
        tell({"type": kind, "success": True} | common)
    expect(page.locator("#compaction-row")).to_contain_text(COMPACTED)
    assert page.evaluate("window.locked") == 0


def test_the_note_on_how_a_summary_was_written_has_a_line_of_its_own(
    page: Page, tell: Tell
) -> None:
    pk = int(answers(page).last.get_attribute("data-message-id"))
    divider = '<section class="divider" id="compaction-7"><details></details></section>'
    done = {"type": "CompressionCompleted", "compaction_id": 7, "success": True, "html": divider}
    done |= {"after_message_id": pk} | SIZES
    tell(done | {"note": "Written by rule."})
    row = page.locator("#compaction-row")
    expect(row).to_contain_text("Written by rule.")
    assert row.inner_text() == f"{COMPACTED} · View summary\nWritten by rule."


def test_a_command_that_is_refused_stays(chat: Page) -> None:
    say(chat, "/compact the exact prices")
    expect(chat.locator("#notice")).to_contain_text("nothing to compact")
    expect(chat.locator("#notice")).to_have_class("info")  # not in the colour of an error
    expect(composer(chat)).to_have_value("/compact the exact prices")


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


def test_a_command_that_comes_before_the_socket_is_open_waits_for_it(chat: Page) -> None:
    chat.add_init_script(SOCKET_THAT_OPENS_LATE)
    chat.reload()
    say(chat, "/compact the exact prices")
    assert chat.evaluate("socket.sent") == []
    chat.evaluate("socket.fail()")
    chat.wait_for_function("() => socket.readyState === WebSocket.CONNECTING")
    # At once: two seconds later the page asks for a snapshot.
    sent = chat.evaluate("() => { socket.open(); return socket.sent; }")
    assert sent == [{"type": "compact", "focus": "the exact prices"}]
    expect(chat.locator("#notice")).to_be_hidden()
    expect(composer(chat)).to_have_value("/compact the exact prices")


def test_a_sent_message_takes_no_other_tabs_draft_and_no_later_file(
    chat: Page, scripted: DemoServer
) -> None:
    other = chat.context.new_page()
    other.goto(chat.url)
    composer(chat).fill("From here")
    composer(other).fill("A draft over there")
    scripted.script.reply("Thanks.", when=is_chat)
    composer(chat).press("Enter")
    wait_for_answer(chat, 2)
    expect(composer(chat)).to_have_value("")
    expect(composer(other)).to_have_value("A draft over there")
    other.reload()
    expect(composer(other)).to_have_value("A draft over there")


# Two: the answer to an earlier question came just then, and what it repeated was lost too.
@pytest.mark.parametrize("losses", [1, 2])
def test_a_message_that_gets_no_answer_is_asked_after(
    chat: Page, scripted: DemoServer, losses: int
) -> None:
    """As on a socket that is open at this end only, for a while."""
    chat.evaluate(
        """(losses) => {
          const send = WebSocket.prototype.send;
          WebSocket.prototype.send = function (data) {
            if (JSON.parse(data).type !== "message.send" || losses-- <= 0) send.call(this, data);
          };
        }""",
        losses,
    )
    scripted.script.reply("Now I hear you.", when=is_chat)
    say(chat, "Can you hear me?")
    expect(answers(chat).last).to_contain_text("Now I hear you.")
    expect(composer(chat)).to_have_value("")


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


def test_a_refused_budget_says_why_and_shows_what_counts(chat: Page, scripted: DemoServer) -> None:
    gate = scripted.script.stall("One mo", then="ment.", when=is_chat)
    say(chat, "Again")
    assert gate.reached.wait(PATIENCE)
    chat.locator("#gauge").click()
    budget = chat.locator("#budget")
    before = budget.input_value()
    budget.select_option(index=0 if budget.evaluate("node => node.selectedIndex") else 1)
    expect(chat.locator("#notice")).to_contain_text("An answer or a compaction is running")
    expect(budget).to_have_value(before)
    gate.release()
    wait_for_answer(chat, 2)
