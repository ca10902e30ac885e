// What a message begins with, in a box beside the number that cites it.

import { $, make } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { request } from "../base/http.js";
import { localiseTimes } from "../base/moments.js";
import { placeBeside } from "../base/placement.js";

const CITATIONS = "a[href*='#message-']:not(.number)"; // a message's own number tells nothing new
const WAIT = 400; // ms that a number is pointed at
const LINGER = 250; // ms to come from the number to what is shown, or back

const peeks = new Map(); // address → promise of HTML: a message never changes

/** A message was deleted: ask again. */
export const forgetCitations = () => peeks.clear();

export function startCitations() {
  const box = make("div", { id: "peek", popover: "manual", role: "tooltip" });
  let link = null;
  let timer = 0;

  const later = (wait, work) => {
    clearTimeout(timer);
    timer = setTimeout(work, wait);
  };
  const close = () => {
    clearTimeout(timer);
    link?.removeAttribute("aria-describedby");
    link = null;
    box.hidePopover();
  };
  const open = async (wanted) => {
    close();
    link = wanted;
    const html = await loadPeek(wanted);
    if (link !== wanted || !wanted.isConnected) return;
    box.innerHTML = html;
    localiseTimes(box);
    $("#chat").append(box); // into a landmark of the page
    box.showPopover();
    placeBeside(box, wanted);
    wanted.setAttribute("aria-describedby", box.id);
  };
  const approach = (wanted) => {
    if (!wanted) later(LINGER, close);
    else if (wanted === link) clearTimeout(timer);
    else later(WAIT, () => open(wanted));
  };

  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch") return; // a tap goes there
    if (box.contains(target)) clearTimeout(timer);
    else approach(target.closest?.(CITATIONS));
  });
  document.addEventListener("focusin", ({ target }) =>
    approach(target.matches(":focus-visible") && target.closest(CITATIONS)),
  );
  document.addEventListener("focusout", () => later(LINGER, close));
  document.addEventListener("click", ({ target }) => box.contains(target) || close());
  document.addEventListener("scroll", ({ target }) => target === box || close(), {
    capture: true,
    passive: true,
  });
  // Before the shortcuts: this Escape does not mean the answer.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !link) return;
      close();
      event.preventDefault();
    },
    { capture: true },
  );
}

/** The message that a link cites, as HTML of the server's, or why there is none. */
function loadPeek({ href, hash }) {
  const number = hash.slice("#message-".length);
  const address = new URL(`messages/number/${number}/`, href.replace(/#.*/, "")).href;
  if (!peeks.has(address)) peeks.set(address, fetchPeek(address, number));
  return peeks.get(address);
}

async function fetchPeek(address, number) {
  const response = await request(address).catch(() => null);
  if (response?.ok) return response.text();
  if (response?.status === 404)
    return gettext("Message #{number} is no longer in this conversation.", { number });
  peeks.delete(address);
  return gettext("Message #{number} could not be loaded. Try again in a moment.", { number });
}
