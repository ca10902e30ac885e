// To messages by their number, however far back they are, and back again. It comes on demand, see ways.js.

import { $, $$, focusOn, refocus } from "./dom.js";
import { clearFound } from "./found_words.js";
import { gettext } from "./gettext.js";
import { highlight, ledToBranch, takeWords } from "./highlight.js";
import { hideNotice, showNotice } from "./notice.js";
import { SummaryLinks } from "./summary_links.js";

const SHOWN = 1600; // ms that a message which was looked for is marked

export class MessageLinks {
  #statement = null; // of a summary, that leads to the message that is shown next

  /** `onSwitch(messageId)` shows the branch through a message; whether it did. */
  constructor({ transcript, onSwitch }) {
    Object.assign(this, { transcript, onSwitch });
    this.summaryLinks = new SummaryLinks({ transcript, load: (number) => this.#load(number) });
  }

  /** A link was pressed. */
  follow(link, number) {
    this.go(number, this.summaryLinks.describe(link));
  }

  goToStatementOn(number) {
    this.summaryLinks.goToStatementOn(number);
  }

  /** Go to a message, however far back it is; Back then leads to where the reader was. Whether it is there.
   * `statement`: of a summary, which led there. */
  go = async (number, statement = null) => {
    const hash = `#message-${number}`;
    const place = this.transcript.place();
    if (!(await this.#load(number))) return false;
    this.#statement = statement;
    if (location.hash === hash) this.#show(number);
    else {
      history.replaceState(place, "");
      location.hash = hash; // reveals it
    }
    return true;
  };

  /** To the place that was left for another. */
  async goBack(place) {
    clearFound();
    this.summaryLinks.withdraw();
    if (place.end) return this.transcript.toBottom().then(refocus);
    if (!(await this.#load(place.number))) return;
    this.transcript.scrolling.leaveBottom();
    const first = this.transcript.paging.putBack(place);
    focusOn($("article:target") ?? first); // the browser too goes to the message that an address names
  }

  async reveal(number) {
    if (await this.#load(number)) this.#show(number);
  }

  /** Have a message on the page; whether it could be. */
  async #load(number) {
    try {
      if (!document.getElementById(`message-${number}`))
        await this.transcript.paging.around(number);
      return true;
    } catch (error) {
      this.#explain(error, number);
      return false;
    }
  }

  #explain(error, number) {
    if (error.messageId) {
      const run = async () => {
        hideNotice();
        if (await this.onSwitch(error.messageId)) await this.go(number);
      };
      if (ledToBranch(number)) return run();
      const actions = [{ label: gettext("Show that branch"), run }];
      return showNotice(error.message, { info: true, actions });
    }
    const head = this.transcript.head();
    if (error.status === 404 && number > head)
      return showNotice(
        gettext("There is no message #{number}: the newest is #{head}.", { number, head }),
      );
    showNotice(
      error.status === 404
        ? gettext("Message #{number} is no longer in this conversation.", { number })
        : gettext("Message #{number} could not be loaded. Try again in a moment.", { number }),
    );
  }

  #show(number) {
    const target = document.getElementById(`message-${number}`);
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
    highlight($(".body", shown) ?? shown, takeWords()); // not in the line below it
    this.summaryLinks.offer(this.#statement, shown);
    this.#statement = null;
  }

  /** Where the results are shown that a message of nothing else holds: in the rows of the calls before it. */
  #rowsOf(target) {
    if (!target.matches(".tools-only:not(:has(.row))")) return [];
    const articles = this.transcript.articles();
    const before = articles[articles.indexOf(target) - 1];
    return before ? $$("details.row.tool", before) : [];
  }
}
