// The date above the first message of each day, by the reader's clock.

import { $, $$, make } from "./dom.js";
import { gettext } from "./gettext.js";

export class Days {
  /** `keepPlace(work)` changes the page without moving what is being read. */
  constructor({ log, keepPlace }) {
    Object.assign(this, { log, keepPlace });
    this.changes = new MutationObserver(() => this.#draw());
    this.changes.observe(log, { childList: true });
    document.addEventListener("visibilitychange", () => this.#draw()); // after midnight
    this.#draw();
  }

  #draw() {
    this.keepPlace(() => {
      for (const heading of $$(":scope > .day", this.log)) heading.remove();
      this.#putHeadings();
    });
    this.changes.takeRecords(); // those of its own
  }

  /** A conversation that began today needs none before tomorrow. */
  #putHeadings() {
    let last = new Date().toDateString();
    for (const article of $$("article", this.log)) {
      const date = dateOf(article);
      if (!date || date.toDateString() === last) continue;
      last = date.toDateString();
      article.before(make("h3", { className: "day" }, nameOf(date)));
    }
  }
}

/** When a message was written: an answer that has no time yet, now; null for what shows nothing. */
function dateOf(article) {
  if (article.dataset.status === "streaming") return new Date();
  const time = $(":scope > .actions time", article);
  return time && new Date(time.dateTime);
}

function nameOf(date) {
  const now = new Date();
  const daysAgo = (days) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).toDateString();
  if (date.toDateString() === daysAgo(0)) return gettext("Today");
  if (date.toDateString() === daysAgo(1)) return gettext("Yesterday");
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year });
}
