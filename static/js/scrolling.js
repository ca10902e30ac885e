// Where the reader is: the page follows the end of the text only while the reader is there.

import { $ } from "./dom.js";
import { atTail } from "./paging.js";

const NEAR = 80; // px from the bottom that still count as "at the bottom"

export class Scrolling {
  #atBottom = true;

  /** `onLatest()` when the reader asks for the newest message. */
  constructor({ onLatest }) {
    this.scroller = $("#scroller");
    this.latest = $("#latest");
    this.latest.addEventListener("click", onLatest);
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // The composer grows, the window turns: whoever is at the bottom stays there.
    new ResizeObserver(() => this.follows() && this.toBottom()).observe(this.scroller);
  }

  /** Whether the reader is at the end of the newest message. */
  follows = () => this.#atBottom && atTail();

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    this.#atBottom = scrollHeight - scrollTop - clientHeight < NEAR;
    this.drawLatest();
  }

  /** The button to the newest message: only for who is elsewhere. */
  drawLatest() {
    this.latest.hidden = this.follows();
  }

  toBottom() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#atBottom = true;
    this.drawLatest();
  }

  toTop() {
    this.leaveBottom();
    this.scroller.scrollTop = 0;
    this.drawLatest();
  }

  /** The reader goes to a message: the page stops following. */
  leaveBottom() {
    this.#atBottom = false;
  }

  /** Change the page; whoever is at the end stays there. */
  change(work) {
    const follow = this.follows();
    const result = work();
    if (follow) this.toBottom();
    else this.latest.hidden = false;
    return result;
  }
}
