// Which part of a long conversation is on the page: at most MOST_MESSAGES messages around where the reader is.

import { $, $$, makeButton } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { request } from "../base/http.js";
import { localiseTimes } from "../base/moments.js";

const MOST_MESSAGES = 150; // messages in the document
const LOAD_AHEAD = "600px"; // from the edge at which more is loaded

/** Whether the newest message is on the page: the window ends there unless there is a #later. */
export const hasNewest = () => !$("#later");

export class Paging {
  #queue = Promise.resolve(); // of the requests that may change the window
  #waiting = 0;

  /** `url`: of the conversation's items. `onChange()` after the window moved: times, live answer, buttons. */
  constructor({ log, scroller, url, onChange }) {
    Object.assign(this, { log, scroller, url, onChange });
    this.near = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) if (isIntersecting) this.#more(target);
      },
      { root: scroller, rootMargin: LOAD_AHEAD },
    );
    log.addEventListener("click", (event) => {
      if (event.target.matches("#earlier, #later")) this.#more(event.target);
    });
    this.watch();
  }

  #articles = () => $$("article", this.log);

  newest = () => this.#show("");
  first = () => this.#show("?after=-1");
  around = (number) => this.#show(`?around=${number}`);

  /** Replace the window. */
  async #show(query) {
    await this.exclusive(async () => this.log.replaceChildren(await this.load(query)));
    this.onChange();
    this.watch();
  }

  /** Watch the ends anew. An observer reports at once, so what is still near loads on. */
  watch() {
    this.near.disconnect();
    for (const end of $$("#earlier, #later", this.log)) this.near.observe(end);
  }

  /** The first message on the screen. */
  #firstShown() {
    const { top } = this.scroller.getBoundingClientRect();
    return this.#articles().find((node) => node.getBoundingClientRect().bottom > top);
  }

  /** Do something above or below the reader without moving what is being read. */
  keepPlace(work) {
    const anchor = this.#firstShown();
    const before = anchor?.getBoundingClientRect().top;
    work();
    if (anchor?.isConnected) this.scroller.scrollTop += anchor.getBoundingClientRect().top - before;
  }

  /** {number, top}: the first message on the screen, and where it begins, in px; undefined for none. */
  place() {
    const node = this.#firstShown();
    return node && { number: node.dataset.number, top: node.getBoundingClientRect().top };
  }

  /** Put a message of the window back where it was on the screen. Its article. */
  putBack({ number, top }) {
    const node = document.getElementById(`message-${number}`);
    this.scroller.scrollTop += node.getBoundingClientRect().top - top;
    return node;
  }

  /** Messages as a fragment. Throws an Error with the server's words, `status` and `messageId`. */
  async load(query) {
    const response = await request(`${this.url}${query}`);
    if (!response.ok) {
      const error = new Error((await response.text()).slice(0, 200));
      throw Object.assign(error, {
        status: response.status,
        messageId: response.headers.get("X-Message-Id"),
      });
    }
    const template = document.createElement("template");
    template.innerHTML = await response.text();
    localiseTimes(template.content);
    return template.content;
  }

  isLoading = () => this.#waiting > 0;

  /** One at a time: a newer wish waits for those before it. */
  exclusive(work) {
    this.#waiting += 1;
    const result = this.#queue.then(work).finally(() => (this.#waiting -= 1));
    this.#queue = result.catch(() => {});
    return result;
  }

  async #more(end) {
    if (this.#waiting) return;
    const focused = end === document.activeElement;
    end.disabled = true;
    try {
      await this.exclusive(() => this.#extend(end));
      this.onChange();
      this.watch();
      if (focused) ($(`#${end.id}`) ?? this.#articles().at(end.id === "earlier" ? 0 : -1)).focus();
    } catch {
      end.disabled = false;
      end.textContent = gettext("Could not load these messages. Try again");
    }
  }

  /** Put what lies beyond an end of the window in its place. */
  async #extend(end) {
    const earlier = end.id === "earlier";
    const items = await this.load(new URL(end.dataset.url, location).search);
    if (!end.isConnected) return;
    // What leads the other way is here already.
    items.querySelector(earlier ? "#later" : "#earlier")?.remove();
    this.keepPlace(() => {
      end.replaceWith(items);
      this.#trim(earlier);
    });
  }

  /** Forget what is farthest from where the window grew. */
  #trim(fromEnd) {
    const all = this.#articles();
    if (all.length <= MOST_MESSAGES) return;
    const edge = fromEnd ? all[MOST_MESSAGES - 1] : all[all.length - MOST_MESSAGES];
    // Dividers belong to the message before them.
    if (fromEnd) {
      while (all[MOST_MESSAGES].isConnected) this.log.lastElementChild.remove();
      this.log.append(
        this.#end("later", `?after=${edge.dataset.position}`, gettext("Show later messages")),
      );
    } else {
      while (this.log.firstElementChild !== edge) this.log.firstElementChild.remove();
      this.log.prepend(
        this.#end("earlier", `?before=${edge.dataset.position}`, gettext("Show earlier messages")),
      );
    }
  }

  /** The button at an end of the window. */
  #end(id, query, label) {
    const button = makeButton(label, { id, className: "button small ghost" });
    button.dataset.url = this.url + query;
    return button;
  }

  /** A new message came below: forget the oldest, or the newest where the oldest are being read. */
  trimStart() {
    const articles = this.#articles();
    const edge = articles.at(-MOST_MESSAGES);
    const reading =
      edge && edge.getBoundingClientRect().top > this.scroller.getBoundingClientRect().top;
    if (articles.length > MOST_MESSAGES && !$(".edit-form", this.log))
      this.keepPlace(() => this.#trim(reading));
    this.watch();
  }
}
