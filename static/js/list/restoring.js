// The list of conversations looks as it did before the page changed: its place, what it shows, what was searched for.

import { $, $$, make } from "../base/dom.js";
import { tabStorage } from "../base/storage.js";

/** `user`: who signs in next in this tab begins anew. */
export function restoreList(user) {
  const key = `list:${user}`;
  const list = $("#sidebar-list");
  const box = $("#sidebar-search");
  const kept = JSON.parse(tabStorage.get(key) || "{}");
  const { words = "", shown = [] } = kept;
  let { top = 0 } = kept;
  const scroll = () => (list.scrollTop = top);
  // Not asked for when the page is left: it would be laid out anew for that.
  list.addEventListener("scroll", () => (top = list.scrollTop), { passive: true });
  addEventListener("pagehide", () => {
    const inputs = $$("input[name]", list).map(({ name, value }) => [name, value]); // archived ones, how many
    tabStorage.set(key, JSON.stringify({ top, words: box.value, shown: inputs }));
  });
  if (box.value || !(words || shown.length)) return scroll();
  box.value = words;
  list.append(...shown.map(([name, value]) => make("input", { type: "hidden", name, value })));
  list.addEventListener("htmx:afterSwap", scroll, { once: true });
  // htmx, which is loaded first, listens from then on.
  addEventListener("DOMContentLoaded", () => list.dispatchEvent(new Event("sidebar-refresh")));
}
