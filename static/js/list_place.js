// The list of conversations looks as it did before the page changed: its place, what it shows, what was searched for.

import { $, $$, make } from "./dom.js";
import { tabStorage } from "./storage.js";

/** `user`: who signs in next in this tab begins anew. */
export function keepListPlace(user) {
  const key = `list:${user}`;
  const list = $("#sidebar-list");
  const box = $("#sidebar-search");
  let { top = 0, words = "", shown = [] } = JSON.parse(tabStorage.get(key) || "{}");
  const scroll = () => (list.scrollTop = top);
  list.addEventListener("scroll", () => (top = list.scrollTop), { passive: true });
  addEventListener("pagehide", () => {
    const shown = $$("input", list).map(({ name, value }) => [name, value]); // archived ones, how many
    tabStorage.set(key, JSON.stringify({ top, words: box.value, shown }));
  });
  if (box.value || !(words || shown.length)) return scroll();
  box.value = words;
  list.append(...shown.map(([name, value]) => make("input", { type: "hidden", name, value })));
  list.addEventListener("htmx:afterSwap", scroll, { once: true });
  // htmx, which is loaded first, listens from then on.
  addEventListener("DOMContentLoaded", () => list.dispatchEvent(new Event("sidebar-refresh")));
}
