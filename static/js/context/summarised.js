// Which messages the model gets as a summary: their marks, and the line that says so while one is read.

import { $, $$ } from "../base/dom.js";

export class Summarised {
  #parts = []; // [{first, last, words}] by number; the server's marks say the same
  #frame = 0;

  constructor({ log, scroller }) {
    Object.assign(this, { log, scroller });
    this.line = $("#in-summary");
    scroller.addEventListener("scroll", () => this.#drawSoon(), { passive: true });
    new ResizeObserver(() => this.#drawSoon()).observe(log); // other messages, another height
  }

  /** From `context.usage`. */
  show(parts) {
    this.#parts = parts;
    this.mark($$("article", this.log));
    this.#drawSoon();
  }

  /** The number of the last one. */
  through = () => this.#parts.at(-1).last;

  /** Mark articles as the server would by now. */
  mark(articles) {
    for (const { dataset } of articles) {
      const number = Number(dataset.number);
      const part = this.#parts.find(({ first, last }) => first <= number && number <= last);
      if (part) dataset.summarised = part.words;
      else delete dataset.summarised;
    }
  }

  #drawSoon() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#drawLine());
  }

  /** The first summarised message on the screen says it. */
  #drawLine() {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const shown = $$("article[data-summarised]:not([data-left-out])", this.log).find((node) => {
      const box = node.getBoundingClientRect();
      return box.bottom > top && box.top < bottom;
    });
    this.line.hidden = !shown;
    if (shown) this.line.firstElementChild.textContent = shown.dataset.summarised;
  }
}
