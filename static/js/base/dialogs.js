// Dialogs: most are fragments of the server's, which take turns in one element.

import { $, $$, announce, refocus } from "./dom.js";
import { gettext } from "./gettext.js";
import { hideNotice, showNotice } from "./notice.js";

export const UNDO = 8000; // ms that it is offered

// What the server says when a dialog's form is done: {event: words}.
const DONE = {
  "settings-saved": gettext("Settings saved"),
  "summary-saved": gettext("Summary saved. Every exact value in it was found in the messages."),
  "summary-reverted": gettext("Reverted"),
  "conversation-renamed": gettext("Renamed"),
  "message-left-out": gettext("Left out of the context"),
  "message-put-back": gettext("Put back into the context"),
};

/** Show a fragment of the server's in the dialog. */
export function openDialog(url) {
  window.htmx?.ajax("GET", url, { target: "#dialog", swap: "innerHTML" });
}

/** Open a dialog at its beginning: the button that gets the focus may stand at its end. */
export function showFromTop(dialog) {
  dialog.showModal();
  dialog.scrollTop = 0;
}

export function startDialogs() {
  const dialog = $("#dialog");
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog && !dialog.open) showFromTop(dialog);
    for (const node of $$("[data-vanishes]", dialog)) setTimeout(() => node.remove(), UNDO);
  });
  for (const [name, words] of Object.entries(DONE)) {
    document.addEventListener(name, ({ detail }) => {
      dialog.close();
      if (name === "summary-saved") return showNotice(words, { info: true });
      if (detail?.later) return showNotice(`${words}. ${detail.later}`, { info: true });
      hideNotice();
      announce(words);
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.('[data-action="open-dialog"]');
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openDialog(button.dataset.url ?? button.href);
  });
  dialog.addEventListener(
    "click",
    (event) => event.target.closest('[data-action="close-dialog"]') && dialog.close(),
  );
  closeOutside(dialog);
}

/** A press beside a dialog closes it, unless something was changed in it. */
export function closeOutside(dialog) {
  let pressed = false; // a selection may end outside without having begun there
  let changed = false;
  const outside = ({ target, clientX, clientY }) => {
    const box = dialog.getBoundingClientRect();
    return (
      target === dialog &&
      (clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom)
    );
  };
  dialog.addEventListener("pointerdown", (event) => (pressed = outside(event)));
  dialog.addEventListener(
    "click",
    (event) => pressed && !changed && outside(event) && dialog.close(),
  );
  dialog.addEventListener("input", () => (changed = true));
  dialog.addEventListener("close", () => {
    changed = false;
    refocus();
  });
}
