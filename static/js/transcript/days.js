// The date above the first message of each day, by the reader's clock.

import { $, $$, make } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { formatDay } from "../base/moments.js";

const today = () => new Date().toDateString();

export class Days {
  /** `keepPlace(work)` changes the page without moving what is being read. */
  constructor({ log, keepPlace, signal }) {
    Object.assign(this, { log, keepPlace });
    this.changes = new MutationObserver(() => this.#draw());
    this.changes.observe(log, { childList: true });
    const look = () => this.drawn !== today() && this.#draw();
    document.addEventListener("visibilitychange", look, { signal });
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
    let last = (this.drawn = today());
    for (const article of $$("article", this.log)) {
      const date = dateOf(article);
      if (!date || date.toDateString() === last) continue;
      last = date.toDateString();
      article.before(make("h3", { className: "day" }, dayName(date)));
    }
  }
}

/** When a message was written: an answer that has no time yet, now; null for what shows nothing. */
function dateOf(article) {
  if (article.dataset.status === "streaming") return new Date();
  const time = $(":scope > .actions time", article);
  return time && new Date(time.dateTime);
}

function dayName(date) {
  const now = new Date();
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (date.toDateString() === today()) return gettext("Today");
  if (date.toDateString() === yesterday.toDateString()) return gettext("Yesterday");
  return formatDay(date);
}
