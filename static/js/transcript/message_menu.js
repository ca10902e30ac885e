// The menu of one message: what the answer was, and what is rarely done with a message.

import { $, $$, make, makeButton } from "../base/dom.js";
import { gettext } from "../base/gettext.js";
import { placeBeside } from "../base/placement.js";

/** `rewrite(model)` asks another model for an answer, `leaveOut()` whether the context shall do without the message, or
 * have it again, `share()` for whom the conversation up to it, `remove()` whether it shall go. */
export function openMessageMenu(button, { rewrite, leaveOut, share, remove }) {
  const isLeftOut = "leftOut" in button.closest("article").dataset;
  const entries = [
    ...findOtherModels(button.dataset.model).map(({ value, label }) => ({
      words: gettext("Answer again with {model}", { model: label.trim() }),
      act: () => rewrite(value),
    })),
    {
      words: isLeftOut ? gettext("Put back into the context") : gettext("Leave out of the context"),
      act: leaveOut,
    },
    { words: gettext("Share up to here"), act: share },
    { words: gettext("Delete message"), act: remove, danger: true },
  ];
  const details = $(".details", button.parentNode);
  const menu = make(
    "div",
    { className: "menu-panel message-menu", popover: "auto" },
    details && make("p", { className: "quiet" }, details.textContent),
    ...entries.map(({ words, act, danger }) => {
      const onclick = () => {
        menu.hidePopover(); // first, so that what is done is seen
        act();
      };
      return makeButton(words, { onclick, className: danger ? "danger-text" : "" });
    }),
  );
  menu.addEventListener("toggle", ({ newState }) => newState === "closed" && menu.remove());
  $("#chat").append(menu);
  menu.showPopover();
  placeBeside(menu, button);
  $("button", menu).focus();
}

/** The models that may answer instead of an answer's own: `<option>`s; none for a question. */
const findOtherModels = (model) =>
  model ? $$("#model option:not([hidden])").filter(({ value }) => value !== model) : [];
