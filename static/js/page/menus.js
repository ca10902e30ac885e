// Menus that are `<details>`: they close by a press beside them, a choice and Escape.

import { $, $$ } from "../base/dom.js";

export function startMenus() {
  const close = (menu) => (menu.open = false);
  document.addEventListener("click", (event) => {
    for (const menu of $$("details.menu[open]")) {
      const inside = menu.contains(event.target);
      const chosen = inside && event.target.closest(".menu-panel > :is(a, button)");
      // A dialog that it opens gives the focus back to what stays visible.
      if (chosen) $("summary", menu).focus();
      if (!inside || chosen) close(menu);
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.menu[open]");
    if (!menu) return;
    close(menu);
    $("summary", menu).focus();
  });
}
