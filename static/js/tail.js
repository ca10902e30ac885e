// The unfinished end of an answer. Not Markdown: it shows just enough of it (lists, headings, bold,
// code) that nothing jumps when the server's HTML takes its place. Text nodes only, so it is safe.

import { make } from "./dom.js";

const LONGEST = 6000; // characters; a longer tail is shown as plain text
const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`)/;

export function drawTail(tail, text) {
  text = text.replace(/^\s*\n/, "").trimEnd();
  const fence = /^(`{3,}|~{3,})[^\n]*\n?/.exec(text);
  tail.classList.toggle("code", Boolean(fence));
  if (fence || text.length > LONGEST) tail.textContent = fence ? text.slice(fence[0].length) : text;
  else tail.replaceChildren(...(text ? text.split("\n").map(line) : []));
}

function line(source) {
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(source);
  if (item) {
    const node = make("div", { className: "tail-item" },
      make("span", { className: "tail-marker" }, /\d/.test(item[2]) ? item[2] : "•"),
      make("span", {}, ...inline(item[3])));
    node.dataset.depth = Math.min(3, Math.floor(item[1].length / 2));
    return node;
  }
  const heading = /^#{1,6}(?:\s+(.*))?$/.exec(source);
  if (heading) return make("div", { className: "tail-heading" }, ...inline(heading[1] ?? ""));
  return make("div", {}, ...(source ? inline(source) : ["\n"]));
}

function inline(source) {
  return source.split(INLINE).filter(Boolean).map((part) => {
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**")) return make("strong", {}, part.slice(2, -2));
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) return make("code", {}, part.slice(1, -1));
    return part;
  });
}
