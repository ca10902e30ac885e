// What a message begins with, shown beside the number that cites it. What shows it is in peek.js, which comes
// when a number is pointed at.

import { load } from "./on_demand.js";

export const CITATIONS = "a[href*='#message-']:not(.number)"; // a message's own number tells nothing new

const KINDS = ["pointerover", "focusin"];

export const peeks = new Map(); // address → promise of HTML: a message never changes

/** A message was deleted: ask again. */
export const forgetCitations = () => peeks.clear();

/** Have the script once it can be of use, for touch it cannot: a tap goes there. */
export function startCitations() {
  const first = async ({ target, pointerType }) => {
    const link = pointerType !== "touch" && target.closest?.(CITATIONS);
    if (!link) return;
    stop();
    const module = await load(() => import("./peek.js"));
    if (!module) return start();
    const approach = module.startPeek();
    if (link.matches(":hover, :focus-visible")) approach(link);
  };
  const start = () => KINDS.forEach((kind) => document.addEventListener(kind, first));
  const stop = () => KINDS.forEach((kind) => document.removeEventListener(kind, first));
  start();
}
