// The first message of a conversation, from the start page.

import { $, post } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";

/**
 * `start(starter, pasted)` sends what stands in the message box, of which the parts `pasted` were not
 * typed, or a starter's words alone, and goes to the new conversation; whether it is stored. Until then nothing that was typed is let go.
 */
export function createStart() {
  let running = false; // a second press would be a second conversation
  addEventListener("pageshow", () => (running = false));

  return async function start(starter = "", pasted = []) {
    if (running) return false;
    running = true;
    hideNotice();
    const form = $("#composer");
    const fields = new FormData(form);
    fields.set("pasted", JSON.stringify(pasted));
    if (starter) {
      fields.set("text", starter);
      fields.delete("attachments");
    }
    const response = await post(form.action, fields).catch(() => null);
    if (response?.status === 201) {
      location.assign(response.headers.get("Location"));
      return true;
    }
    running = false;
    const words = [401, 413, 422, 429, 503].includes(response?.status) && (await response.text()).slice(0, 300);
    showNotice(words || gettext("It could not be sent. Your text is kept; try again in a moment."));
    return false;
  };
}
