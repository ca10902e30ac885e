// Elements of the page: finding, making, focusing, announcing.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** The id of the conversation that is shown, "" on the start page. */
export const shownId = () => $("#chat").dataset.conversationId ?? "";

/** `make("p", {className: "x", onclick}, "text", node…)`; null children are left out. */
export function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child != null));
  return node;
}

/** A button with words on it. */
export const makeButton = (words, properties) =>
  make("button", { type: "button", ...properties }, words);

/** The first element of trusted server HTML, or null. */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** Move the focus to a message. */
export function focusOn(article) {
  article.tabIndex = -1;
  article.focus({ preventScroll: true });
}

/** Whether nobody's screen is taken by a keyboard when a text box gets the focus. */
export const hasKeyboard = matchMedia("(hover: hover)").matches;

/** What had the focus is gone: the keyboard goes on in the message box. */
export function refocus() {
  const here = document.activeElement;
  if (hasKeyboard && (here === document.body || !here.checkVisibility()))
    $("#composer-text").focus({ preventScroll: true });
}

/** Tell screen readers, briefly: whole states, never tokens. */
export function announce(text) {
  $("#status").textContent = text;
}
