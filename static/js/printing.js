// A conversation on paper: css/print.css, and for what the page does not hold chat/web/printing.py.

import { $$ } from "./dom.js";

/** Links tell their addresses on paper, but not twice. */
export function startPrinting(signal) {
  const mark = () => {
    for (const link of $$(".body a[href]"))
      link.classList.toggle("bare", link.textContent.trim() === link.getAttribute("href"));
  };
  addEventListener("beforeprint", mark, { signal });
}
