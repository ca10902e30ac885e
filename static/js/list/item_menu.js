// The menu of a conversation in the list, and the dialog that moves conversations into a project.

import { openDialog } from "../base/dialogs.js";
import { $ } from "../base/dom.js";
import { placeBeside } from "../base/placement.js";
import { changeListed, moveListed } from "./changes.js";
import { select } from "./selection.js";
import { LISTED, listedId, refreshSidebar } from "./sidebar.js";

let moving = {}; // several that the dialog moves: {ids, done}

export function startItemMenu() {
  listenToMenu();
  listenToLongPress();
  listenToMoveDialog();
  document.addEventListener("conversation-renamed", refreshSidebar);
}

/** The menu that all conversations of the list share. */
function listenToMenu() {
  const menu = $("#item-menu");
  let link = null; // whose menu it is
  $("#sidebar-list").addEventListener("click", ({ target }) => {
    const opener = target.closest("button.item-more");
    if (!opener) return;
    link = opener.previousElementSibling;
    $("[data-change=pinned]", menu).dataset.value = link.dataset.pinned == null ? "1" : "";
    $("[data-change=archived]", menu).dataset.value = $("#sidebar-list [name=archived]") ? "" : "1";
  });
  menu.addEventListener(
    "toggle",
    ({ newState }) => newState === "open" && placeBeside(menu, link.nextElementSibling),
  );
  menu.addEventListener("click", ({ target }) => {
    const { change, value } = target.closest("button")?.dataset ?? {};
    if (!change) return;
    menu.hidePopover();
    if (change === "title") openDialog(`${link.pathname}rename/`);
    else if (change === "select") selectSeveral(link);
    else if (change === "project") openDialog(`${link.pathname}move/`);
    else changeListed([listedId(link)], change, value);
  });
}

/** A long press begins to select, where there is no mouse to open the menu with. */
function listenToLongPress() {
  $("#sidebar-list").addEventListener("contextmenu", (event) => {
    const link = event.pointerType === "touch" && event.target.closest(LISTED);
    if (!link) return;
    event.preventDefault();
    selectSeveral(link);
  });
}

const selectSeveral = (link) => select(link, moveSeveral);

function moveSeveral(ids, done) {
  moving = { ids, done };
  openDialog($("#sidebar-list").dataset.moveUrl);
}

// --- Moving into a project ---

/** Which conversations the dialog moves. */
function findMoving(form) {
  const { conversation } = form.dataset;
  return conversation ? { ids: [conversation] } : moving;
}

function listenToMoveDialog() {
  const dialog = $("#dialog");
  dialog.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-move]");
    if (!button) return;
    const { ids, done } = findMoving(button.closest(".dialog-form"));
    dialog.close();
    if (await moveListed(ids, button.dataset.move, button.textContent.trim())) done?.();
  });
  // The form that makes a project for them.
  dialog.addEventListener("formdata", ({ target, formData }) => {
    if (!target.matches(".move-new")) return;
    for (const id of findMoving(target.closest(".dialog-form")).ids)
      formData.append("conversation", id);
  });
}
