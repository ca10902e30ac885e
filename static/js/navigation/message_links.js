// To messages by their number, however far back they are, and back again: from summaries, search results
// and the address.

import { $, $$, focusOn, refocus } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { hideNotice, showNotice } from "../base/notice.js";
import { clearFound, highlight, ledToBranch, takeWords } from "./found_words.js";
import { SummaryLinks } from "./summary_links.js";

const MARK_SHOWN = 1600; // ms that a message which was looked for is marked

const isHere = ({ host, pathname }) => host === location.host && pathname === location.pathname;
const numberIn = (hash) => /^#(?:m|message-)(\d+)$/.exec(hash)?.[1];

export class MessageLinks {
  #statement = null; // of a summary, that leads to the message that is shown next

  /**
   * `onSwitch(messageId)` shows the branch through a message; whether it did. `place`: where the reader was when they
   * left this conversation, to which they have come back.
   */
  constructor({ transcript, onSwitch, place, signal }) {
    Object.assign(this, { transcript, onSwitch, signal });
    this.summaryLinks = new SummaryLinks({ transcript, load: (number) => this.#load(number) });
    document.addEventListener("click", (event) => this.#click(event), { signal });
    // Back and Forward, and an address that was changed by hand.
    const { pathname } = location;
    const move = ({ state }) => location.pathname === pathname && this.#come(state);
    addEventListener("popstate", move, { signal });
    this.#come(place);
  }

  #click(event) {
    const link = event.target.closest?.("a[href*='#m']");
    const number = link && isHere(link) && numberIn(link.hash);
    if (!number || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(number, this.summaryLinks.describe(link));
  }

  /** To a place that was left, or to the message that the address names. */
  #come(place) {
    const number = numberIn(location.hash);
    if (place) this.#goBack(place);
    else if (number) this.#reveal(number);
  }

  /** Go to a message, however far back it is; Back then leads to where the reader was. Whether it is there.
   * `statement`: of a summary, which led there. */
  go = async (number, statement = null) => {
    const hash = `#message-${number}`;
    if (this.signal.aborted) return false; // another chat is shown by now
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
  async #goBack(place) {
    clearFound();
    this.summaryLinks.withdraw();
    if (place.end) return this.transcript.toBottom().then(refocus);
    if (!(await this.#load(place.number))) return;
    this.transcript.scrolling.leaveBottom();
    const first = this.transcript.paging.putBack(place);
    focusOn($("article:target") ?? first); // the browser too goes to the message that an address names
  }

  async #reveal(number) {
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
    setTimeout(() => target.classList.remove("found"), MARK_SHOWN);
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
