// Scripts that a first visit does without: each comes when it is first needed.

import { gettext } from "./gettext.js";
import { showNotice } from "./notice.js";

const PRESSES = ["click", "keydown", "submit"];
const KEYS = ["Enter", "ArrowUp", "ArrowDown"]; // that only a script understands; the others type

/** The module that `importing()` imports; null where it cannot be had, and the page says so. */
export async function load(importing) {
  try {
    return await importing();
  } catch (error) {
    reportError(error);
    const actions = [{ label: gettext("Reload"), run: () => location.reload() }];
    showNotice(
      gettext(
        "This needs a part of the page that could not be loaded. Either the server cannot be reached, or it has a newer page: reload it.",
      ),
      { actions },
    );
    return null;
  }
}

/** Show a dialog at once, and `begin(module)` when its script is there. What is typed in it meanwhile
 * stands, and what is pressed is done then. */
export async function openWith(dialog, importing, begin) {
  dialog.showModal();
  const held = [];
  const hold = (event) => {
    // In a form Enter submits, which is held by itself.
    if (event.type === "keydown" && (!KEYS.includes(event.key) || event.target.form)) return;
    event.preventDefault();
    event.stopPropagation();
    held.push(event);
  };
  for (const type of PRESSES) dialog.addEventListener(type, hold, true);
  const module = await load(importing);
  for (const type of PRESSES) dialog.removeEventListener(type, hold, true);
  if (!module) return dialog.close();
  begin(module);
  if (dialog.open) held.forEach(press);
}

function press(event) {
  const { type, target } = event;
  if (type === "submit") target.requestSubmit();
  else if (type === "click") target.click();
  else target.dispatchEvent(new KeyboardEvent(type, event));
}
