// The line above the composer: errors and answers to commands.

import { $, make } from "./dom.js";

const box = () => $("#notice");

/** `content`: text or a node; `action`: {label, run} or nothing. */
export function showNotice(content, { info = false, action = null } = {}) {
  const close = make("button", { type: "button", className: "icon-button", onclick: hideNotice });
  close.ariaLabel = "Dismiss";
  close.textContent = "✕";
  const button =
    action &&
    make("button", { type: "button", className: "button small", onclick: action.run }, action.label);
  box().className = info ? "info" : "";
  box().hidden = false;
  box().replaceChildren(make("div", {}, content), make("span", { className: "notice-actions" }, button, close));
}

export function hideNotice() {
  box().hidden = true;
  box().replaceChildren();
}
