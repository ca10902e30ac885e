// The panel behind the ring: what fills the context. What it cost comes with the rest of the panel
// when that opens.

import { $, make } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { tokens } from "../base/numbers.js";
import { levelOf, percentOf, readiness, triggerOf, waits } from "./usage.js";

const PARTS = [
  ["system", gettext("System")],
  ["project", gettext("Project")],
  ["tools", gettext("Tools")],
  ["summary", gettext("Summary")],
  ["conversation", gettext("Conversation")],
  ["reserve", gettext("Reserved for reply")],
];

/** How automatic compaction stands, in words for the panel. */
function plan(usage) {
  if (usage.automatic === false)
    return gettext(
      "Automatic compaction is off: the oldest messages will be left out when the window is full.",
    );
  if (usage.held)
    return gettext("Since the revert, automatic compaction waits until the window is full.");
  if (usage.ready) return readiness(usage);
  return gettext("Compacts at {trigger} %.", { trigger: triggerOf(usage) });
}

export function drawPanel(usage) {
  drawBar(usage, percentOf(usage.ratio));
  drawWords(usage, levelOf(usage));
}

/** The bar of parts with the tick of the trigger, and its legend. */
function drawBar(usage, percent) {
  const bar = $("#gauge-bar");
  const legend = $("#gauge-legend");
  bar.replaceChildren();
  legend.replaceChildren();
  for (const [key, label] of PARTS) {
    const count = usage.breakdown?.[key];
    if (count == null || (key === "project" && !count)) continue;
    const piece = make("span", { className: `part-${key}` });
    piece.style.width = `${Math.min(100, (count / usage.budget) * 100)}%`;
    if (count) bar.append(piece);
    legend.append(
      make("dt", { className: `swatch part-${key}` }, label),
      make("dd", {}, tokens(count)),
    );
  }
  const trigger = triggerOf(usage);
  const tick = make("i");
  tick.style.left = `${trigger}%`;
  if (!waits(usage)) bar.append(tick);
  bar.ariaLabel = waits(usage)
    ? gettext("{percent} % used", { percent })
    : gettext("{percent} % used; compaction at {trigger} %", { percent, trigger });
}

function drawWords(usage, level) {
  const sizes = { used: tokens(usage.used), budget: tokens(usage.budget) };
  $("#gauge-headline").textContent =
    gettext("{used} of {budget} tokens", sizes) + (usage.estimated ? " (≈)" : "");
  $("#gauge-hint").textContent = [
    level === "red" ? gettext("Nearly full.") : "",
    plan(usage),
    usage.estimated ? gettext("≈ marks an estimate, until the model reports its own count.") : "",
    usage.note ?? "",
  ]
    .join(" ")
    .trim();
}
