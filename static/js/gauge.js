// How full the context is: the ring, and the way to the panel behind it.

import { $, announce } from "./dom.js";
import { gettext } from "./gettext.js";
import { load } from "./on_demand.js";

const MARGIN = 12; // px between the panel and the edge of the window
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

export class Gauge {
  #usage = null;
  #compactable = true;
  #drawPanel = null; // from gauge_panel.js, once it was opened

  /** `onCompact()` when the reader asks for a compaction. */
  constructor({ onCompact, signal }) {
    this.button = $("#gauge");
    this.panel = $("#gauge-panel");
    this.panel.addEventListener("toggle", (event) => {
      if (event.newState !== "open") return;
      this.#place();
      this.#fill();
      $("#gauge-more").dispatchEvent(new Event("panel-opened"));
    });
    addEventListener("resize", () => this.#place(), { signal });
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

  async open() {
    if (!this.panel.matches(":popover-open")) this.panel.showPopover();
    await this.#fill();
    announce($("#gauge-headline").textContent);
  }

  setCompactable(on) {
    this.#compactable = on;
    $("#compact-now").disabled = !on;
  }

  async #fill() {
    const module = await load(() => import("./gauge_panel.js"));
    if (!module) return;
    this.#drawPanel = module.drawPanel;
    this.#drawPanel(this.#usage);
  }

  #place() {
    const box = this.button.getBoundingClientRect();
    const room = innerWidth - this.panel.offsetWidth - MARGIN; // so that it does not leave on the left
    this.panel.style.right = `${Math.max(MARGIN, Math.min(room, innerWidth - box.right))}px`;
    this.panel.style.bottom = `${innerHeight - box.top + 8}px`;
    this.panel.style.maxHeight = `${box.top - 8 - MARGIN}px`; // it scrolls, instead of leaving at the top
  }

  #draw(usage) {
    this.#drawRing(usage, percentOf(usage.ratio));
    this.#drawPanel?.(usage);
    this.setCompactable(this.#compactable);
  }

  #drawRing(usage, percent) {
    const level = levelOf(usage);
    const state = {
      neutral: usage.ready && !waits(usage) ? readiness(usage) : "",
      amber: waits(usage) ? "" : gettext("Compacts at {trigger} %.", { trigger: triggerOf(usage) }),
      red: gettext("Nearly full: the oldest messages will be left out."),
    }[level];
    this.button.dataset.level = level;
    this.button.ariaLabel = `${gettext("Context {percent} % full.", { percent })} ${state}`.trim();
    this.button.title = state || gettext("Context use");
    $(".ring-value", this.button).setAttribute("stroke-dasharray", `${Math.min(100, percent)} 100`);
    $("#gauge-text").textContent = `${percent} %`;
    $("#compaction-off").hidden = usage.automatic !== false;
  }
}
