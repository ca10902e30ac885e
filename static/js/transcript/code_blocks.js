// One block of code: copy, download and wrap it, and fold a long one.
//
// What is folded is clipped and not taken away: a search in the page and a screen reader find it.

import { copySaying } from "../base/clipboard.js";
import { $, make, makeButton } from "../base/dom.js";
import { gettext, ngettext } from "../base/gettext.js";
import { storage } from "../base/storage.js";
import { download } from "./code_download.js";

const LONG_CODE = 40; // lines; what has more is folded (to how many: prose.css)
const WRAPS = "wrap-code"; // in the storage: "1" if blocks begin with their lines wrapped

const folds = new WeakMap(); // block: whether it was last folded
const scroller = () => $("#scroller");
const codeOf = (block) => $("code", block).textContent;
const languageOf = (block) => $(".code-language", block).textContent.split(" ")[0].toLowerCase();

export function dressCode(block) {
  const wrap = makeButton(gettext("Wrap"), {
    onclick: () => setWrapped(block, wrap, !isWrapped(block)),
  });
  const save = makeButton(gettext("Download"), {
    onclick: () => download(codeOf(block), languageOf(block)),
  });
  const copy = makeButton(gettext("Copy"), { onclick: () => copySaying(copy, codeOf(block)) });
  $(".code-header", block).append(make("span", { className: "block-tools" }, wrap, save, copy));
  showWrapped(block, wrap, wrapsByDefault());
  if (folds.has(block)) addFold(block, folds.get(block)); // its message came again
}

// --- Wrapping ---

const wrapsByDefault = () => storage.get(WRAPS) === "1";
const isWrapped = (block) => block.classList.contains("wrapped");

function setWrapped(block, button, on) {
  showWrapped(block, button, on);
  storage.set(WRAPS, on ? "1" : ""); // blocks that come begin like this one
  wrapTail();
}

/** Blocks that are still being written look as they will when they are done. */
export const wrapTail = () => $("#transcript").classList.toggle("wraps", wrapsByDefault());

function showWrapped(block, button, on) {
  block.classList.toggle("wrapped", on);
  button.ariaPressed = String(on);
}

// --- Folding ---

/** Fold what is long, but not before the eyes of its reader: not in an answer that is being written,
 * nor where it is on the screen already. `isNew(block)`: nobody can have read it yet. */
export function foldLong(blocks, isNew) {
  const long = blocks.filter(
    (block) =>
      block.matches(".code-block") &&
      !folds.has(block) &&
      countLines(block) > LONG_CODE &&
      !isBeingWritten(block),
  );
  if (!long.length) return; // before anything is measured
  const { top, bottom } = scroller().getBoundingClientRect();
  const boxOf = (block) => block.getBoundingClientRect();
  const isShown = (block) => boxOf(block).bottom > top && boxOf(block).top < bottom;
  const wanted = long.filter((block) => isNew(block) || !isShown(block));
  const above = wanted.findLast((block) => boxOf(block).bottom <= top);
  const work = () => wanted.forEach((block) => addFold(block, true));
  if (above) keepEnd(above, work);
  else work();
}

const countLines = (block) => codeOf(block).trimEnd().split("\n").length;
const isBeingWritten = (block) => block.closest("article")?.dataset.status === "streaming";

/** Do what changes the height of a block; what follows it stays where it is on the screen. */
function keepEnd(block, work) {
  const before = block.getBoundingClientRect().bottom;
  work();
  scroller().scrollTop += block.getBoundingClientRect().bottom - before;
}

function addFold(block, on) {
  const press = () => {
    if (block.classList.contains("folded")) setFolded(block, false);
    else keepEnd(block, () => setFolded(block, true));
  };
  block.append(makeButton("", { className: "fold", onclick: press }));
  setFolded(block, on);
}

function setFolded(block, on) {
  const button = $(".fold", block);
  const all = countLines(block);
  folds.set(block, on);
  block.classList.toggle("folded", on);
  button.ariaExpanded = String(!on);
  button.textContent = on
    ? ngettext("Show all {count} line", "Show all {count} lines", all)
    : gettext("Show less");
}

/** A search or a selection has scrolled to what is folded: show it, at the same place of the screen. */
export function revealHit(pre) {
  const by = pre.scrollTop;
  if (!by) return;
  setFolded(pre.parentNode, false);
  pre.scrollTop = 0;
  scroller().scrollTop += by;
}
