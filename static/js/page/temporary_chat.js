// A temporary chat is deleted when its tab goes on to another page of the chat, by whatever way.

import { tabStorage } from "../base/storage.js";
import { sendChange } from "../list/changes.js";

const LEFT = "left-temporary"; // in this tab: the id of the chat that it showed last

/** `id`: of the temporary chat that is shown until `signal`, or "". */
export function startTemporaryChat(id, signal) {
  const left = tabStorage.get(LEFT);
  if (id) {
    // Marked only while it is left: a tab that is opened from it must not inherit the mark.
    const mark = () => tabStorage.set(LEFT, id);
    addEventListener("pagehide", mark, { signal });
    signal.addEventListener("abort", mark);
    addEventListener("pageshow", () => tabStorage.set(LEFT, ""), { signal }); // reloaded, or come back to
  }
  if (!left || left === id) return;
  sendChange([left], "deleted", "1", { keepalive: true }).then(
    (response) =>
      (response?.ok || response?.status === 404) &&
      tabStorage.get(LEFT) === left &&
      tabStorage.set(LEFT, ""), // else the next page tries again, and a sweep after a day
  );
}
