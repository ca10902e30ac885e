// Links to messages by their number, in summaries, search results and the address.

import { $, $$ } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";

const SHOWN = 1600; // ms that a message which was looked for is marked

const numberOf = (hash) => /^#(?:m|message-)(\d+)$/.exec(hash)?.[1];

export class MessageLinks {
  /** `onSwitch(messageId)` shows the branch through a message; whether it did. */
  constructor({ transcript, onSwitch }) {
    Object.assign(this, { transcript, onSwitch });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='#m']");
      const number = link && numberOf(link.hash);
      if (!number) return;
      event.preventDefault();
      this.#reveal(number);
    });
    addEventListener("hashchange", () => this.#revealAddressed());
    this.#revealAddressed();
  }

  #revealAddressed() {
    const number = numberOf(location.hash);
    if (number) this.#reveal(number);
  }

  /** Show a message, however far back it is. */
  async #reveal(number) {
    try {
      if (!document.getElementById(`message-${number}`))
        await this.transcript.paging.around(number);
    } catch (error) {
      return this.#explain(error, number);
    }
    this.#show(document.getElementById(`message-${number}`));
  }

  #explain(error, number) {
    if (error.messageId) {
      const run = async () => {
        hideNotice();
        if (await this.onSwitch(error.messageId)) await this.#reveal(number);
      };
      const actions = [{ label: gettext("Show that branch"), run }];
      return showNotice(error.message, { info: true, actions });
    }
    showNotice(
      error.status === 404
        ? gettext("Message #{number} is no longer in this conversation.", { number })
        : gettext("Message #{number} could not be loaded. Try again in a moment.", { number }),
    );
  }

  #show(target) {
    this.transcript.scrolling.leaveBottom();
    target.classList.add("found");
    setTimeout(() => target.classList.remove("found"), SHOWN);
    const rows = this.#rowsOf(target);
    for (const row of rows) {
      row.open = true;
      $("[data-action=whole]", row)?.click();
    }
    const shown = rows[0] ?? target;
    shown.scrollIntoView({ block: "start" });
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true });
  }

  /** Where the results are shown that a message of nothing else holds: in the rows of the calls before it. */
  #rowsOf(target) {
    if (!target.matches(".tools-only:not(:has(.row))")) return [];
    const articles = this.transcript.articles();
    const before = articles[articles.indexOf(target) - 1];
    return before ? $$("details.row.tool", before) : [];
  }
}
