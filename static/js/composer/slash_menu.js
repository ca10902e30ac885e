// Commands: what a text that starts with "/" means, and the menu that offers them.

import { $, announce, make } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";

export const COMMANDS = [
  {
    name: "compact",
    hint: gettext("[focus]"),
    text: gettext("Summarise the older part now; the focus says what to keep"),
    takesText: true,
  },
  {
    name: "context",
    hint: "",
    text: gettext("Show how full the context is and what it cost"),
  },
  {
    name: "goto",
    hint: gettext("[place]"),
    text: gettext("Go to a message by its number, or to the first one of a day"),
    takesText: true,
  },
  {
    name: "outline",
    hint: "",
    text: gettext("Show chapters, your messages and standing instructions"),
  },
  { name: "new", hint: "", text: gettext("Start a new chat") },
  {
    name: "model",
    hint: gettext("[name]"),
    text: gettext("Choose another model"),
    takesText: true,
  },
  { name: "system", hint: "", text: gettext("Set the system prompt of this conversation") },
  {
    name: "rename",
    hint: gettext("[title]"),
    text: gettext("Rename this conversation"),
    takesText: true,
  },
  {
    name: "remember",
    hint: gettext("fact"),
    text: gettext("Keep a fact about you for all conversations"),
    takesText: true,
  },
  {
    name: "export",
    hint: "[json]",
    text: gettext("Save this conversation as a file"),
    takesText: true,
  },
  { name: "help", hint: "", text: gettext("Show the commands and keyboard shortcuts") },
];

/** {name, rest, known} or null for prose; `/etc/hosts` and texts of several lines are prose. */
export function parseCommand(text) {
  const match = /^\/([a-z-]+)(?:[ \t]+([^]*))?$/i.exec(text.trimEnd());
  if (!match) return null;
  const name = match[1].toLowerCase();
  const known = COMMANDS.some((command) => command.name === name);
  if (!known && text.trim().includes("\n")) return null;
  return { name, rest: (match[2] ?? "").trim(), known };
}

/** The menu above the textarea. */
export class SlashMenu {
  #shown = [];
  #selected = 0;

  /** Offers the commands of these names; `onPick(command)` when one is accepted. */
  constructor(textarea, names, onPick) {
    Object.assign(this, { textarea, onPick });
    this.offered = COMMANDS.filter((command) => names.includes(command.name));
    this.menu = $("#slash-menu");
    textarea.addEventListener("blur", () => this.#close());
  }

  /** The text has changed. */
  update() {
    const match = !this.textarea.readOnly && /^\/([a-z-]*)$/i.exec(this.textarea.value);
    this.#shown = match
      ? this.offered.filter(({ name }) => name.startsWith(match[1].toLowerCase()))
      : [];
    this.#selected = 0;
    this.#draw();
  }

  /** True if the menu took the key. */
  key(event) {
    if (!this.#shown.length) return false;
    const { name } = this.#shown[this.#selected];
    if (event.key === "ArrowDown") this.#move(1);
    else if (event.key === "ArrowUp") this.#move(-1);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Enter" && !event.shiftKey && this.textarea.value === `/${name}`) {
      this.#close();
      return false; // typed in full it is meant: Enter runs it
    } else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) {
      this.#pick(this.#shown[this.#selected]);
    } else return false;
    event.preventDefault();
    return true;
  }

  #move(by) {
    this.#selected = (this.#selected + by + this.#shown.length) % this.#shown.length;
    this.#draw();
  }

  #pick(command) {
    this.#close();
    this.onPick(command);
  }

  #close() {
    this.#shown = [];
    this.#draw();
  }

  #draw() {
    const shown = this.#shown;
    this.menu.hidden = !shown.length;
    // A textarea may not be a combobox, so what that would say is announced.
    if (shown.length) announce(ngettext("{count} command", "{count} commands", shown.length));
    this.menu.replaceChildren(
      ...shown.map((command, index) => this.#option(command, index === this.#selected)),
    );
    // As high as there is room for above the message box.
    this.menu.style.maxHeight = `${this.menu.parentNode.getBoundingClientRect().top - 16}px`;
    $("[aria-selected=true]", this.menu)?.scrollIntoView({ block: "nearest" });
    if (shown.length)
      this.textarea.setAttribute("aria-activedescendant", `slash-${shown[this.#selected].name}`);
    else this.textarea.removeAttribute("aria-activedescendant");
  }

  #option(command, selected) {
    const { name, hint, text } = command;
    const item = make(
      "li",
      { id: `slash-${name}` },
      make("code", {}, `/${name} ${hint}`.trim()),
      make("span", {}, text),
    );
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(selected));
    // mousedown would move the focus out of the textarea
    item.onmousedown = (event) => event.preventDefault();
    item.onclick = () => this.#pick(command);
    return item;
  }
}
