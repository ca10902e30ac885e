// The words that a search has found, for the message that its hit leads to: highlight.js shows them there.

import { $, $$ } from "./dom.js";
import { storage } from "./storage.js";

export const NAME = "found-words";

/** Keep the words of a hit that is followed, for the message, and perhaps the page, that it leads to. */
function keep({ target }) {
  const hit = target.closest?.("a:has(mark)");
  if (!hit) return;
  const words = $$("mark", hit).map((mark) => mark.textContent); // as they stand in the message
  const branch = Boolean($(".hit-branch", hit)); // it stands on another one, which is to be shown
  storage.set(NAME, JSON.stringify({ href: hit.href, words, branch }));
}

export const clearFound = () => CSS.highlights?.delete(NAME);

export function startFoundWords() {
  document.addEventListener("click", keep);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && clearFound());
  document.addEventListener("input", ({ target }) => target.type === "search" && clearFound());
}
