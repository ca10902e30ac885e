// Small things that every module needs.

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

export function post(url, fields = {}) {
  const headers = {
    "X-CSRFToken": $('meta[name="csrf-token"]').content,
    "X-Requested-With": "fetch", // the answer is a status, not a page
  };
  return fetch(url, { method: "POST", headers, body: new URLSearchParams(fields) });
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
