// Where the reader is: the page follows the end of the text only while the reader is there. A question
// that was just asked goes to the top instead, and stands still there while its answer grows beneath.

import { $, make } from "../base/dom.js";
import { hasNewest } from "./paging.js";

const NEAR = 80; // px from the bottom that still count as "at the bottom"
const ABOVE = 12; // px above a question at the top
const LEFT_FREE = 0.6; // of the view: for the answer to a question that is longer than the rest

export class Scrolling {
  #atBottom = true;
  #question = null; // the article that stands at the top
  #room = make("div", { ariaHidden: "true" }); // below the text, so that it can

  /** `onLatest()` when the reader asks for the newest message. */
  constructor({ onLatest }) {
    this.scroller = $("#scroller");
    this.scroller.append(this.#room);
    this.latest = $("#latest");
    this.latest.addEventListener("click", onLatest);
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    // The composer grows, the window turns: whoever is at the bottom stays there.
    new ResizeObserver(() => this.#stay(this.follows())).observe(this.scroller);
  }

  /** Whether the reader is at the end of the newest message. */
  follows = () => this.#atBottom && hasNewest();

  #scrolled() {
    const below = this.#below();
    // An answer that has grown past the view is followed once its reader goes to its very end.
    this.#atBottom = below < (this.#isFull() ? 1 : NEAR);
    if (this.#atBottom && this.#isFull()) this.#question = null;
    this.drawLatest();
  }

  /** px of text below the view. */
  #below() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** Whether a question stands at the top and its answer fills the view. */
  #isFull = () => Boolean(this.#question) && !this.#room.offsetHeight;

  /** The button to the newest message: only for who is elsewhere. */
  drawLatest() {
    this.latest.hidden = this.follows();
  }

  toBottom() {
    this.#question = null;
    this.#makeRoom();
    this.#stick();
  }

  #stick() {
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

  /** Bring a new question to the top; the end is shown where what follows it leaves no room. */
  hold(question) {
    this.#question = question;
    this.#makeRoom();
    if (this.#isFull()) this.#question = null;
    this.#stick();
  }

  /** As much below the text as lets the question stand at the top. */
  #makeRoom() {
    if (!this.#question?.isConnected) this.#question = null;
    this.#room.style.height = `${this.#question ? this.#missing() : 0}px`;
  }

  #missing() {
    const { clientHeight } = this.scroller;
    const { top, bottom } = this.#question.getBoundingClientRect();
    const from = Math.max(top - ABOVE, bottom - clientHeight * (1 - LEFT_FREE));
    const end = this.#room.getBoundingClientRect().top;
    return Math.max(0, clientHeight - (end - from));
  }

  /** After a change of the page or of its size, for a reader who was at the end or was not. */
  #stay(follow) {
    this.#makeRoom();
    if (follow && !this.#isFull()) return this.#stick();
    this.#atBottom &&= this.#below() < 1;
    this.drawLatest();
  }

  /** Change the page; whoever is at the end stays there. */
  change(work) {
    const follow = this.follows();
    const result = work();
    this.#stay(follow);
    return result;
  }
}
