// Code blocks and tables: what can be done with one. The server's HTML has none of it, so that pages
// stay small, and without scripts all of a block is shown.

import { $, $$ } from "../base/dom.js";
import { dressCode, foldLong, revealHit, wrapTail } from "./code_blocks.js";
import { drawEdges, dressTable } from "./tables.js";

const BARE = ":is(.code-block, .table-block):not(.dressed, .tail *)";

/** Dress the blocks of the transcript, now and whenever others come. */
export function startBlocks(log) {
  wrapTail();
  const all = $$(BARE, log);
  dress(all);
  foldLong(all, () => true);
  new MutationObserver((records) => {
    // The tail of an answer changes many times a second, and its blocks are not finished.
    if (records.every(({ target }) => target.closest(".tail"))) return;
    const blocks = $$(BARE, log);
    const added = new Set(records.flatMap(({ addedNodes }) => [...addedNodes]));
    const isNew = (block) => added.has(block.closest("#transcript > *"));
    if (!blocks.length) return;
    stayAtEnd(() => {
      dress(blocks);
      foldLong(blocks, isNew);
    });
  }).observe(log, { childList: true, subtree: true });
  log.addEventListener(
    "scroll",
    ({ target }) => {
      if (target.matches(".table-scroll")) drawEdges(target);
      else if (target.matches(".folded pre")) revealHit(target);
    },
    { capture: true, passive: true }, // these events do not bubble
  );
}

function dress(blocks) {
  for (const block of blocks) {
    block.classList.add("dressed");
    if (block.matches(".code-block")) dressCode(block);
    else dressTable(block);
  }
}

/** Change the page; whoever is at its end stays there. */
function stayAtEnd(work) {
  const scroller = $("#scroller");
  const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  work();
  if (below < 2) scroller.scrollTop = scroller.scrollHeight;
}

/** Compare an article with the server's HTML, which has nothing of this; it is dressed again at once,
 * before anybody can measure it. */
export function undressed(article, work) {
  for (const block of $$(".dressed", article)) {
    for (const node of $$(".block-tools, .fold", block)) node.remove();
    block.className = block.classList[0];
  }
  work();
  const blocks = $$(BARE, article);
  dress(blocks);
  // Once the page has followed the end: what is on the screen then is not folded.
  queueMicrotask(() => stayAtEnd(() => foldLong(blocks, () => false)));
}
