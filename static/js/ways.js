// Ways to messages by their number, from summaries, search results and the address. What goes them is in
// message_links.js, which comes with the first one.

import { load } from "./on_demand.js";

const isHere = ({ host, pathname }) => host === location.host && pathname === location.pathname;
const numberOf = (hash) => /^#(?:m|message-)(\d+)$/.exec(hash)?.[1];

export class Ways {
  #links = null;

  /**
   * `onSwitch(messageId)` shows the branch through a message; whether it did. `place`: where the reader was when they
   * left this conversation, to which they have come back.
   */
  constructor({ transcript, onSwitch, place, signal }) {
    Object.assign(this, { transcript, onSwitch, signal });
    const press = (event) => {
      const link = event.target.closest?.("a[href*='#m']");
      const number = link && isHere(link) && numberOf(link.hash);
      if (!number || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.#have().then((links) => links?.follow(link, number));
    };
    document.addEventListener("click", press, { signal });
    transcript.log.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-action=to-summary]");
      const { number } = button?.closest("article").dataset ?? {};
      if (button) this.#have().then((links) => links?.goToStatementOn(number));
    });
    // Back and Forward, and an address that was changed by hand.
    const { pathname } = location;
    const move = ({ state }) => location.pathname === pathname && this.#come(state);
    addEventListener("popstate", move, { signal });
    this.#come(place);
  }

  /** To a place that was left, or to the message that the address names. */
  #come(place) {
    if (place) this.#have().then((links) => links?.goBack(place));
    else this.#revealAddressed();
  }

  async #have() {
    const module = await load(() => import("./message_links.js"));
    if (!module || this.signal.aborted) return null; // another chat is shown by now
    return (this.#links ??= new module.MessageLinks(this));
  }

  #revealAddressed() {
    const number = numberOf(location.hash);
    if (number) this.#have().then((links) => links?.reveal(number));
  }

  /** Show a message; whether it is there. */
  go = async (number) => Boolean(await (await this.#have())?.go(number));
}
