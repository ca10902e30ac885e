// The words that a search has found: kept for the message that its hit leads to, and highlighted there.

import { $, $$ } from "../base/dom.js";
import { storage } from "../base/storage.js";

const FOUND = "found-words";

/** Keep the words of a hit that is followed, for the message, and perhaps the page, that it leads to. */
function keepWords({ target }) {
  const hit = target.closest?.("a:has(mark)");
  if (!hit) return;
  const words = $$("mark", hit).map((mark) => mark.textContent); // as they stand in the message
  const branch = Boolean($(".hit-branch", hit)); // it stands on another one, which is to be shown
  storage.set(FOUND, JSON.stringify({ href: hit.href, words, branch }));
}

export const clearFound = () => CSS.highlights?.delete(FOUND);

export function startFoundWords() {
  document.addEventListener("click", keepWords);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && clearFound());
  document.addEventListener("input", ({ target }) => target.type === "search" && clearFound());
}

/** The words that were kept for this address. */
export function takeWords() {
  const { href, words } = JSON.parse(storage.get(FOUND) ?? "{}");
  if (href !== location.href) return [];
  storage.set(FOUND, "");
  return words;
}

/** Whether a hit was followed to a message that said that it stands on another branch. */
export function ledToBranch(number) {
  const { href, branch } = JSON.parse(storage.get(FOUND) ?? "{}");
  return Boolean(branch) && href === new URL(`#message-${number}`, location).href;
}

/** Highlight words in an element; none where the browser cannot. */
export function highlight(node, words) {
  clearFound();
  if (!words.length || !window.Highlight) return;
  const wanted = new RegExp(words.map(patternOf).join("|"), "giu");
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (texts.nextNode())
    for (const found of texts.currentNode.data.matchAll(wanted))
      ranges.push(rangeOf(texts.currentNode, found));
  CSS.highlights.set(FOUND, new Highlight(...ranges));
}

/** A whole word; where words have no spaces between them, each character is one. */
function patternOf(word) {
  const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const alone = word.length === 1 && word > "\x7f";
  return alone ? literal : `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`;
}

function rangeOf(node, { index, 0: text }) {
  const range = new Range();
  range.setStart(node, index);
  range.setEnd(node, index + text.length);
  return range;
}
