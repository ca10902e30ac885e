// What a selection over several messages takes along: what was said, and none of the page's own words.

import { $, $$ } from "../base/dom.js";

const OWN_WORDS = [
  ".actions",
  ".day",
  ".code-header",
  ".block-tools",
  ".fold",
  ".divider-line",
  ".divider-note",
  ".divider-actions",
  ".summary > summary",
  ".summary:not([open])",
  ".row > summary",
  ".row:not([open])",
  ".row-label",
  ".card-actions",
  ".turn-notice",
  ".stopped",
  "#earlier",
  "#later",
  "#compaction-row",
].join();

export function copyCleanly(log) {
  log.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (!selection.rangeCount || event.target.closest?.("textarea")) return;
    const part = document.createElement("div");
    part.append(selection.getRangeAt(0).cloneContents());
    if (!$(OWN_WORDS, part)) return; // what the browser copies is right
    for (const node of $$(OWN_WORDS, part)) node.remove();
    for (const link of $$("a[href]", part)) link.setAttribute("href", link.href);
    // Taken off the page for as long as its text is read: nothing is drawn in between.
    const shown = $$(OWN_WORDS, log).filter((node) => !node.hidden);
    for (const node of shown) node.hidden = true;
    event.clipboardData.setData("text/plain", String(selection));
    for (const node of shown) node.hidden = false;
    event.clipboardData.setData("text/html", part.innerHTML);
    event.preventDefault();
  });
}
