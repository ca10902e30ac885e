// Projects of the list: which of them are unfolded, as this browser remembers it.

import { $, $$ } from "../base/dom.js";
import { storage } from "../base/storage.js";

const UNFOLDED = "projects"; // {id: whether it is unfolded}, where somebody has chosen

export function startProjectFolds() {
  const list = $("#sidebar-list");
  const chosen = JSON.parse(storage.get(UNFOLDED) || "{}");
  const show = (section, on) => {
    $(".project-toggle", section).ariaExpanded = String(on);
    $("ul", section).hidden = !on;
  };
  const showChosen = () => {
    for (const section of $$("[data-project]", list)) {
      const on = chosen[section.dataset.project];
      if (on != null) show(section, on);
    }
  };
  list.addEventListener("click", ({ target }) => {
    const toggle = target.closest(".project-toggle");
    if (!toggle) return;
    const section = toggle.closest("section");
    const on = toggle.ariaExpanded !== "true";
    show(section, on);
    chosen[section.dataset.project] = on;
    storage.set(UNFOLDED, JSON.stringify(chosen));
  });
  list.addEventListener("htmx:afterSwap", showChosen);
  showChosen();
}
