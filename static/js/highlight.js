// Words that a search has found, highlighted in the message that its hit leads to. It comes on demand, see ways.js.

import { clearFound, NAME } from "./found_words.js";
import { storage } from "./storage.js";

/** The words that were kept for this address. */
export function takeWords() {
  const { href, words } = JSON.parse(storage.get(NAME) ?? "{}");
  if (href !== location.href) return [];
  storage.set(NAME, "");
  return words;
}

/** Whether a hit was followed to a message that said that it stands on another branch. */
export function ledToBranch(number) {
  const { href, branch } = JSON.parse(storage.get(NAME) ?? "{}");
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
  CSS.highlights.set(NAME, new Highlight(...ranges));
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
