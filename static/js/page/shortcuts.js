// The keyboard, and the sheet that tells of it. On a Mac, Cmd does what Ctrl does elsewhere.

import { closeOutside, showFromTop } from "../base/dialogs.js";
import { $, $$, focusOn, make } from "../base/dom.js";
import { COMMANDS } from "../composer/slash_menu.js";
import { toggleSidebar } from "../list/sidebar.js";

export function startHelp() {
  const help = $("#help");
  document.addEventListener("click", ({ target }) => {
    if (target.closest?.("[data-action=close-help]")) help.close();
    if (target.closest?.("[data-action=help]")) openHelp();
  });
  closeOutside(help);
}

export function openHelp() {
  $("#help-commands").replaceChildren(
    ...COMMANDS.flatMap(({ name, hint, text }) => [
      make("dt", {}, make("code", {}, `/${name} ${hint}`.trim())),
      make("dd", {}, text),
    ]),
  );
  showFromTop($("#help"));
}

const typing = (node) =>
  node.matches("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");

const OPEN_POPOVER = ":popover-open:not(#peek)"; // what a citation shows takes no keys

/** Whether Escape there means the answer, and not something that is open or being edited. */
const meansAnswer = (node) =>
  !$(OPEN_POPOVER) && (node === document.body || node.closest("#composer, #transcript"));

/** Whether Home and End there mean the conversation, and not a text or what lies above it. */
const meansConversation = ({ target, altKey, ctrlKey, shiftKey }) =>
  !(altKey || shiftKey || $(OPEN_POPOVER)) &&
  (target === document.body || target.closest("#chat")) &&
  (ctrlKey && target.id === "composer-text" ? !target.value : !typing(target));

/** To the first or the last message, by `go()`. Whoever is not writing goes on from there. */
async function goToEnd(go, index) {
  await go();
  const article = $$("#transcript > article").at(index);
  if (article && !typing(document.activeElement)) focusOn(article);
}

/**
 * `onSearch()` opens the palette. `onStop()` stops an answer; whether one was running. `onHome()`, `onEnd()` show the
 * ends of a conversation, `onOutline()` its outline. `onPrint()` prints what this page does not hold; whether there is any.
 */
export function startShortcuts({
  onSearch,
  onStop = () => false,
  onHome,
  onEnd,
  onOutline,
  onPrint,
  signal,
}) {
  const press = (event) => {
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (event.defaultPrevented || event.isComposing || $(":modal")) return;
    const act = () => {
      if (control && key === "/") openHelp();
      else if (control && key === ",") $("#settings-link").click();
      else if (control && event.shiftKey && key === "o") $("#new-chat").click();
      else if (control && event.shiftKey && key === "l" && onOutline) onOutline();
      else if (control && !event.shiftKey && key === "k") onSearch();
      else if (control && !event.shiftKey && key === "b") toggleSidebar();
      else if (event.altKey && (key === "arrowup" || key === "arrowdown"))
        step(key === "arrowup" ? -1 : 1);
      else if (control && key === "p" && onPrint) return onPrint();
      else if (key === "escape") return meansAnswer(event.target) && onStop();
      else if (key === "home" && onHome && meansConversation(event)) goToEnd(onHome, 0);
      else if (key === "end" && onEnd && meansConversation(event)) goToEnd(onEnd, -1);
      else if (control || event.altKey || typing(event.target)) return false;
      else if (key === "?") openHelp();
      else if (key === "/") $("#composer-text").focus();
      else return false;
      return true;
    };
    if (act()) event.preventDefault();
  };
  document.addEventListener("keydown", press, { signal });
}

/** Move the focus to the message before or after; past the last one, back to the message box. */
function step(by) {
  const all = $$("#transcript > article");
  const here = all.indexOf(document.activeElement.closest("article"));
  const next = here < 0 ? (by < 0 ? all.at(-1) : null) : all[here + by];
  if (!next) return by > 0 && $("#composer-text").focus();
  focusOn(next);
  next.scrollIntoView({ block: "nearest" });
}
