// The seconds until a failed answer can be retried.

import { $$ } from "./dom.js";
import { gettext } from "./gettext.js";

const TICK = 1000; // ms

/** Keep all countdowns within an element. */
export function startCountdowns(log) {
  const tick = () => $$(".countdown[data-retry-at]", log).forEach(draw);
  setInterval(tick, TICK);
  tick();
}

function draw(node) {
  const seconds = Math.ceil((new Date(node.dataset.retryAt) - Date.now()) / 1000);
  node.parentNode.querySelector("button").disabled = seconds > 0;
  node.textContent = seconds > 0 ? gettext("available in {seconds} s", { seconds }) : "";
  if (!(seconds > 0)) node.removeAttribute("data-retry-at");
}
