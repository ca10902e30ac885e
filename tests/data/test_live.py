"""The Markdown corpus as running answers: browsers show one thing, whatever the deltas."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from agent.messages import sanitise
from chat.html.markdown import render_markdown
from tests.data.corpus import OWN, Corpus
from tests.data.live import Written, write_all
from tests.data.recordings import need

pytestmark = pytest.mark.e2e

LIVE = Path(__file__).parents[2] / "static" / "js" / "conversation" / "live.js"

# The page's own code: what it makes of the frames, and whether it ever saw a gap.
FOLD = """
(written) => {
%s
  return written.map((frames) => {
    let live = null, gaps = 0;
    for (const frame of frames) {
      const result = apply(live, frame);
      live = result.live;
      gaps += result.change === "gap";
    }
    return live && { gaps, html: live.html.join(""), text: live.text, through: live.through };
  });
}
"""


def test_every_cut_gives_the_same_pieces_and_the_page_follows(
    hostile: Corpus, page: Page, report: dict[str, list[str]]
) -> None:
    need(hostile.markdown, "Markdown")
    texts = [case.text for case in [*hostile.markdown, *OWN, *hostile.xss[::20]]]
    # Single cases are short: several together are finished piece by piece.
    texts += ["\n\n".join(texts[at : at + 8]) for at in range(0, len(hostile.markdown), 8)]
    texts = [text for text in sanitise(texts) if text and len(text) < 6_000]
    by_text = write_all(texts)
    for versions in by_text:
        assert all(version.html == versions[0].html for version in versions), versions[0].text
    written = [version for versions in by_text for version in versions]
    shown = fold(page, written)
    for version, live in zip(written, shown, strict=True):
        snapshot = version.snapshot
        assert live["gaps"] == 0, version.text
        assert live["html"] == snapshot["html"], version.text
        assert live["text"] == snapshot["text"], version.text
        assert live["through"] == snapshot["through"], version.text
    pieced = [versions[0] for versions in by_text if versions[0].html]
    same = [
        v
        for v in pieced
        if bare(v.snapshot["html"] + render_markdown(v.snapshot["text"]))
        == bare(render_markdown(v.text))
    ]
    report["live answers"] = [
        f"{len(texts)} texts in {len(written)} splits, {sum(len(v.frames) for v in written)} "
        "frames: no gap, the same pieces whatever the split",
        f"{len(pieced)} texts were finished in {sum(len(v.html) for v in pieced)} pieces: "
        f"{len(same)} looked like the final HTML all along, the others change once, at the end",
    ]
    assert pieced
    assert len(same) > 0.5 * len(pieced)  # in other data more of it may change at the end


def fold(page: Page, written: list[Written]) -> list[dict[str, Any]]:
    script = FOLD % LIVE.read_text("utf-8").replace("export function", "function")
    found: list[dict[str, Any]] = page.evaluate(script, [v.frames for v in written])
    return found


def bare(html: str) -> str:
    """Without the line breaks between blocks, which nobody sees."""
    return re.sub(r">\s+<", "><", html).strip()
