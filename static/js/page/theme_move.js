// A theme that was chosen while only browsers knew it goes to the account, once.

import { $ } from "../base/dom.js";
import { post } from "../base/http.js";
import { storage } from "../base/storage.js";

export async function moveTheme() {
  const { themeToMove: appearance } = document.documentElement.dataset;
  if (!appearance) return;
  const response = await post(`${$("#settings-link").href}general/`, { appearance });
  if (response?.ok) storage.set("theme-moved", "1"); // else the next page tries again
}
