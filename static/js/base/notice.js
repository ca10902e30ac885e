// The lines above the message box: errors and answers to commands, and how the connection stands.

import { $, make } from "./dom.js";
import { gettext } from "./gettext.js";

const box = () => $("#notice");

/** `content`: text or a node; `actions`: [{label, run}]. */
export function showNotice(content, { info = false, actions = [] } = {}) {
  const close = make("button", { type: "button", className: "icon-button", onclick: hideNotice });
  close.ariaLabel = gettext("Dismiss");
  close.textContent = "✕";
  const buttons = actions.map(({ label, run }) =>
    make("button", { type: "button", className: "button small", onclick: run }, label),
  );
  box().className = info ? "info" : "";
  box().hidden = false;
  box().replaceChildren(
    make("div", {}, content),
    make("span", { className: "notice-actions" }, ...buttons, close),
  );
}

export function hideNotice() {
  box().hidden = true;
  box().replaceChildren();
}

/** The line above the notices: how the connection stands. */
export function showBanner(...content) {
  const banner = $("#connection-banner");
  banner.replaceChildren(...content);
  banner.hidden = !banner.textContent;
}
