// Code blocks and tables: what can be done with one. The server's HTML has none of it, so that pages
// stay small, and without scripts all of a block is shown.

import { dressCode, foldLong, revealHit } from "./code_blocks.js";
import { $$ } from "./dom.js";
import { drawEdges, dressTable } from "./tables.js";

const BARE = ":is(.code-block, .table-block):not(.dressed, .tail *)";

/** Dress the blocks of the transcript, now and whenever others come. */
export function startBlocks(log) {
  dress($$(BARE, log), () => true);
  new MutationObserver((records) => {
    // The tail of an answer changes many times a second, and its blocks are not finished.
    if (records.every(({ target }) => target.closest(".tail"))) return;
    const added = new Set(records.flatMap(({ addedNodes }) => [...addedNodes]));
    dress($$(BARE, log), (block) => added.has(block.closest("#transcript > *")));
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

/** `isNew(block)`: nobody can have read it yet. */
function dress(blocks, isNew) {
  for (const block of blocks) {
    block.classList.add("dressed");
    if (block.matches(".code-block")) dressCode(block);
    else dressTable(block);
  }
  foldLong(
    blocks.filter((block) => block.matches(".code-block")),
    isNew,
  );
}

/** Blocks as the server writes them, to be compared with it; the next change dresses them again. */
export function undress(article) {
  for (const block of $$(".dressed", article)) {
    for (const node of $$(".block-tools, .fold", block)) node.remove();
    block.className = block.classList[0];
  }
}
