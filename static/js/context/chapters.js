// The chapters of a summary, folded and open.

import { $, $$ } from "../base/dom.js";

/** Open all chapters, or fold them where all are open. */
export function foldChapters(body) {
  const chapters = $$(".chapter", body);
  const open = chapters.some((chapter) => !chapter.open);
  for (const chapter of chapters) chapter.open = open;
}

/** A summary takes the place of an older version: what the reader has opened and folded in it stays so. */
export function keepFolds(old, fresh) {
  if (!$(".summary[open]", old)) return;
  $(".summary", fresh)?.setAttribute("open", "");
  for (const { dataset, open } of $$(".chapter", old))
    $(`[data-chapter="${dataset.chapter}"]`, fresh)?.toggleAttribute("open", open);
}
