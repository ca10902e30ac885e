// How full the context is: the ring, which opens the panel of gauge_panel.js.

import { $, announce } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { drawPanel } from "./gauge_panel.js";
import { levelOf, percentOf, readiness, triggerOf, waits } from "./usage.js";

const EDGE = 12; // px between the panel and the edge of the window

export class Gauge {
  #usage = null;
  #compactable = true;

  /** `onCompact()` when the reader asks for a compaction. */
  constructor({ onCompact, signal }) {
    this.button = $("#gauge");
    this.panel = $("#gauge-panel");
    this.panel.addEventListener("toggle", (event) => {
      if (event.newState !== "open") return;
      this.#place();
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
    const room = innerWidth - this.panel.offsetWidth - EDGE; // so that it does not leave on the left
    this.panel.style.right = `${Math.max(EDGE, Math.min(room, innerWidth - box.right))}px`;
    this.panel.style.bottom = `${innerHeight - box.top + 8}px`;
    this.panel.style.maxHeight = `${box.top - 8 - EDGE}px`; // it scrolls, instead of leaving at the top
  }

  #draw(usage) {
    this.#drawRing(usage, percentOf(usage.ratio));
    drawPanel(usage);
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
