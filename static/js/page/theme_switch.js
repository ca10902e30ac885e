// The choice between the system's theme, light and dark. theme.js shows it on the next page.

import { $$ } from "../base/dom.js";
import { storage } from "../base/storage.js";

export function startThemeSwitch() {
  const chosen = storage.get("theme") ?? "system";
  for (const radio of $$('input[name="theme"]')) {
    radio.checked = radio.value === chosen;
    radio.addEventListener("change", () => {
      storage.set("theme", radio.value === "system" ? "" : radio.value);
      if (radio.value === "system") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = radio.value;
    });
  }
}
