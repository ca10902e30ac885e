// The seconds until a failed answer can be retried.

import { $$ } from "../base/dom.js";
import { gettext } from "../base/gettext.js";

const TICK = 1000; // ms

/** Keep all countdowns within an element, until `signal`. */
export function startCountdowns(log, signal) {
  const tick = () => $$(".countdown[data-retry-at]", log).forEach(drawCountdown);
  const timer = setInterval(tick, TICK);
  signal.addEventListener("abort", () => clearInterval(timer));
  tick();
}

function drawCountdown(node) {
  const seconds = Math.ceil((new Date(node.dataset.retryAt) - Date.now()) / 1000);
  node.parentNode.querySelector("button").disabled = seconds > 0;
  node.textContent = seconds > 0 ? gettext("available in {seconds} s", { seconds }) : "";
  if (!(seconds > 0)) node.removeAttribute("data-retry-at");
}
