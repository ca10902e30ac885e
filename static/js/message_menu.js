// The menu of one message: what the answer was, and what is rarely done with a message.

import { placeBeside } from "./beside.js";
import { $, $$, make } from "./dom.js";

/** The models that may answer instead of the one named: `<option>`s. */
export const otherModels = (model) =>
  $$("#model option:not([hidden])").filter(({ value }) => value !== model);

/** `entries`: {words, act, danger}; what `act` does is seen when the menu has closed. */
export function openMessageMenu(button, entries) {
  const facts = $(".facts", button.parentNode);
  const menu = make(
    "div",
    { className: "menu-panel message-menu", popover: "auto" },
    facts && make("p", { className: "quiet" }, facts.textContent),
    ...entries.map(({ words, act, danger }) => {
      const onclick = () => {
        menu.hidePopover();
        act();
      };
      return make(
        "button",
        { type: "button", onclick, className: danger ? "danger-text" : "" },
        words,
      );
    }),
  );
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && menu.remove());
  $("#chat").append(menu);
  menu.showPopover();
  placeBeside(menu, button);
  $("button", menu).focus();
}
