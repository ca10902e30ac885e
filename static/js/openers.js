// What opens a part of the page whose script comes on demand.

import { $ } from "./dom.js";
import { load, openWith } from "./on_demand.js";
import { storage } from "./storage.js";

export const OUTLINE = "outline"; // in the storage: whether it stays open beside the transcript

/** Opens the palette, with words in its box or with what was searched for last. `commands`: {name: (rest, done)}. */
export function makePalette(commands, signal) {
  let palette = null;
  const dialog = $("#palette");
  const input = $("input", dialog);
  const open = (words = input.value) => {
    const opened = openWith(
      dialog,
      () => import("./palette.js"),
      ({ Palette }) => (palette ??= new Palette(commands, signal)).begin(words),
    );
    input.value = words;
    if (words.endsWith(" ")) input.focus();
    else input.select();
    return opened;
  };
  const press = ({ target }) => target.closest?.("[data-action=find]") && open("in:here ");
  document.addEventListener("click", press, { signal });
  return () => open();
}

/** "Go to", see go_to.js. */
export function makeGoTo(options) {
  let goTo = null;
  const importing = () => import("./go_to.js");
  const have = ({ GoTo }) => (goTo ??= new GoTo(options));
  const dialog = $("#go-to");
  const open = () => {
    $("input", dialog).value = "";
    openWith(dialog, importing, (module) => have(module).begin());
  };
  return {
    open,
    /** `/goto 120`. False: the text stays in the message box; `done()` when the message is shown. */
    command(words, done) {
      if (words) load(importing).then((module) => module && have(module).run(words, done));
      else open();
      return !words;
    },
  };
}

/** The outline, see outline.js. Where the reader left it open, it comes at once. */
export function makeOutline(options) {
  let outline = null;
  const have = async () => {
    const module = await load(() => import("./outline.js"));
    if (!module || options.signal.aborted) return null; // another chat is shown by now
    return (outline ??= new module.Outline(options));
  };
  if (storage.get(OUTLINE)) have();
  return {
    open: () => have().then((it) => it?.open()),
    toggle: () => have().then((it) => it?.toggle()),
    /** The conversation has changed. */
    refresh: () => outline?.refresh(),
  };
}
