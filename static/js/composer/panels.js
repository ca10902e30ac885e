// The panels of the message box: which model answers, and which tools it may use. Their contents come from the server
// whenever they open.

import { $, $$ } from "../base/dom.js";
import { placeBeside } from "../base/placement.js";

/** The name of the chosen model where it stands. `#model` holds the choice, for forms and other scripts. */
export function showModel() {
  const [option] = $("#model")?.selectedOptions ?? [];
  for (const place of $$(".model-name")) place.textContent = option.dataset.name;
  $("#model-off")?.toggleAttribute("hidden", !option.hidden);
}

export function startComposerPanels(signal) {
  for (const panel of $$(".composer-panel")) startPanel(panel, signal);
  $("#model")?.addEventListener("change", showModel);
  $("#model-panel")?.addEventListener("click", ({ target, currentTarget }) => {
    const button = target.closest("button");
    if (!button) return;
    currentTarget.hidePopover();
    const { model } = button.dataset;
    if (!model || $("#model").value === model) return;
    $("#model").value = model;
    $("#model").dispatchEvent(new Event("change"));
  });
}

/** On what is chosen, or on the first box; without any, on a button. */
const focusFirst = (panel) =>
  ($("[aria-current], [type=checkbox]", panel) ?? $("button", panel))?.focus();

function startPanel(panel, signal) {
  const place = () =>
    panel.matches(":popover-open") && placeBeside(panel, $(`[popovertarget=${panel.id}]`));
  panel.addEventListener("toggle", ({ newState }) => {
    if (newState !== "open") return;
    place();
    panel.dispatchEvent(new Event("panel-opened"));
    focusFirst(panel);
  });
  panel.addEventListener("htmx:afterSwap", () => {
    place();
    if (panel.matches(":popover-open")) focusFirst(panel);
  });
  addEventListener("resize", place, { signal });
}
