"""Opening conversations in Chromium: as quick at 10,000 messages as at 100.

`python -m bench.pages`. A page is usable when its newest message is painted, the message box takes
text and the socket has brought its snapshot. Lengths take turns within one run; the shortest time
of each counts, so that what else the machine does is left out.
"""

import argparse
from collections import defaultdict
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

from bench.report import Report
from tests.shots import PASSWORD, running_site
from tests.support.server import EverlongProcess, manage

LENGTHS = (100, 1_000, 10_000)
MOST_RATIO = 1.1
MOST_SCRIPT, MOST_IN_ALL, MOST_REQUESTS = 60_000, 90_000, 12
MOST_SHIFT = 0.02  # while an answer is written and followed
MOST_SWITCH = 0.7  # of the time that a whole page takes
MOST_PLAIN = 2  # times the first paint of a page without anything
MAKE = """
from accounts.models import User
from bench.length import make_conversation
row = make_conversation(User.objects.get(), {0})
row.title = "Length {0}"
row.save(update_fields=["title"])
"""

# Set before anything of the page runs: when the first snapshot came.
WATCH_SOCKET = """
const Real = WebSocket;
window.WebSocket = class extends Real {
  constructor(...arguments_) {
    super(...arguments_);
    this.addEventListener("message", () => (window.snapshotAt ??= performance.now()));
  }
};
"""
USABLE = """
() => new Promise((done) => {
  const look = () => {
    const painted = performance.getEntriesByName("first-contentful-paint")[0];
    if (painted && window.snapshotAt) done(Math.max(painted.startTime, window.snapshotAt));
    else requestAnimationFrame(look);
  };
  look();
})
"""


PAINTED = """
() => new Promise((done) => new PerformanceObserver((list) => {
  const [first] = list.getEntriesByName("first-contentful-paint");
  if (first) done(first.startTime);
}).observe({ type: "paint", buffered: true }))
"""
# What moved by itself, as browsers count it; nothing that a person did within half a second.
WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


def make_conversations(page: Page, server: EverlongProcess) -> dict[int, str]:
    """The addresses of conversations by length, compacted as in `bench.length`."""
    page.goto(server.url + server.setup_path)
    page.fill("[name=username]", "bench")
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url(server.url + "/")
    for length in LENGTHS:
        manage(server.environment, "shell", "--verbosity", "0", "--command", MAKE.format(length))
    page.reload()
    return {
        length: server.url
        + str(page.get_by_role("link", name=f"Length {length}", exact=True).get_attribute("href"))
        for length in LENGTHS
    }


def measure_usable(page: Page, url: str) -> float:
    """Milliseconds from the start of the navigation."""
    page.goto(url)
    milliseconds: float = page.evaluate(USABLE)
    return milliseconds


# Set before anything of a page runs: when a chat takes text, and when it has its snapshot too.
WATCH_CHATS = """
const look = () => {
  const chat = document.querySelector("#chat");
  const now = performance.timeOrigin + performance.now();
  if (chat && chat !== window.writableChat && document.activeElement?.id === "composer-text") {
    window.writableChat = chat;
    window.writableAt = now;
  }
  if (chat && chat !== window.usableChat && chat === window.writableChat && window.snapshotAt) {
    window.usableChat = chat;
    window.usableAt = now;
  }
  requestAnimationFrame(look);
};
look();
"""
USABLE_AT = """
(id) => new Promise((done) => {
  const look = () => {
    if (window.usableChat?.dataset.conversationId === id)
      done([window.writableAt, window.usableAt]);
    else requestAnimationFrame(look);
  };
  look();
})
"""
# `whole`: as a browser follows a link that has no script.
PRESS = """
({ path, whole }) => {
  const link = document.querySelector(`#sidebar-list a[href="${path}"]`);
  window.snapshotAt = undefined;
  const pressed = performance.timeOrigin + performance.now();
  if (whole) location.assign(link.href);
  else link.click();
  return pressed;
}
"""


def measure_way(page: Page, url: str, *, whole: bool) -> tuple[float, float]:
    """Milliseconds from a press in the list until the message box takes text, and until the
    snapshot has come too."""
    path = urlsplit(url).path
    pressed: float = page.evaluate(PRESS, {"path": path, "whole": whole})
    page.wait_for_url(url, wait_until="commit")
    writable, usable = page.evaluate(USABLE_AT, path.split("/")[2])
    return writable - pressed, usable - pressed


def measure_ways(report: Report, page: Page, urls: list[str], repetitions: int) -> None:
    """From one conversation to another: in the page, and as a page of its own, in turns."""
    times: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    page.add_init_script(WATCH_CHATS)
    page.goto(urls[0])
    page.evaluate(USABLE_AT, urlsplit(urls[0]).path.split("/")[2])
    for turn in range(repetitions + 1):
        for whole in (False, True):
            for url in reversed(urls):
                took = measure_way(page, url, whole=whole)
                if turn:  # the first warms up
                    times[whole].append(took)
    for index, name in enumerate(("writable", "usable")):
        swapped, loaded = (median(took[index] for took in times[whole]) for whole in (False, True))
        report.add(f"pages.switch.{name}_ms", swapped, "ms")
        report.add(f"pages.switch.whole.{name}_ms", loaded, "ms")
        report.add(f"pages.switch.{name}_ratio", swapped / loaded, "x whole", MOST_SWITCH)


def weigh(report: Report, page: Page, url: str) -> None:
    """What a visit without a cache fetches."""
    network = page.context.new_cdp_session(page)
    scripts: set[str] = set()
    sizes: dict[str, int] = {}

    def requested(event: dict[str, Any]) -> None:
        if event.get("type") == "Script":
            scripts.add(event["requestId"])

    network.on("Network.requestWillBeSent", requested)
    network.on(
        "Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]})
    )
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.goto(url, wait_until="networkidle")
    fetched = {key: size for key, size in sizes.items() if size}
    script = sum(size for key, size in fetched.items() if key in scripts)
    report.add("pages.cold.requests", len(fetched), "requests", MOST_REQUESTS)
    report.add("pages.cold.script", script, "bytes", MOST_SCRIPT)
    report.add("pages.cold.all", sum(fetched.values()), "bytes", MOST_IN_ALL)
    network.detach()


def measure_shift(report: Report, page: Page, url: str) -> None:
    """How much the page moves while an answer is written to a reader at its end."""
    page.goto(url)
    page.evaluate(USABLE)
    page.evaluate(WATCH_SHIFTS)
    page.fill("#composer-text", "Show me a table and some code")
    page.press("#composer-text", "Enter")
    page.locator("#stop").wait_for()
    page.locator("#send").wait_for()
    report.add("pages.answer.shift", page.evaluate("window.shifted"), "", MOST_SHIFT)


def measure_pages(
    report: Report, browser: Browser, server: EverlongProcess, repetitions: int
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    urls = make_conversations(page, server)
    weigh(report, page, server.url + "/")
    page.add_init_script(WATCH_SOCKET)
    times: dict[int, list[float]] = defaultdict(list)
    plain: list[float] = []
    for turn in range(repetitions + 1):
        for length, url in urls.items():
            took = measure_usable(page, url)
            if turn:  # the first warms up
                times[length].append(took)
        page.goto(f"{server.url}/healthz")
        plain.append(page.evaluate(PAINTED))
    shortest, *longer = LENGTHS
    for length in LENGTHS:
        report.add(f"pages.open.{length}.usable_ms", min(times[length]), "ms")
    for length in longer:
        ratio = min(times[length]) / min(times[shortest])
        report.add(f"pages.open.{length}.ratio", ratio, f"x {shortest}", MOST_RATIO)
    report.add("pages.plain_ms", min(plain), "ms")
    report.add("pages.open.to_plain", min(times[shortest]) / min(plain), "x", MOST_PLAIN)
    measure_ways(report, page, [urls[length] for length in LENGTHS[:2]], max(1, repetitions // 2))
    measure_shift(report, page, urls[shortest])
    context.close()


def main() -> Report:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=30)
    options = parser.parse_args()
    report = Report("Pages in Chromium")
    with running_site() as (server, _, browser):
        measure_pages(report, browser, server, options.repetitions)
    report.print_table()
    return report


if __name__ == "__main__":
    main()
