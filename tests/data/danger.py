"""What must not be in a page, judged by Chromium's own HTML parser and the rules of scan.js."""

from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page

SCAN = (Path(__file__).parent / "scan.js").read_text("utf-8")

# Parses each text as a whole document and as the inside of an element, as the page does it.
PARSE = """
(texts) => {
  const scan =
%s;
  const inert = document.implementation.createHTMLDocument("");
  return texts.map((text) => {
    const whole = new DOMParser().parseFromString(text, "text/html");
    const inside = inert.createElement("div");
    inside.innerHTML = text;
    const found = [...scan(whole.body), ...scan(inside)];
    if (whole.head.childNodes.length) found.push("head: " + whole.head.innerHTML.slice(0, 120));
    if (whole.body.innerHTML !== inside.innerHTML) found.push("parses in two ways");
    return found;
  });
}"""


def dangers(page: Page, htmls: Sequence[str]) -> dict[int, list[str]]:
    """Findings by the index of the HTML; a page on about:blank is enough."""
    found: dict[int, list[str]] = {}
    for start in range(0, len(htmls), 1_000):
        results: list[list[str]] = page.evaluate(
            PARSE % SCAN.rstrip(), list(htmls[start : start + 1_000])
        )
        found |= {start + i: result for i, result in enumerate(results) if result}
    return found


def dangers_below(page: Page, selector: str) -> list[str]:
    """Findings in the page that is shown."""
    found: list[str] = page.locator(selector).evaluate(SCAN)
    return found
