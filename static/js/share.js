// The page of a shared conversation, as its readers see it.

import { $ } from "./base/dom.js";
import { localiseTimes } from "./base/moments.js";
import { startBlocks } from "./transcript/blocks.js";
import { Days } from "./transcript/days.js";
import { Paging } from "./transcript/paging.js";

startSharedPage($("#transcript"), $("#scroller"));

function startSharedPage(log, scroller) {
  // Without a script they lead to the next page.
  log.addEventListener("click", (event) => {
    if (event.target.matches("#earlier, #later")) event.preventDefault();
  });
  localiseTimes();
  startBlocks(log);
  const paging = new Paging({ log, scroller, url: log.dataset.url, onChange() {} });
  new Days({ log, keepPlace: (work) => paging.keepPlace(work) });

  /** Go to the message that the address names, which may not be loaded. */
  async function goToMessage() {
    const number = Number(/^#message-(\d+)$/.exec(location.hash)?.[1]);
    if (!number) return;
    if (!$(location.hash)) await paging.around(number).catch(() => null);
    $(location.hash)?.scrollIntoView();
  }

  addEventListener("hashchange", goToMessage);
  goToMessage();
}
