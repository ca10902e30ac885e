// A temporary chat is deleted when its tab goes on to another page of the chat, by whatever way.

import { request } from "./http.js";

const KEY = "left-temporary"; // in this tab: the address that deletes the chat that it showed last

const session = {
  get() {
    try {
      return sessionStorage.getItem(KEY);
    } catch {
      return null;
    }
  },
  set(url) {
    try {
      sessionStorage.setItem(KEY, url);
    } catch {
      // Storage can be forbidden; the chat is swept after a day.
    }
  },
};

/** `deleteUrl`: of the temporary chat that this page shows, or "". */
export function startTemporaryChat(deleteUrl) {
  const left = session.get();
  if (deleteUrl) {
    // Marked only while the page is left: a tab that is opened from it must not inherit the mark.
    addEventListener("pagehide", () => session.set(deleteUrl));
    addEventListener("pageshow", () => session.set("")); // reloaded, or come back to
  }
  if (!left || left === deleteUrl) return;
  request(left, { method: "POST", keepalive: true }).then(
    (response) =>
      (response.ok || response.status === 404) && session.get() === left && session.set(""),
    () => {}, // the next page tries again
  );
}
