// Copying.

import { announce, make } from "./dom.js";
import { gettext } from "./gettext.js";

const COPIED_SHOWN = 1600; // ms that a button says that it has copied

/** Copy a text, or one that is still on its way; whether it worked. */
async function copy(source) {
  try {
    if (typeof source === "string") await navigator.clipboard.writeText(source);
    else {
      // Begun at once, while the click still allows it.
      const blob = source.then((text) => new Blob([text], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    }
    return true;
  } catch {
    const text = await Promise.resolve(source).catch(() => null);
    return text != null && copyBySelection(text);
  }
}

/** Without https there is no clipboard API; this old way still works. */
function copyBySelection(value) {
  const area = make("textarea", { value, className: "sr-only" });
  document.body.append(area);
  area.select();
  const ok = document.execCommand("copy");
  area.remove();
  return ok;
}

/** Copy for a button, which shows for a moment that it has. */
export async function copyFor(button, source) {
  const ok = await copy(source);
  button.classList.toggle("done", ok);
  announce(ok ? gettext("Copied") : gettext("Could not copy"));
  setTimeout(() => button.classList.remove("done"), COPIED_SHOWN);
}

/** Copy for a button with words on it, which say for a moment whether it has. */
export async function copySaying(button, text) {
  const label = (button.dataset.label ??= button.textContent);
  const ok = await copy(text);
  button.textContent = ok ? gettext("Copied") : gettext("Not copied");
  announce(button.textContent);
  setTimeout(() => (button.textContent = label), COPIED_SHOWN);
}
