// Commands: what a text that starts with "/" means, and the menu that offers them.

import { $, announce, make } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";

export const COMMANDS = [
  { name: "compact", hint: gettext("[focus]"), text: gettext("Summarise the older part now; the focus says what to keep"), takesText: true },
  { name: "context", hint: "", text: gettext("Show how full the context is, and what it cost") },
  { name: "new", hint: "", text: gettext("Start a new chat") },
  { name: "model", hint: gettext("[name]"), text: gettext("Choose another model"), takesText: true },
  { name: "system", hint: "", text: gettext("Set the system prompt of this conversation") },
  { name: "rename", hint: gettext("[title]"), text: gettext("Rename this conversation"), takesText: true },
  { name: "remember", hint: gettext("fact"), text: gettext("Keep a fact about you for all conversations"), takesText: true },
  { name: "export", hint: "[json]", text: gettext("Save this conversation as a file"), takesText: true },
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

/** The menu above the textarea, with the commands of these names. `onPick(command)` when one is accepted. */
export function createSlashMenu(textarea, names, onPick) {
  const offered = COMMANDS.filter((command) => names.includes(command.name));
  const menu = $("#slash-menu");
  let shown = [];
  let selected = 0;

  function draw() {
    menu.hidden = !shown.length;
    // A textarea may not be a combobox, so what that would say is announced.
    if (shown.length) announce(ngettext("{count} command", "{count} commands", shown.length));
    menu.replaceChildren(...shown.map((command, index) => {
      const item = make("li", { id: `slash-${command.name}` },
        make("code", {}, `/${command.name} ${command.hint}`.trim()), make("span", {}, command.text));
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(index === selected));
      // mousedown would move the focus out of the textarea
      item.onmousedown = (event) => event.preventDefault();
      item.onclick = () => pick(command);
      return item;
    }));
    if (shown.length) textarea.setAttribute("aria-activedescendant", `slash-${shown[selected].name}`);
    else textarea.removeAttribute("aria-activedescendant");
  }

  function update() {
    const match = /^\/([a-z-]*)$/i.exec(textarea.value);
    shown = match && !textarea.readOnly ? offered.filter((c) => c.name.startsWith(match[1].toLowerCase())) : [];
    selected = 0;
    draw();
  }

  function close() {
    shown = [];
    draw();
  }

  function pick(command) {
    close();
    onPick(command);
  }

  /** True if the menu took the key. */
  function key(event) {
    if (!shown.length) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      selected = (selected + (event.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length;
      draw();
    } else if (event.key === "Escape") close();
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) {
      // A command typed in full is meant: let Enter run it.
      if (event.key === "Enter" && textarea.value === `/${shown[selected].name}`) {
        close();
        return false;
      }
      pick(shown[selected]);
    } else return false;
    event.preventDefault();
    return true;
  }

  textarea.addEventListener("blur", close);
  return { update, close, key };
}
