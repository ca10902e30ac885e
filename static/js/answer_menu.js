// The menu of one answer: what it was, and the models that may answer instead of it.

import { placeBeside } from "./beside.js";
import { $, $$, make } from "./dom.js";
import { gettext } from "./gettext.js";

/** `answerWith(model)` asks a model, by its id, for another answer. */
export function openAnswerMenu(button, answerWith) {
  const others = $$("#model option:not([hidden])").filter(
    ({ value }) => value !== button.dataset.model,
  );
  const menu = make(
    "div",
    { className: "menu-panel answer-menu", popover: "auto", tabIndex: -1 },
    make("p", { className: "quiet" }, $(".facts", button.parentNode).textContent),
    ...others.map(({ value, label }) => {
      const onclick = () => {
        menu.hidePopover();
        answerWith(value);
      };
      const words = gettext("Answer again with {model}", { model: label.trim() });
      return make("button", { type: "button", onclick }, words);
    }),
  );
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && menu.remove());
  $("#chat").append(menu);
  menu.showPopover();
  placeBeside(menu, button);
  ($("button", menu) ?? menu).focus();
}
