// Several conversations of the list at once: chosen with check boxes, then moved, archived or deleted together.

import { $, $$, announce, make, makeButton } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";
import { changeListed } from "./changes.js";
import { LISTED, listedId } from "./sidebar.js";

let selection = null; // the one that goes on

/**
 * Begin to choose, with one that is chosen: the link that is listed under `id`, which may be another one by now.
 * `onMove(ids, done)` asks where to move those that are chosen.
 */
export function select({ id }, onMove) {
  const link = $(`#${id}`);
  if (!link) return;
  selection ??= new SelectedChats(onMove);
  selection.toggle(link);
  $("input", link.parentNode).focus();
}

class SelectedChats {
  #ids = new Set();
  #anchor = null; // the id where a range begins
  #focused = ""; // whose check box has the focus: its link's id
  #over = new AbortController();

  constructor(onMove) {
    this.onMove = onMove;
    this.list = $("#sidebar-list");
    this.archived = Boolean($("[name=archived]", this.list));
    this.list.classList.add("selecting");
    this.bar = this.#makeBar();
    this.list.after(this.bar);
    const { signal } = this.#over;
    this.list.addEventListener("click", (event) => this.#click(event), { signal });
    for (const place of [this.list, this.bar])
      place.addEventListener("keydown", (event) => this.#press(event), { signal });
    document.addEventListener("htmx:beforeSwap", () => this.#keepFocus(), { signal });
    document.addEventListener("htmx:afterSwap", () => this.#restore(), { signal });
  }

  #makeBar() {
    const button = (words, onclick, className = "") =>
      makeButton(words, { className: `button small ${className}`, onclick });
    const act = (change, value) => () => this.#act(change, value);
    this.told = make("span", { role: "status" });
    this.acts = [
      button(gettext("Move…"), () => this.onMove([...this.#ids], () => this.#stop())),
      this.archived
        ? button(gettext("Move back to the list"), act("archived", ""))
        : button(gettext("Archive"), act("archived", "1")),
      button(gettext("Delete"), act("deleted", "1"), "danger-text"),
    ];
    return make(
      "div",
      { id: "selection", role: "toolbar", ariaLabel: gettext("Selected conversations") },
      this.told,
      button(gettext("Select all"), () => this.#selectAll(), "ghost"),
      ...this.acts,
      button(gettext("Done"), () => this.#stop(), "ghost"),
    );
  }

  #links = () => $$(LISTED, this.list).filter((link) => link.checkVisibility());

  /** A check box for each that is listed; what is listed no more is not chosen. */
  #draw() {
    const links = $$(LISTED, this.list);
    const listed = new Set(links.map(listedId));
    for (const id of this.#ids) if (!listed.has(id)) this.#ids.delete(id);
    for (const link of links) {
      let box = $("input", link.parentNode);
      if (!box) {
        const ariaLabel = gettext("Select {title}", { title: link.textContent });
        link.before((box = make("input", { type: "checkbox", ariaLabel })));
      }
      box.checked = this.#ids.has(listedId(link));
    }
    const count = this.#ids.size;
    this.told.textContent = ngettext("{count} selected", "{count} selected", count);
    for (const button of this.acts) button.disabled = !count;
  }

  #keepFocus() {
    const { activeElement } = document;
    const isBox = activeElement.matches("li > input") && this.list.contains(activeElement);
    this.#focused = isBox ? activeElement.nextElementSibling.id : "";
  }

  /** Another list has come in place of the one before. */
  #restore() {
    this.#draw();
    if (this.#focused)
      $(`#${this.#focused}`)?.previousElementSibling.focus({ preventScroll: true });
  }

  /** Choose one or not; with `range` all between it and the one before. */
  toggle(link, range = false) {
    const id = listedId(link);
    const links = this.#links();
    const from = links.findIndex((each) => listedId(each) === this.#anchor);
    const ends = [range && from >= 0 ? from : links.indexOf(link), links.indexOf(link)];
    const on = !this.#ids.has(id);
    for (const each of links.slice(Math.min(...ends), Math.max(...ends) + 1))
      this.#ids[on ? "add" : "delete"](listedId(each));
    this.#anchor = id;
    this.#draw();
  }

  #selectAll() {
    for (const link of this.#links()) this.#ids.add(listedId(link));
    this.#draw();
  }

  #click(event) {
    const link = $(LISTED, event.target.closest("li") ?? make("i"));
    if (!link || event.target.closest("button")) return;
    if (link.contains(event.target)) event.preventDefault();
    this.toggle(link, event.shiftKey);
  }

  #press(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation(); // the drawer stays
    this.#stop();
  }

  async #act(change, value) {
    const ids = [...this.#ids];
    if (await changeListed(ids, change, value)) this.#stop();
  }

  #stop() {
    selection = null;
    this.#over.abort();
    this.list.classList.remove("selecting");
    const focused = this.bar.contains(document.activeElement);
    $$("li > input", this.list).forEach((box) => box.remove());
    this.bar.remove();
    if (focused) $("a", this.list)?.focus();
    announce(gettext("Selection ended"));
  }
}
