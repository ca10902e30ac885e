// The palette: titles, messages and commands in one box (Ctrl + K), and the way from hit to hit.

import { $, $$, make } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";
import { showNotice } from "../base/notice.js";
import { COMMANDS } from "../composer/slash_menu.js";

export class Palette {
  #selected = 0;
  #hits = []; // links to messages of this conversation, where one of them was followed
  #shown = 0; // which of them
  #asking = false; // whether results come that are not shown yet
  #entered = false; // whether the first of them is wanted

  /** `commands`: {name: (rest, done)}, as the message box has them; those of the chat that ends with `signal`. */
  constructor(commands, signal) {
    this.dialog = $("#palette");
    this.input = $("input", this.dialog);
    this.list = $("#palette-list");
    this.commands = COMMANDS.filter(({ name }) => commands[name] && name !== "remember"); // needs words
    this.run = (name) => commands[name]("", () => {});
    this.#listen((place, type, work) => place.addEventListener(type, work, { signal }));
  }

  #listen(on) {
    on(this.input, "input", () => {
      this.#asking = true;
      this.#entered = false;
      this.#draw();
    });
    on(this.input, "keydown", (event) => this.#key(event));
    on(
      document,
      "htmx:afterSwap",
      ({ detail }) =>
        detail.target.id === "palette-found" && this.#arrived(detail.requestConfig.parameters.q),
    );
    on(this.dialog, "click", (event) => this.#click(event));
    on(
      document,
      "click",
      ({ target }) => target.closest?.("[data-action=find]") && this.open("in:here "),
    );
    on(document, "keydown", (event) => {
      if (event.key !== "F3" || !this.#hits.length || $("dialog[open]")) return;
      event.preventDefault();
      this.#step(event.shiftKey ? -1 : 1);
    });
  }

  /** Open it with words in its box, or with what was searched for last. */
  open(words = this.input.value) {
    this.dialog.showModal();
    this.input.value = words;
    if (words.endsWith(" ")) this.input.focus();
    else this.input.select();
    this.#asking = false;
    this.#entered = false;
    this.input.dispatchEvent(new Event("palette-opened"));
    this.#draw();
  }

  #options = () => $$("[role=option]", this.list).filter((option) => option.checkVisibility());

  #draw(selected = 0) {
    const { value } = this.input;
    const words = value.trim().toLowerCase();
    $("#palette-found").hidden = value.startsWith("/");
    const found = this.commands.filter(({ name, text }) =>
      `/${name} ${text}`.toLowerCase().includes(words),
    );
    const label = make("p", { ariaHidden: "true" }, gettext("Commands"));
    $("#palette-commands").replaceChildren(
      ...(found.length ? [label] : []),
      ...found.map((command) => this.#option(command)),
    );
    this.#select(selected);
    const count = this.#options().length;
    $("[role=status]", this.dialog).textContent = count
      ? ngettext("{count} result", "{count} results", count)
      : gettext("Nothing found");
  }

  /** Results for `words`, which may be older than those in the box; or once more for the same. */
  #arrived(words) {
    const selected = this.#asking ? 0 : this.#selected;
    this.#asking &&= words !== this.input.value;
    this.#draw(selected);
    if (this.#entered) this.#choose();
  }

  /** What is selected. Whoever types and goes on at once means what these words find. */
  #choose() {
    this.#entered = this.#asking && !this.input.value.startsWith("/");
    if (!this.#entered) this.#options()[this.#selected]?.click();
  }

  #option({ name, text }) {
    const run = () => this.run(name);
    const option = make("div", { onclick: run }, make("code", {}, `/${name}`), ` ${text}`);
    option.role = "option";
    return option;
  }

  #select(index) {
    const options = this.#options();
    this.#selected = (index + options.length) % options.length || 0;
    for (const [place, option] of options.entries()) {
      option.id = `palette-${place}`;
      option.ariaSelected = String(place === this.#selected);
    }
    this.input.setAttribute("aria-activedescendant", `palette-${this.#selected}`);
    options[this.#selected]?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    if (event.isComposing) return;
    const control = event.ctrlKey || event.metaKey;
    if (event.key === "ArrowDown") this.#select(this.#selected + 1);
    else if (event.key === "ArrowUp") this.#select(this.#selected - 1);
    else if (event.key === "Enter") this.#choose();
    else if (control && event.key.toLowerCase() === "k") this.dialog.close();
    else return;
    event.preventDefault();
  }

  /** A press on a result, or beside the dialog. */
  #click({ target, ctrlKey, metaKey }) {
    const option = target.closest("[role=option]");
    if ((target !== this.dialog && !option) || ctrlKey || metaKey) return;
    this.dialog.close();
    const hits = $$("a[href*='#message-']", this.list).filter(
      ({ pathname }) => pathname === location.pathname,
    );
    if (!hits.includes(option)) return;
    this.#hits = hits;
    this.#tell(hits.indexOf(option));
  }

  #step(by) {
    const next = (this.#shown + by + this.#hits.length) % this.#hits.length;
    this.#hits[next].click();
    this.#tell(next);
  }

  #tell(shown) {
    this.#shown = shown;
    const count = this.#hits.length;
    if (count < 2) return;
    const actions = [
      { label: gettext("Previous"), run: () => this.#step(-1) },
      { label: gettext("Next"), run: () => this.#step(1) },
    ];
    showNotice(gettext("Result {number} of {count}", { number: shown + 1, count }), {
      info: true,
      actions,
    });
  }
}
