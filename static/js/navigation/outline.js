// The outline: chapters and one's own messages beside the transcript, on narrow screens over it.

import { closeOutside } from "../base/dialogs.js";
import { $, $$ } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { request } from "../base/http.js";
import { localiseTimes } from "../base/moments.js";
import { showNotice } from "../base/notice.js";
import { storage } from "../base/storage.js";

const OUTLINE = "outline"; // in the storage: whether it stays open beside the transcript
const BESIDE = matchMedia("(min-width: 75rem)"); // as in outline.css
const REFRESH_DELAY = 300; // ms: what outdates it comes in groups
const BELOW_TOP = 80; // px: where a message lies that one went to

export class Outline {
  #frame = 0;
  #timer = 0;

  /** `url`: of the conversation's items; `go(number)` shows a message. */
  constructor({ transcript, url, go, signal }) {
    Object.assign(this, { transcript, url, go });
    this.panel = $("#outline");
    this.body = $("#outline-body");
    this.opener = $("#outline-open");
    this.scroller = transcript.scrolling.scroller;
    closeOutside(this.panel);
    this.#listen(signal);
    if (storage.get(OUTLINE)) this.#openBeside();
  }

  #listen(signal) {
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    this.panel.addEventListener("close", () => this.opener.setAttribute("aria-expanded", "false"));
    this.panel.addEventListener("click", (event) => {
      const timeline = event.target.closest(".timeline");
      const position = timeline && Math.max(0, Math.floor(pressed(event, timeline)));
      if ((timeline || event.target.closest("a")) && this.#isSheet()) this.panel.close();
      if (timeline) this.#goAlong(position);
    });
    this.panel.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.close();
    });
    this.body.addEventListener("htmx:afterSwap", () => {
      localiseTimes(this.body);
      this.#markSoon();
    });
    this.body.addEventListener("toggle", () => this.#markSoon(), true);
    this.scroller.addEventListener("scroll", () => this.#markSoon(), { passive: true });
    const resized = () => {
      if (this.panel.open) this.panel.close();
      if (storage.get(OUTLINE)) this.#openBeside();
    };
    BESIDE.addEventListener("change", resized, { signal });
  }

  toggle() {
    if (this.panel.open) this.close();
    else this.open();
  }

  /** The focus goes in, and comes back in the end. */
  open() {
    if (this.panel.open) return;
    if (BESIDE.matches) {
      storage.set(OUTLINE, "1");
      this.panel.show();
    } else this.panel.showModal();
    this.#opened();
  }

  /** As the reader left it; the focus stays where it is. */
  #openBeside() {
    if (!BESIDE.matches) return;
    this.panel.open = true;
    this.#opened();
  }

  close() {
    if (!this.#isSheet()) storage.set(OUTLINE, "");
    this.panel.close();
    if (document.activeElement === document.body) this.opener.focus();
  }

  #isSheet = () => this.panel.matches(":modal");

  #opened() {
    this.opener.setAttribute("aria-expanded", "true");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load()); // while the page starts, htmx has no settings yet
  }

  /** The conversation has changed. */
  refresh() {
    clearTimeout(this.#timer);
    if (this.panel.open) this.#timer = setTimeout(() => this.#load(), REFRESH_DELAY);
  }

  #load() {
    const target = this.body;
    window.htmx?.ajax("GET", target.dataset.url, { target, swap: "innerHTML" });
  }

  /** To the message at a position. */
  async #goAlong(position) {
    const response = await request(`${this.url}at/${position}/`).catch(() => null);
    if (response?.ok) return this.go(await response.text());
    showNotice(gettext("That place could not be looked up. Try again in a moment."));
  }

  // --- Where the reader is ---

  #markSoon() {
    if (!this.panel.open) return;
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#mark());
  }

  #mark() {
    const { number, position } = this.#findRead()?.dataset ?? {};
    for (const link of $$("[aria-current]", this.body)) link.removeAttribute("aria-current");
    const entry = $$("a[id]", this.body).findLast(
      (link) => numberOf(link) <= number && link.checkVisibility(),
    );
    entry?.setAttribute("aria-current", "location");
    if (position) $(".here", this.body)?.setAttribute("transform", `translate(${position})`);
  }

  /** The message that is being read: at the end, where not all can come to the top, the focused or last one. */
  #findRead() {
    const line = this.scroller.getBoundingClientRect().top + BELOW_TOP;
    const shown = this.transcript
      .articles()
      .filter((node) => node.getBoundingClientRect().bottom > line);
    if (!this.transcript.scrolling.follows()) return shown[0];
    return shown.find((node) => node === document.activeElement) ?? shown.at(-1);
  }
}

const numberOf = (link) => Number(link.hash.slice("#message-".length));

/** The place in the units of an SVG that was pressed. */
const pressed = ({ clientX, clientY }, svg) =>
  new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
