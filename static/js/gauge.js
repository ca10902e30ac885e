// How full the context is: the ring, and the panel behind it.

import { $, announce, make } from "./dom.js";
import { money, tokens } from "./figures.js";
import { gettext, ngettext } from "./gettext.js";

const PARTS = [
  ["system", gettext("System")],
  ["project", gettext("Project")],
  ["tools", gettext("Tools")],
  ["summary", gettext("Summary")],
  ["conversation", gettext("Conversation")],
  ["reserve", gettext("Reserved for reply")],
];
const MARGIN = 12; // px between the panel and the edge of the window
const TRIGGER = 0.8; // of the budget, until the server has said

const percentOf = (ratio) => Math.round(ratio * 100);
const triggerOf = (usage) => percentOf(usage.trigger ?? TRIGGER);

/** Whether no compaction comes by itself at the trigger. */
const waits = (usage) => usage.automatic === false || usage.held;

/** How automatic compaction stands, in words for the panel. */
function plan(usage) {
  if (usage.automatic === false)
    return gettext(
      "Automatic compaction is off: the oldest messages will be left out when the window is full.",
    );
  if (usage.held)
    return gettext("Since the revert, automatic compaction waits until the window is full.");
  if (usage.ready) return `${readiness(usage)}.`;
  return gettext("Compacts at {trigger} %.", { trigger: triggerOf(usage) });
}

/** When the summary that is prepared comes into use. */
const readiness = (usage) =>
  usage.ratio >= (usage.trigger ?? TRIGGER)
    ? gettext("A summary is ready and swaps in with your next message")
    : gettext("A summary is ready and swaps in at {trigger} %", { trigger: triggerOf(usage) });

/** Red only where something will be lost, and calm where nobody will even have to wait. */
function levelOf(usage, percent) {
  if (usage.automatic === false && percent > 90) return "red";
  return percent >= 70 && (waits(usage) || !usage.ready) ? "amber" : "neutral";
}

export class Gauge {
  #usage = null;
  #compactable = true;

  /** `onCompact()` when the reader asks for a compaction. */
  constructor({ onCompact }) {
    this.button = $("#gauge");
    this.panel = $("#gauge-panel");
    this.panel.addEventListener("toggle", (event) => {
      if (event.newState !== "open") return;
      this.#place();
      $("#gauge-more").dispatchEvent(new Event("panel-opened"));
    });
    addEventListener("resize", () => this.#place());
    $("#compact-now").addEventListener("click", () => {
      this.panel.hidePopover?.();
      onCompact();
    });
  }

  /** From `context.usage`; `{automatic}` and `{held}` alone say how compaction stands now. */
  show(fresh) {
    this.#usage = { ...this.#usage, ...fresh };
    this.#draw(this.#usage);
  }

  open() {
    if (!this.panel.matches(":popover-open")) this.panel.showPopover();
    announce($("#gauge-headline").textContent);
  }

  setCompactable(on) {
    this.#compactable = on;
    $("#compact-now").disabled = !on;
  }

  #place() {
    const box = this.button.getBoundingClientRect();
    const room = innerWidth - this.panel.offsetWidth - MARGIN; // so that it does not leave on the left
    this.panel.style.right = `${Math.max(MARGIN, Math.min(room, innerWidth - box.right))}px`;
    this.panel.style.bottom = `${innerHeight - box.top + 8}px`;
  }

  #draw(usage) {
    const percent = percentOf(usage.ratio);
    const level = levelOf(usage, percent);
    this.#drawRing(usage, percent, level);
    drawBar(usage, percent);
    drawWords(usage, level);
    drawTotals(usage.totals ?? {});
    this.setCompactable(this.#compactable);
  }

  #drawRing(usage, percent, level) {
    const state = {
      neutral: usage.ready && !waits(usage) ? readiness(usage) : "",
      amber: waits(usage) ? "" : gettext("Compacts at {trigger} %", { trigger: triggerOf(usage) }),
      red: gettext("Nearly full: the oldest messages will be left out"),
    }[level];
    this.button.dataset.level = level;
    this.button.ariaLabel = `${gettext("Context {percent} % full.", { percent })} ${state}`.trim();
    this.button.title = state || gettext("Context use");
    $(".ring-value", this.button).setAttribute("stroke-dasharray", `${Math.min(100, percent)} 100`);
    $("#gauge-text").textContent = `${percent} %`;
    $("#compaction-off").hidden = usage.automatic !== false;
  }
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

function drawTotals(totals) {
  const { input_tokens: input = 0, output_tokens: output = 0, cost = 0 } = totals;
  const { compactions = 0, compaction_cost: extra = 0 } = totals;
  const rows = [
    [gettext("Tokens in, all requests"), tokens(input)],
    [gettext("Tokens out"), tokens(output)],
    [gettext("Cost so far"), money(cost)],
    [ngettext("{count} compaction", "{count} compactions", compactions), money(extra)],
  ];
  $("#gauge-totals").replaceChildren(
    ...rows.flatMap(([label, value]) => [make("dt", {}, label), make("dd", {}, value)]),
  );
}
