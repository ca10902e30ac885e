// What is done to conversations of the list: each one's menu, and what can be undone for some seconds.

import { placeBeside } from "./beside.js";
import { $, announce, hasKeyboard, LISTED, listedId, make, refocus } from "./dom.js";
import { gettext, ngettext } from "./gettext.js";
import { post, refusal } from "./http.js";
import { load } from "./on_demand.js";
import { UNDO, openDialog, refreshSidebar } from "./shell.js";
import { tabStorage } from "./storage.js";

const AGAIN = 14_000; // ms more on the next page, which may load slowly; after 30 s the server deletes
const KEY = "undo"; // in this tab, for its next page: what is offered to be undone
const TOLD = {
  archived: (count) =>
    ngettext("{count} conversation archived.", "{count} conversations archived.", count),
  deleted: (count) =>
    ngettext("{count} conversation deleted.", "{count} conversations deleted.", count),
};

let offered = []; // {change, was: {value before: ids}, told: in words, until: ms, back: the page that was left for it}
let moving = {}; // several that the dialog moves: {ids, done}

/** Ask the server: `change` is pinned, archived or deleted, `value` "1" or "", or `change` is project and
    `value` the id of one or "". null: not reached. */
export const sendChange = (ids, change, value, options) =>
  post(
    $("#sidebar-list").dataset.changeUrl,
    [[change, value], ...ids.map((id) => ["id", id])],
    options,
  );

/** Change conversations, and offer to undo what takes them off the list; whether it was done. */
export async function changeListed(ids, change, value) {
  const { conversationId, temporary } = $("#chat").dataset;
  const { href } = location;
  const response = await sendChange(ids, change, value);
  if (!response?.ok) {
    tell(await refusal(response, gettext("That did not work. Try again in a moment.")));
    return false;
  }
  refreshSidebar();
  if (!value || change === "pinned") return true;
  const leaving = ids.includes(conversationId);
  if (!(leaving && temporary != null))
    offer({
      change,
      was: { "": ids },
      told: TOLD[change](ids.length),
      until: Date.now() + UNDO,
      back: leaving && href,
    });
  if (leaving && conversationId === $("#chat").dataset.conversationId) $("#new-chat").click();
  return true;
}

/** Show words for as long as an undo is offered. */
function tell(words, button, until = Date.now() + UNDO) {
  const line = make("p", {}, make("span", {}, words), button);
  $("#undo").append(line);
  setTimeout(() => close(line), until - Date.now());
  return line;
}

function close(line) {
  line.remove();
  refocus();
}

function keep(entries) {
  offered = entries;
  tabStorage.set(KEY, entries.length ? JSON.stringify(entries) : "");
}

const withdraw = (entry) => keep(offered.filter((each) => each !== entry));

function offer(entry) {
  keep([...offered, entry]);
  show(entry);
  if (hasKeyboard) $("#undo p:last-child button").focus();
}

function show(entry, until = entry.until) {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  const words = [
    entry.told,
    ngettext("Undo within {count} second.", "Undo within {count} seconds.", seconds),
  ];
  const onclick = () => undo(entry, line);
  const button = make(
    "button",
    { type: "button", className: "button small", onclick },
    gettext("Undo"),
  );
  const line = tell(words.join(" "), button, until);
  setTimeout(() => withdraw(entry), until - Date.now());
}

async function undo(entry, line) {
  for (const [value, ids] of Object.entries(entry.was)) {
    const response = await sendChange(ids, entry.change, value);
    if (!response?.ok)
      return tell(
        response?.status === 404 && entry.change === "deleted"
          ? gettext("It is too late: that is deleted for good.")
          : gettext("That could not be undone. Try again."),
      );
  }
  withdraw(entry);
  close(line);
  announce(gettext("Undone"));
  if (entry.back) return location.assign(entry.back);
  refreshSidebar();
  if (entry.change === "project") showProject(Object.values(entry.was).flat());
}

/** Which conversations the dialog moves. */
function findMoving(form) {
  const { conversation } = form.dataset;
  return conversation ? { ids: [conversation] } : moving;
}

/** Move conversations: what the dialog's buttons do. */
async function move({ dataset, textContent }, { ids, done }) {
  $("#dialog").close();
  const response = await sendChange(ids, "project", dataset.move);
  if (!response?.ok)
    return tell(await refusal(response, gettext("That did not work. Try again in a moment.")));
  let told = dataset.move
    ? gettext("Moved to “{name}”.", { name: textContent.trim() })
    : gettext("Moved out of the project.");
  if (ids.length > 1)
    told = ngettext("{count} conversation moved.", "{count} conversations moved.", ids.length);
  done?.();
  offer({ change: "project", was: await response.json(), told, until: Date.now() + UNDO });
  refreshSidebar();
  showProject(ids);
}

/** Tell on the conversation's own page which project it belongs to now. */
function showProject(ids) {
  if (!ids.includes($("#chat").dataset.conversationId)) return;
  const line = "#topbar-project";
  window.htmx.ajax("GET", location.pathname, { target: line, select: line, swap: "outerHTML" });
}

/** The menu that all conversations of the list share. */
function startItemMenu() {
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

async function selectSeveral(link) {
  const module = await load(() => import("./selection.js"));
  module?.select(link, { change: changeListed, move: moveSeveral });
}

function moveSeveral(ids, done) {
  moving = { ids, done };
  openDialog($("#sidebar-list").dataset.moveUrl);
}

/** A long press begins to select, where there is no mouse to open the menu with. */
function startLongPress() {
  $("#sidebar-list").addEventListener("contextmenu", (event) => {
    const link = event.pointerType === "touch" && event.target.closest(LISTED);
    if (!link) return;
    event.preventDefault();
    selectSeveral(link);
  });
}

export function startListed() {
  startLongPress();
  startItemMenu();
  $("#dialog").addEventListener("click", ({ target }) => {
    const button = target.closest("[data-move]");
    if (button) move(button, findMoving(button.closest(".dialog-form")));
  });
  // The form that makes a project for them.
  $("#dialog").addEventListener("formdata", ({ target, formData }) => {
    if (!target.matches(".move-new")) return;
    for (const id of findMoving(target.closest(".dialog-form")).ids)
      formData.append("conversation", id);
  });
  document.addEventListener("conversation-renamed", refreshSidebar);
  const kept = JSON.parse(tabStorage.get(KEY) || "[]");
  keep(kept.filter(({ until }) => until + AGAIN > Date.now()));
  // What was offered while this page loaded was hardly seen.
  for (const entry of offered) show(entry, Math.min(Date.now() + UNDO, entry.until + AGAIN));
}
