// The lines above the message box: errors and answers to commands, and how the connection stands.

import { $, make, makeButton } from "./dom.js";
import { gettext } from "./gettext.js";

const box = () => $("#notice");

/** `content`: text or a node; `actions`: [{label, run}]. */
export function showNotice(content, { info = false, actions = [] } = {}) {
  const ariaLabel = gettext("Dismiss");
  const close = makeButton("✕", { className: "icon-button", ariaLabel, onclick: hideNotice });
  const buttons = actions.map(({ label, run }) =>
    makeButton(label, { className: "button small", onclick: run }),
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
export const showBanner = (...content) => showBannerIn("#connection-banner", ...content);

/** One of the page's lines, which goes where it has no content. */
export function showBannerIn(selector, ...content) {
  const line = $(selector);
  line.replaceChildren(...content);
  line.hidden = !line.textContent;
}
