// How a context stands, by what the server tells of its use (`context.usage`).

import { gettext } from "../base/gettext.js";

const TRIGGER = 0.8; // of the budget, until the server has said

export const percentOf = (ratio) => Math.round(ratio * 100);
export const triggerOf = (usage) => percentOf(usage.trigger ?? TRIGGER);

/** Whether no compaction comes by itself at the trigger. */
export const waits = (usage) => usage.automatic === false || usage.held;

/** When the summary that is prepared comes into use. */
export const readiness = (usage) =>
  usage.ratio >= (usage.trigger ?? TRIGGER)
    ? gettext("A summary is ready and swaps in with your next message.")
    : gettext("A summary is ready and swaps in at {trigger} %.", { trigger: triggerOf(usage) });

/** Red only where something will be lost, and calm where nobody will even have to wait. */
export function levelOf(usage) {
  const percent = percentOf(usage.ratio);
  if (usage.automatic === false && percent > 90) return "red";
  return percent >= 70 && (waits(usage) || !usage.ready) ? "amber" : "neutral";
}
