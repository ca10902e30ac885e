// Between a summary and the messages that it cites: back to a statement, and from a message to it.

import { $, $$ } from "../base/dom.js";

export class SummaryLinks {
  #origin = null; // {after, index}: the statement that was left, see `describe`
  // Who has gone far from the message is not asked any more.
  #near = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting || this.withdraw(), {
    rootMargin: "100%",
  });

  /** `load(number)` has a message on the page; whether it could. */
  constructor({ transcript, load }) {
    Object.assign(this, { transcript, load });
    this.button = $("#back-to-summary");
    this.button.addEventListener("click", () => this.#goBack());
    transcript.log.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-action=to-summary]");
      if (button) this.#goToStatementOn(button.closest("article").dataset.number);
    });
  }

  /** Which statement holds a link: the number of the message before its summary, and the link's index
   * among the summary's; null for a link elsewhere. */
  describe(link) {
    const divider = link.closest(".divider");
    const before = divider && this.transcript.article(divider.dataset.after);
    return before && { after: before.dataset.number, index: $$("a", divider).indexOf(link) };
  }

  /** At a message: offer the way back to the statement that led there; null: to none. */
  offer(origin, article) {
    this.withdraw();
    if (!origin) return;
    this.#origin = origin;
    this.button.hidden = false;
    this.#near.observe(article);
  }

  withdraw() {
    this.#near.disconnect();
    this.button.hidden = true;
  }

  async #goBack() {
    const { after, index } = this.#origin;
    this.withdraw();
    await this.#show(after, (divider) => $$("a", divider)[index]);
  }

  async #goToStatementOn(number) {
    await this.#show(this.transcript.summarisedThrough(), (divider) =>
      $(`.summary a[href="#message-${number}"]`, divider),
    );
  }

  /** Open the summary after a message at the link that `find(divider)` finds, else at its beginning.
   * The browser's Back then leads to where the reader was. */
  async #show(after, find) {
    const place = this.transcript.place();
    if (!(await this.load(after))) return;
    const divider = $(`#message-${after} + .divider`);
    if (!divider) return; // its text is gone with a deleted message
    const target = find(divider) ?? $(".summary > summary", divider) ?? divider;
    history.replaceState(place, "");
    history.pushState(null, "", `#${divider.id}`);
    this.transcript.scrolling.leaveBottom();
    for (let each = target; each; each = each.parentElement?.closest("details")) each.open = true;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  }
}
