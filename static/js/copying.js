// What a selection over several messages takes along: what was said, and none of the page's own words.

import { $, $$ } from "./dom.js";

// Also in transcript.css, which hides it while its text is read.
const OWN_WORDS =
  ".actions, .day, .code-header, .block-tools, .fold, .divider-line, .divider-note, .divider-actions, " +
  ".summary > summary, .summary:not([open]), .row > summary, .row:not([open]), .row-label, .card-actions, " +
  "#earlier, #later, .edit-form, #compaction-row, .turn-notice, .stopped";

export function copyCleanly(log) {
  log.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (selection.isCollapsed || event.target.closest?.("textarea, input")) return;
    const part = document.createElement("div");
    for (let i = 0; i < selection.rangeCount; i++)
      part.append(selection.getRangeAt(i).cloneContents());
    if (!$(OWN_WORDS, part)) return; // what the browser copies is right
    for (const node of $$(OWN_WORDS, part)) node.remove();
    for (const link of $$("a[href]", part)) link.setAttribute("href", link.href);
    for (const node of $$("[id]", part)) node.removeAttribute("id");
    log.classList.add("copying"); // nothing is drawn in between
    const text = String(selection);
    log.classList.remove("copying");
    event.clipboardData.setData("text/plain", text);
    event.clipboardData.setData("text/html", part.innerHTML);
    event.preventDefault();
  });
}
