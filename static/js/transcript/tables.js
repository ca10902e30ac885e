// One table: copy it, and show at which side it goes on.

import { copySaying } from "../base/clipboard.js";
import { $, make, makeButton } from "../base/dom.js";
import { gettext } from "../base/gettext.js";

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => drawEdges(target)));

export function dressTable(block) {
  const onclick = () => copySaying(copy, csvOf($("table", block)));
  const copy = makeButton(gettext("Copy as CSV"), { onclick });
  block.append(make("span", { className: "block-tools" }, copy));
  const scroller = $(".table-scroll", block);
  sizes.unobserve(scroller); // what is observed already would not be drawn
  sizes.observe(scroller);
}

/** Fade the sides at which a table can be scrolled on. */
export function drawEdges(scroller) {
  const shown = scroller.getBoundingClientRect();
  const whole = $("table", scroller).getBoundingClientRect();
  const block = scroller.parentNode;
  block.classList.toggle("more-left", whole.left < shown.left - 1);
  block.classList.toggle("more-right", whole.right > shown.right + 1);
}

/** By RFC 4180: what has a comma, a quote or a line break stands in quotes. */
const csvOf = (table) => [...table.rows].map((row) => `${recordOf(row)}\r\n`).join("");
const recordOf = (row) => [...row.cells].map((cell) => fieldOf(cell.textContent.trim())).join(",");
const fieldOf = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
