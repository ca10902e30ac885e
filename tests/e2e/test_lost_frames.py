"""Events of the server are lost: the message box is free again all the same, with its text."""

import json
import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from demo.api.script import Gate, is_chat, is_summary
from demo.api.server import DemoServer
from tests.e2e.conftest import SUMMARY, composer, say, wait_for_answer, wait_until

pytestmark = pytest.mark.e2e

LONG = "word " * 400
DRAFT = "What I type meanwhile"
NEVER, SOON = 1_000, 0.3  # seconds of silence after which the page asks
# Of an answer and of a compaction: the next frame of these kinds is lost.
LOST = [
    ("turn.started", "turn.started"),
    ("turn.delta", "CompressionStarted"),
    ("turn.block", "CompressionCompleted"),
    ("turn.finished", "turn.finished"),
    ("context.usage", "context.usage"),
]


@dataclass
class Wire:
    """The tab's socket, which loses what it is told to lose."""

    lost: set[str] = field(default_factory=set)  # the next frame of each of these kinds
    cut: bool = False  # everything but answers to this tab
    asked: int = 0  # for snapshots
    kinds: list[str] = field(default_factory=list)  # of all that came, lost or not
    sockets: list[WebSocketRoute] = field(default_factory=list)

    def join(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        self.sockets.append(server)
        server.on_message(lambda frame: self._passes(frame) and socket.send(frame))
        socket.on_message(lambda frame: self._send(server, frame))

    def _passes(self, frame: str | bytes) -> bool:
        kind = json.loads(frame)["type"]
        self.kinds.append(kind)
        if kind in self.lost:
            self.lost.remove(kind)
            return False
        return kind in ("snapshot", "error") or not self.cut

    def _send(self, server: WebSocketRoute, frame: str | bytes) -> None:
        self.asked += json.loads(frame)["type"] == "sync"
        server.send(frame)

    def compact(self) -> None:
        """As another tab does."""
        self.sockets[-1].send(json.dumps({"type": "compact"}))


def set_lease(tab: Page, seconds: float) -> None:
    tab.evaluate("(seconds) => (document.querySelector('#chat').dataset.lease = seconds)", seconds)


def compacted(tab: Page, number: int) -> None:
    """The compaction with that number is shown, and the message box is free, with its text."""
    expect(tab.locator(".divider")).to_have_count(number)
    expect(composer(tab)).to_be_editable()
    expect(composer(tab)).to_have_value(DRAFT)
    expect(tab.locator("#send")).to_be_enabled()


def test_any_lost_event_leaves_the_message_box_free(tab: Page, scripted: DemoServer) -> None:
    def answer() -> Gate:
        gate = scripted.script.stall("Yes.\n\nInd", then="eed.", when=is_chat)
        say(tab, LONG)
        expect(tab.locator("#stop")).to_be_visible()
        return gate

    def compact() -> Gate:
        composer(tab).fill(DRAFT)
        gate = scripted.script.stall(SUMMARY[:40], then=SUMMARY[40:], when=is_summary)
        wire.compact()
        expect(composer(tab)).not_to_be_editable()
        return gate

    wire = Wire()
    tab.route_web_socket(re.compile("/ws/"), wire.join)
    for number in range(1, 4):
        answer().release()
        wait_for_answer(tab, number)
    # A later event shows that something is missing.
    set_lease(tab, NEVER)
    for number, (of_answer, of_compaction) in enumerate(LOST, 1):
        wire.lost = {of_answer}
        answer().release()
        wait_for_answer(tab, number + 3)
        wait_until(tab, lambda: not wire.lost)
        wire.lost = {of_compaction}
        compact().release()
        compacted(tab, number)
        wait_until(tab, lambda: not wire.lost)
    # So does a refusal, where nothing else comes.
    gate = answer()
    wire.cut = True
    ends = wire.kinds.count("turn.finished")
    gate.release()
    wait_until(tab, lambda: wire.kinds.count("turn.finished") > ends)
    tab.locator("#stop").click()
    wait_for_answer(tab, len(LOST) + 4)
    # And silence; the snapshot itself may be lost.
    wire.cut = False
    set_lease(tab, SOON)
    wire.lost = {"turn.started", "snapshot"}
    answer().release()
    wait_for_answer(tab, len(LOST) + 5)
    wait_until(tab, lambda: not wire.lost)
    # While the compaction works, asking does not open the message box.
    gate = compact()
    wire.cut = True
    asked = wire.asked
    wait_until(tab, lambda: wire.asked > asked + 2)
    expect(composer(tab)).not_to_be_editable()
    gate.release()
    compacted(tab, len(LOST) + 1)
