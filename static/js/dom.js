// Small things that every module needs.

import { gettext } from "./gettext.js";

const PATIENCE = 30_000; // ms; what waits for a request does not wait for ever

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** `make("p", {className: "x", onclick}, "text", node…)`; null children are left out. */
export function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child != null));
  return node;
}

/** The first element of trusted server HTML, or null. */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** Whether an answer came from the sign-in page: it is no answer to what was asked. */
export const isSignIn = (url) => new URL(url, location).pathname === $("#connection-banner").dataset.loginUrl;

export const tooLarge = () => gettext("This is larger than the server, or a proxy in front of it, allows. Shorten it, or attach it as a file.");

/** `fetch` with what the server asks for. Whoever was signed out gets a 401, and the page is told. */
export async function request(url, options = {}) {
  const headers = {
    "X-CSRFToken": $('meta[name="csrf-token"]').content,
    "X-Requested-With": "fetch", // the answer is a status, not a page
  };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE), ...options });
  // A proxy's own page says nothing to a reader.
  if (response.status === 413) return new Response(tooLarge(), { status: 413 });
  if (!isSignIn(response.url)) return response;
  document.dispatchEvent(new Event("signed-out"));
  return new Response(gettext("You were signed out. Sign in again; your text is kept."), { status: 401 });
}

/** `fields`: an object, or a form's data. */
export const post = (url, fields = {}) => request(url, { method: "POST", body: new URLSearchParams(fields) });

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
  if (hasKeyboard && (here === document.body || !here.checkVisibility())) $("#composer-text").focus({ preventScroll: true });
}

/** Local storage that may be full or forbidden. */
export const storage = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value) localStorage.setItem(key, value);
      else localStorage.removeItem(key);
    } catch {
      // A draft that cannot be kept is no reason to stop typing.
    }
  },
};

/** Tell screen readers, briefly: whole states, never tokens. */
export function announce(text) {
  $("#status").textContent = text;
}

/** 161k, 9.2k, 812: as the server writes them. */
export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 9950) return (count / 1000).toFixed(1).replace(/\.0$/, "") + "k";
  if (count < 999500) return Math.round(count / 1000) + "k";
  return (count / 1e6).toFixed(1).replace(/\.0$/, "") + "M";
}

/** Show times in the reader's zone. */
export function localiseTimes(root = document) {
  for (const node of $$("time[datetime]:not([title])", root)) {
    const date = new Date(node.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const sameDay = date.toDateString() === new Date().toDateString();
    const style = sameDay ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
    node.textContent = date.toLocaleString([], style);
    node.title = date.toLocaleString([], { dateStyle: "full", timeStyle: "short" });
  }
}

/** Copy a text, or one that is still on its way; whether it worked. */
export async function copy(source) {
  try {
    if (typeof source === "string") await navigator.clipboard.writeText(source);
    else {
      // Begun at once, while the click still allows it.
      const blob = source.then((text) => new Blob([text], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    }
    return true;
  } catch {
    // Without https there is no clipboard API; this old way still works.
    const value = await Promise.resolve(source).catch(() => null);
    if (value == null) return false;
    const area = make("textarea", { value, className: "sr-only" });
    document.body.append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    return ok;
  }
}
