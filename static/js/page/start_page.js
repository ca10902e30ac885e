// The first message of a conversation, from the start page.

import { $ } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { post, refusal } from "../base/http.js";
import { hideNotice, showNotice } from "../base/notice.js";
import { loadSidebar, refreshSidebar } from "../list/sidebar.js";

const LONG_WAIT = 1500; // ms after which a request that waits is explained
const BUSY = gettext(
  "The server is busy: your message waits until it can begin. Your text is kept.",
);

export class StartPage {
  #running = false; // a second press would be a second conversation

  constructor({ signal, goTo }) {
    Object.assign(this, { signal, goTo });
    addEventListener("pageshow", () => (this.#running = false), { signal });
    $("#starters").addEventListener("submit", (event) => {
      // Its own form is for pages without scripts; here the chosen model counts, and the draft stays.
      event.preventDefault();
      this.#begin({ text: event.submitter.value, pasted: [] });
    });
  }

  /**
   * Send what stands in the message box, of which the parts `pasted` were not typed, and go to the new
   * conversation; whether it is stored. Until then nothing that was typed is let go.
   */
  start = (pasted) => this.#begin({ pasted });

  /** `text`: a starter's words, in place of the message box. */
  async #begin({ text, pasted }) {
    if (this.#running) return false;
    this.#running = true;
    hideNotice();
    const form = $("#composer");
    const fields = new FormData(form);
    fields.set("pasted", JSON.stringify(pasted));
    fields.delete("csrfmiddlewaretoken"); // it would count before the header, which is newer
    if (text) {
      fields.set("text", text);
      fields.delete("attachments");
    }
    const busy = setTimeout(() => showNotice(BUSY, { info: true }), LONG_WAIT);
    this.signal.addEventListener("abort", () => clearTimeout(busy));
    const response = await post(form.action, fields);
    clearTimeout(busy);
    // Who has gone to another chat meanwhile stays there.
    if (this.signal.aborted) {
      refreshSidebar();
      return response?.status === 201;
    }
    if (response?.status === 201) {
      loadSidebar();
      await this.goTo(response.headers.get("Location"));
      return true;
    }
    this.#running = false;
    showNotice(
      await refusal(
        response,
        gettext("The message could not be sent. Your text is kept; try again in a moment."),
      ),
    );
    return false;
  }
}
